// Attention scores q·k, with one order of summation for a single query and for many.
//
// A dot product is computed as `lanes` partial sums (components c ≡ l modulo lanes), added from the first to the last.
// For one query that is one vector accumulator per key, transposed at the end (transposing the keys themselves would
// cost more than the products). For many queries, whose keys are transposed once for all, a tile keeps the partial sums
// of one l in registers, next to the running totals.
#pragma once
#include "isa.h"
#include "pack.h"

namespace troupe::TROUPE_ISA {

// Op: Float32, or Narrow for keys and values that are stored as bfloat16.
template <class Op>
struct StoredSpan {
  const typename Op::Stored *k, *v;
  ptrdiff_t stride;
  int count;
  StoredSpan(const KeySpan& span)
      : k(static_cast<const typename Op::Stored*>(span.k)), v(static_cast<const typename Op::Stored*>(span.v)),
        stride(span.stride), count(span.count) {}
};

template <class Op>
struct Keys {
  StoredSpan<Op> prefix, own;
  int head_dim;
  int count() const { return prefix.count + own.count; }
  const typename Op::Stored* row(bool value, int i) const {
    const StoredSpan<Op>& span = i < prefix.count ? prefix : own;
    return (value ? span.v : span.k) + (i < prefix.count ? i : i - prefix.count) * span.stride;
  }
};

// Those from `begin` to `end`.
template <class Op>
static Keys<Op> part_of(const Keys<Op>& keys, int begin, int end) {
  const auto part = [](StoredSpan<Op> span, int first, int last) {
    first = smaller(larger(first, 0), span.count);
    span.count = larger(smaller(last, span.count) - first, 0);
    span.k += first * span.stride;
    span.v += first * span.stride;
    return span;
  };
  const int before = keys.prefix.count;
  return {part(keys.prefix, begin, end), part(keys.own, begin - before, end - before), keys.head_dim};
}

// to[d·panel + j] = component d of key (or value) first + j; keys past the last are zero.
template <class Op>
static void pack_key_panel(const Keys<Op>& keys, bool value, int first, float* to) {
  for (int j = 0; j < panel; j += lanes) {
    const typename Op::Stored* rows[lanes];
    for (int i = 0; i < lanes; ++i) rows[i] = first + j + i < keys.count() ? keys.row(value, first + j + i) : nullptr;
    for (int d = 0; d < keys.head_dim; d += lanes) {
      const int width = smaller(lanes, keys.head_dim - d);
      Vector square[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        square[i] = !rows[i]        ? Vector{}
                    : width == lanes ? Op::load_group(rows[i] + d)
                                     : Op::load_group_part(rows[i] + d, width);
      transpose(square);
      for (int i = 0; i < width; ++i) store(to + (d + i) * panel + j, square[i]);
    }
  }
}

#if defined(__AVX512F__)
constexpr int score_rows = 6;  // 12 totals, 12 partial sums, 2 of the keys, 1 of the query
#elif defined(__AVX2__) || defined(__aarch64__)
constexpr int score_rows = 3;
#else
constexpr int score_rows = 2;
#endif

template <int Rows>
static void run_score_tile(const float* a, ptrdiff_t a_row, const float* b, int head_dim, float* scores,
                           ptrdiff_t pitch) {
  Vector totals[Rows][panel_vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < panel_vectors; ++j) totals[r][j] = Vector{};
  for (int lane = 0; lane < lanes && lane < head_dim; ++lane) {
    Vector partial[Rows][panel_vectors];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
      for (int j = 0; j < panel_vectors; ++j) partial[r][j] = Vector{};
    for (int d = lane; d < head_dim; d += lanes) {
      Vector keys[panel_vectors];
#pragma GCC unroll 16
      for (int j = 0; j < panel_vectors; ++j) keys[j] = load(b + d * panel + j * lanes);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
        for (int j = 0; j < panel_vectors; ++j) partial[r][j] = add_product(partial[r][j], splat(a[r * a_row + d]), keys[j]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
      for (int j = 0; j < panel_vectors; ++j) totals[r][j] += partial[r][j];
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < panel_vectors; ++j) store(scores + r * pitch + j * lanes, totals[r][j]);
}

using ScoreTile = void (*)(const float*, ptrdiff_t, const float*, int, float*, ptrdiff_t);

template <int... I>
TROUPE_INLINE ScoreTile score_tile_of(int rows, Indices<I...>) {
  static constexpr ScoreTile table[] = {run_score_tile<I + 1>...};
  return table[rows - 1];
}
TROUPE_INLINE ScoreTile score_tile(int rows) { return score_tile_of(rows, typename MakeIndices<score_rows>::type{}); }

// q·k of one key as partial sums; head_dim = Chunks·lanes, or any if Chunks is 0.
template <class Op, int Chunks>
TROUPE_INLINE Vector partial_sums(const float* query, const typename Op::Stored* k, int head_dim) {
  Vector sum{};
  if constexpr (Chunks > 0) {
#pragma GCC unroll 16
    for (int c = 0; c < Chunks; ++c) sum = add_product(sum, load(query + c * lanes), Op::load_group(k + c * lanes));
  } else {
    int d = 0;
    for (; d + lanes <= head_dim; d += lanes) sum = add_product(sum, load(query + d), Op::load_group(k + d));
    const int rest = head_dim - d;
    if (rest > 0) sum = add_product(sum, load_part(query + d, rest), Op::load_group_part(k + d, rest));
  }
  return sum;
}

TROUPE_INLINE Vector added_up(Vector (&sums)[lanes]) {
  transpose(sums);
  Vector total = Vector{} + sums[0];
#pragma GCC unroll 16
  for (int l = 1; l < lanes; ++l) total += sums[l];
  return total;
}

// Scores of the first `count` <= lanes keys, `stride` apart, in a loop that serves every head_dim.
template <class Op>
static void score_few(const float* query, const typename Op::Stored* k, ptrdiff_t stride, int count, int head_dim,
                      float* scores) {
  Vector sums[lanes] = {};
#pragma GCC unroll 1
  for (int i = 0; i < count; ++i) sums[i] = partial_sums<Op, 0>(query, k + i * stride, head_dim);
  const Vector total = added_up(sums);
  if (count == lanes)
    store(scores, total);
  else
    store_part(scores, total, count);
}

template <class Op, int Chunks>
static void score_span(const float* query, const StoredSpan<Op>& span, int count, int head_dim, float* scores) {
  int j = 0;
  for (; Chunks > 0 && j + lanes <= count; j += lanes) {
    Vector sums[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i)
      sums[i] = partial_sums<Op, Chunks>(query, span.k + (j + i) * span.stride, head_dim);
    store(scores + j, added_up(sums));
  }
  for (; j < count; j += lanes)
    score_few<Op>(query, span.k + j * span.stride, span.stride, smaller(lanes, count - j), head_dim, scores + j);
}

// One query against the keys from `from` to `visible`.
template <class Op>
static void score_one(const Keys<Op>& keys, const float* query, int from, int visible, float* scores) {
  const auto run = [&](StoredSpan<Op> span, int begin, int end, float* to) {
    if (begin >= end) return;
    span.k += begin * span.stride;
    const int count = end - begin;
    to += begin;
    if (keys.head_dim == lanes) return score_span<Op, 1>(query, span, count, keys.head_dim, to);
    if (keys.head_dim == 2 * lanes) return score_span<Op, 2>(query, span, count, keys.head_dim, to);
    if (keys.head_dim == 4 * lanes) return score_span<Op, 4>(query, span, count, keys.head_dim, to);
    if (keys.head_dim == 8 * lanes) return score_span<Op, 8>(query, span, count, keys.head_dim, to);
    score_span<Op, 0>(query, span, count, keys.head_dim, to);
  };
  const int before = smaller(keys.prefix.count, visible);
  run(keys.prefix, from, before, scores);
  run(keys.own, from > before ? from - before : 0, visible - before, scores + before);
}

}  // namespace troupe::TROUPE_ISA
