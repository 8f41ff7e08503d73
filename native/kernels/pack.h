// Packs operands in the order in which the tiles read them. An element is what one step takes of one row or column: a
// float, or a pair of bfloat16. Missing steps and columns are zero.
#pragma once
#include "tile.h"

namespace troupe::TROUPE_ISA {

constexpr int steps_of(int k, int per_step) { return (k + per_step - 1) / per_step; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }
constexpr int larger(int a, int b) { return a > b ? a : b; }

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

// `lanes` columns of one step, from column c of `from`; missing steps and columns are zero.
template <class Op>
TROUPE_INLINE typename Op::Group step_of_columns(const float* from, ptrdiff_t stride, int k, int step, int columns) {
  const int rows = smaller(Op::per_step, k - step * Op::per_step);
  if (rows <= 0 || columns <= 0) return typename Op::Group{};
  return Op::across_rows(from + static_cast<ptrdiff_t>(step) * Op::per_step * stride, stride, rows, columns);
}

// to[panel p][s][c] = element s of column p·panel + c, with k the rows of `from`; panels `apart` elements apart.
template <class Op>
static void pack_panels(const float* from, ptrdiff_t stride, int k, int steps, int columns, typename Op::Element* to,
                        ptrdiff_t apart) {
  for (int s = 0; s < steps; ++s)
    for (int c = 0; c < columns; c += panel)
      for (int j = 0; j < panel; j += lanes)
        Op::store_group(to + c / panel * apart + s * panel + j,
                        step_of_columns<Op>(from + c + j, stride, k, s, columns - c - j));
}

// The same for tiles of rows: columns first … first + height − 1 of `from` are the rows of one tile, [step][row], at
// tile_offset. Steps are the outer loop, so that `from` is read sequentially. A step's store may extend beyond the
// tile's height into the next step, which is written later, or into the gap between tiles.
TROUPE_INLINE ptrdiff_t tile_offset(int tile, int first, int steps) {
  return static_cast<ptrdiff_t>(first) * steps + tile * 2 * lanes;
}
template <class Op>
static void pack_tiles(const float* from, ptrdiff_t stride, int k, int steps, int rows, typename Op::Element* to) {
  for (int s = 0; s < steps; ++s) {
    int tile = 0;
    for_each_tile(rows, [&](int first, int height) {
      typename Op::Element* start = to + tile_offset(tile++, first, steps) + s * height;
      for (int j = 0; j < height; j += lanes)
        Op::store_group(start + j, step_of_columns<Op>(from + first + j, stride, k, s, height - j));
    });
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
