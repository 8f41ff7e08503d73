// Operands brought into the order the tiles read. An element is what one step takes of one row or column: a float, or
// a pair of bfloat16. Steps and columns that do not exist are zero.
#pragma once
#include "tile.h"

namespace troupe::TROUPE_ISA {

constexpr int steps_of(int k, int per_step) { return (k + per_step - 1) / per_step; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }

// to[r·pitch + s] = element s of row r, for `steps` steps.
template <class Op>
static void pack_rows(const float* from, ptrdiff_t stride, int rows, int k, int steps, typename Op::Element* to,
                      int pitch) {
  for (int r = 0; r < rows; ++r)
    for (int s = 0; s < steps; s += lanes) {
      const int left = k - s * Op::per_step;
      Op::store_group(to + r * pitch + s, Op::along_row(from + r * stride + s * Op::per_step, left > 0 ? left : 0));
    }
}

// to[s·width + c] = element s of column c, with k the rows of `from`; `columns` ≤ width of them exist. width is a
// multiple of lanes, or the store of the last lanes may run past it into the next step, which is written after.
template <class Op>
static void pack_columns(const float* from, ptrdiff_t stride, int k, int steps, int columns,
                         typename Op::Element* to, int width) {
  for (int s = 0; s < steps; ++s) {
    const int rows = smaller(Op::per_step, k - s * Op::per_step);
    for (int c = 0; c < width; c += lanes) {
      const bool exists = rows > 0 && c < columns;
      Op::store_group(to + static_cast<ptrdiff_t>(s) * width + c,
                      exists ? Op::across_rows(from + s * Op::per_step * stride + c, stride, rows, columns - c)
                             : typename Op::Group{});
    }
  }
}

// to[s·width + c] = element s of row c of `from`: the transpose of pack_rows. width is a multiple of lanes.
template <class Op>
static void pack_transposed(const float* from, ptrdiff_t stride, int rows, int k, int steps,
                            typename Op::Element* to, int width) {
  for (int c = 0; c < width; c += lanes)
    for (int s = 0; s < steps; s += lanes) {
      const int left = k - s * Op::per_step;
      Vector square[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        square[i] = c + i < rows && left > 0
                        ? Op::as_vector(Op::along_row(from + (c + i) * stride + s * Op::per_step, left))
                        : Vector{};
      transpose(square);
      for (int i = 0; i < lanes && s + i < steps; ++i)
        store(reinterpret_cast<float*>(to) + static_cast<ptrdiff_t>(s + i) * width + c, square[i]);
    }
}

}  // namespace troupe::TROUPE_ISA
