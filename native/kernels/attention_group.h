// Decoding: single queries that share a prefix, which is read and transposed once for all. Sums are taken in the order
// of `attention`, so each query gets the same bits as alone.
#pragma once
#include "attention.h"

namespace troupe::TROUPE_ISA {

// With fewer queries, transposing the keys costs more than it saves.
constexpr int group_rows = 4;

// The first own key that a query sees.
TROUPE_INLINE int first_own(const AttentionBlock& block) {
  const int before = block.prefix.count, seen = first_seen(before + block.own.count, block.window);
  return seen > before ? seen - before : 0;
}

// From the first key of the prefix that any of the queries sees.
template <class Op>
static void group_scores(const AttentionBlock* blocks, int rows, int from, const Keys<Op>& prefix,
                         const AttentionScratch& s, bool packed) {
  const int before = prefix.count();
  if (before > from && rows >= group_rows) {
    score(prefix, {s.queries, s.query_pitch, rows, from, before, s.scores, s.pitch}, s.keys, !packed);
  } else if (before > from) {
    for (int r = 0; r < rows; ++r)
      score_one(prefix, s.queries + r * s.query_pitch, from, before, s.scores + static_cast<ptrdiff_t>(r) * s.pitch);
  }
  for (int r = 0; r < rows; ++r) {
    const Keys<Op> own{KeySpan{}, blocks[r].own, prefix.head_dim};
    score_one(own, s.queries + r * s.query_pitch, first_own(blocks[r]), own.count(),
              s.scores + static_cast<ptrdiff_t>(r) * s.pitch + before);
  }
}

template <class Op>
static void group_band(const AttentionBlock* blocks, int rows, const Keys<Op>& prefix, const AttentionScratch& s,
                       bool packed) {
  const int before = prefix.count(), head_dim = prefix.head_dim;
  float* out = s.values;
  float inverse_totals[max_rows];
  int from = first_read(before + blocks->own.count, blocks->window);
  for (int r = 0; r < rows; ++r) {
    copy_scaled(blocks[r].q, s.queries + r * s.query_pitch, blocks[r].scale, head_dim);
    from = smaller(from, first_read(before + blocks[r].own.count, blocks[r].window));
  }
  const int first_prefix = smaller(from, before);
  group_scores(blocks, rows, from, prefix, s, packed);
  for (int r = 0; r < rows; ++r) {
    float* row = s.scores + static_cast<ptrdiff_t>(r) * s.pitch;
    const int visible = before + blocks[r].own.count, seen = first_seen(visible, blocks[r].window);
    const float max = largest(row + seen, visible - seen);
    const float total = exponentials(row, {seen, visible}, from, visible, max);
    inverse_totals[r] = 1.0f / total;
    if (blocks[r].log_sum_exp) *blocks[r].log_sum_exp = max + __builtin_logf(total);
  }
  plain_product<Op>({s.scores + first_prefix, s.pitch, 1, rows, prefix.prefix.v + first_prefix * prefix.prefix.stride,
                 prefix.prefix.stride, before - first_prefix, out, s.query_pitch, head_dim, Into::write});
  for (int r = 0; r < rows; ++r) {
    const StoredSpan<Op> own = blocks[r].own;
    const int first = first_own(blocks[r]);
    float* to = out + r * s.query_pitch;
    plain_product<Op>({s.scores + static_cast<ptrdiff_t>(r) * s.pitch + before + first, s.pitch, 1, 1,
                   own.v + first * own.stride, own.stride, own.count - first, to, s.query_pitch, head_dim,
                   Into::resume});
    copy_scaled(to, blocks[r].out, inverse_totals[r], head_dim);
  }
}

template <class Op>
static void attend_group(const AttentionBlock* blocks, int count, float* scratch) {
  int own = 0;
  for (int i = 0; i < count; ++i) own = own < blocks[i].own.count ? blocks[i].own.count : own;
  const Keys<Op> prefix{blocks->prefix, KeySpan{}, blocks->head_dim};
  const AttentionScratch s(scratch, smaller(count, backward_rows), prefix.count() + own, prefix.head_dim);
  const bool packed = count > max_rows;
  if (packed) pack_all_keys(prefix, false, s.keys);
  for_each_tile(count, [&](int first, int rows) { group_band(blocks + first, rows, prefix, s, packed); });
}

static void attention_group(const AttentionBlock* blocks, int count, float* scratch) {
  return blocks->narrow ? attend_group<Narrow>(blocks, count, scratch) : attend_group<Float32>(blocks, count, scratch);
}

}  // namespace troupe::TROUPE_ISA
