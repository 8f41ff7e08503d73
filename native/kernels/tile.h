// The micro-kernel: a tile of up to max_rows × (panels · panel) of C = A·B, held in registers over all steps.
//
// Each element's sum runs over the steps in order, in one accumulator, whatever the tile's shape; that makes a row's
// bits independent of the number of other rows.
#pragma once
#include "vector.h"

namespace troupe::TROUPE_ISA {

#if defined(__AVX512F__)
constexpr int max_rows = 14, panel_vectors = 2;  // 28 accumulators, 2 of B, 1 of A; of 32 registers
#elif defined(__AVX2__)
constexpr int max_rows = 6, panel_vectors = 2;  // 12 + 2 + 1 of 16
#elif defined(__aarch64__)
constexpr int max_rows = 6, panel_vectors = 4;  // 24 + 4 + 1 of 32
#else
constexpr int max_rows = 4, panel_vectors = 2;
#endif
constexpr int panel = panel_vectors * lanes;

// One k per step, float32.
struct Float32 {
  typedef float Element;
  typedef float Stored;  // an element of a packed B
  typedef Vector Group;
  static constexpr int per_step = 1;
  TROUPE_INLINE Group load_group(const Element* p) { return load(p); }
  TROUPE_INLINE Group load_group_part(const Element* p, int count) { return load_part(p, count); }
  TROUPE_INLINE Group broadcast(const Element* p) { return splat(*p); }
  TROUPE_INLINE Vector multiply_add(Vector sum, Group a, Group b) { return sum + a * b; }
  // Elements of consecutive steps of one row; `count` floats exist.
  TROUPE_INLINE Group along_row(const float* p, int count) { return count >= lanes ? load(p) : load_part(p, count); }
  // One step of consecutive columns; `count` columns and `rows` rows of the step exist, `stride` apart.
  TROUPE_INLINE Group across_rows(const float* p, ptrdiff_t, int, int count) { return along_row(p, count); }
  TROUPE_INLINE void store_group(Element* to, Group g) { store(to, g); }
  TROUPE_INLINE Vector as_vector(Group g) { return g; }
};

// The same, of a B that is stored as bfloat16.
struct Narrow : Float32 {
  typedef uint16_t Stored;
  TROUPE_INLINE Group load_group(const Stored* p) {
    typedef uint32_t Bits __attribute__((vector_size(lanes * 4)));
#if defined(__AVX512F__)
    // GCC would convert both halves and join them. The form without a mask makes it warn of a variable of its own.
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return reinterpret_cast<Vector>(reinterpret_cast<Bits>(_mm512_maskz_cvtepu16_epi32(0xFFFF, halves)) << 16);
#elif defined(__AVX2__)
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return reinterpret_cast<Vector>(reinterpret_cast<Bits>(_mm256_cvtepu16_epi32(halves)) << 16);
#else
    typedef uint16_t Halves __attribute__((vector_size(lanes * 2), aligned(2), may_alias));
    return reinterpret_cast<Vector>(__builtin_convertvector(*reinterpret_cast<const Halves*>(p), Bits) << 16);
#endif
  }
  TROUPE_INLINE Group load_group_part(const Stored* p, int count) {
    Stored part[lanes] = {};
    for (int i = 0; i < count; ++i) part[i] = p[i];
    return load_group(part);
  }
};

// write: C = sum. add: C += sum. resume: the sum continues from C, as if earlier steps had been part of the same call.
enum class Into { write, add, resume };

template <class Op>
struct Tile {
  const typename Op::Element* a;
  ptrdiff_t a_row, a_step;
  const typename Op::Stored* b;
  ptrdiff_t b_step, b_panel;  // b_panel: distance between panels if the tile spans several
  int steps;
  float* c;
  ptrdiff_t c_row;
  int columns;  // columns of the tile that exist in C
  Into into;
};

// Load and store a tile that reaches past the last column of C: missing columns are read as zeros and not written. They
// are not inlined, so that one copy serves tiles of all shapes; inlined, every vector would have branches of its own.
__attribute__((noinline)) static void load_partial(const float* c, ptrdiff_t c_row, int rows, int width, int columns, Vector* sums) {
  for (int r = 0; r < rows; ++r, c += c_row)
    for (int j = 0; j < width; ++j) {
      const int count = columns - j * lanes;
      *sums++ = count >= lanes ? load(c + j * lanes) : count > 0 ? load_part(c + j * lanes, count) : Vector{};
    }
}

__attribute__((noinline)) static void store_partial(float* c, ptrdiff_t c_row, int rows, int width, int columns,
                                                    bool add, const Vector* sums) {
  for (int r = 0; r < rows; ++r, c += c_row, sums += width)
    for (int j = 0; j * lanes < columns; ++j) {
      float* to = c + j * lanes;
      const int count = columns - j * lanes;
      if (count >= lanes)
        store(to, add ? load(to) + sums[j] : sums[j]);
      else
        store_part(to, add ? load_part(to, count) + sums[j] : sums[j], count);
    }
}

template <class Op, int Rows, int Width, int Vectors, bool PartialB>
TROUPE_INLINE void multiply_steps(const Tile<Op>& t, Vector (&sums)[Rows][Width]) {
  // Three rows share a pointer (offsets of 0, 1 and 2 strides are one addressing mode), or pointers would spill.
  constexpr int pointers = (Rows + 2) / 3;
  const typename Op::Element* a[pointers];
  const typename Op::Stored* b = t.b;
#pragma GCC unroll 16
  for (int i = 0; i < pointers; ++i) a[i] = t.a + 3 * i * t.a_row;
  const ptrdiff_t a_row = t.a_row, a_step = t.a_step, b_step = t.b_step, b_panel = t.b_panel;
  for (int step = t.steps; step > 0; --step) {
    typename Op::Group right[Width];
#pragma GCC unroll 16
    for (int j = 0; j < Width; ++j) {
      const typename Op::Stored* from = b + (j / Vectors) * b_panel + (j % Vectors) * lanes;
      if constexpr (PartialB)
        right[j] = Op::load_group_part(from, t.columns);
      else
        right[j] = Op::load_group(from);
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const typename Op::Group left = Op::broadcast(a[r / 3] + (r % 3) * a_row);
#pragma GCC unroll 16
      for (int j = 0; j < Width; ++j) sums[r][j] = Op::multiply_add(sums[r][j], left, right[j]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < pointers; ++i) a[i] += a_step;
    b += b_step;
  }
}

template <int Rows, int Width, class Body>
TROUPE_INLINE void for_each_sum(Body body) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < Width; ++j) body(r, j);
}

template <class Op, int Rows, int Panels, int Vectors, bool PartialB>
static void run_tile(const Tile<Op>& t) {
  constexpr int width = Panels * Vectors;
  const bool whole = !PartialB && t.columns >= width * lanes;
  Vector sums[Rows][width], part[Rows][width];
  const auto zero = [&](int r, int j) __attribute__((always_inline)) { sums[r][j] = Vector{}; };
  const auto take = [&](int r, int j) __attribute__((always_inline)) { sums[r][j] = part[r][j]; };
  const auto give = [&](int r, int j) __attribute__((always_inline)) { part[r][j] = sums[r][j]; };
  const auto at = [&](int r, int j) __attribute__((always_inline)) { return t.c + r * t.c_row + j * lanes; };
  const auto read = [&](int r, int j) __attribute__((always_inline)) { sums[r][j] = load(at(r, j)); };
  const auto add = [&](int r, int j) __attribute__((always_inline)) { sums[r][j] = load(at(r, j)) + sums[r][j]; };
  const auto write = [&](int r, int j) __attribute__((always_inline)) { store(at(r, j), sums[r][j]); };
  for_each_sum<Rows, width>(zero);
  if (t.into == Into::resume && whole) {
    for_each_sum<Rows, width>(read);
  } else if (t.into == Into::resume) {
    load_partial(t.c, t.c_row, Rows, width, t.columns, part[0]);
    for_each_sum<Rows, width>(take);
  }
  multiply_steps<Op, Rows, width, Vectors, PartialB>(t, sums);
  if (whole) {
    if (t.into == Into::add) for_each_sum<Rows, width>(add);
    return for_each_sum<Rows, width>(write);
  }
  for_each_sum<Rows, width>(give);
  store_partial(t.c, t.c_row, Rows, width, t.columns, t.into == Into::add, part[0]);
}

template <class Op>
using TileFunction = void (*)(const Tile<Op>&);

template <class Op, int Panels, int Vectors, bool PartialB, int... I>
TROUPE_INLINE TileFunction<Op> tile_function(int rows, Indices<I...>) {
  static constexpr TileFunction<Op> table[] = {run_tile<Op, I + 1, Panels, Vectors, PartialB>...};
  return table[rows - 1];
}

// A tile with few rows has too few accumulators to hide the latency of the multiply-add, so it spans several panels.
constexpr int panels_for(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }

template <class Op>
static TileFunction<Op> packed_tile(int rows, int panels) {
  if (panels == 4) return run_tile<Op, 1, 4, panel_vectors, false>;
  if (panels == 2) return tile_function<Op, 2, panel_vectors, false>(rows, typename MakeIndices<3>::type{});
  return tile_function<Op, 1, panel_vectors, false>(rows, typename MakeIndices<max_rows>::type{});
}

// body(first row, rows) for tiles of nearly equal height: 16 rows are 8 + 8, not 14 + 2.
template <class Body>
TROUPE_INLINE void for_each_tile(int rows, Body body) {
  const int tiles = (rows + max_rows - 1) / max_rows;
  for (int i = 0, first = 0; i < tiles; ++i) {
    const int last = static_cast<int>(static_cast<int64_t>(rows) * (i + 1) / tiles);
    body(first, last - first);
    first = last;
  }
}

}  // namespace troupe::TROUPE_ISA
