// Causal attention of one head, forward and backward, as products over register tiles.
//
// Scores of a band of queries against all their keys are stored completely (without online rescaling), and keys are
// summed in order of position. A query's output therefore has the same bits alone (decoding) and among others, and
// whether its keys are in the shared prefix or in its own span. Keys before a query's window have the weight zero, which
// leaves a sum as it is, so these bits do not depend on how many of them a band reads.
#pragma once
#include "rowwise.h"
#include "scores.h"

namespace troupe::TROUPE_ISA {

// Queries of a band in the backward pass, and keys that are read for band after band before the next ones: what a block
// of keys needs stays in the cache of a core.
constexpr int backward_rows = 4 * max_rows, key_block = 512;
static_assert(key_block % panel == 0, "a block of keys is made of whole panels");

constexpr int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }
// Odd multiples of a cache line, so that the rows of a band do not share cache sets.
constexpr int score_pitch(int keys) { return rounded_up(keys, 2 * panel) + 16; }

// C = A·B over B's rows as stored (no packing): b_step apart, `columns` wide.
template <class Op>
struct PlainProduct {
  const float* a;
  ptrdiff_t a_row, a_step;
  int rows;
  const typename Op::Stored* b;
  ptrdiff_t b_step;
  int steps;
  float* c;
  ptrdiff_t c_row;
  int columns;
  Into into;
};

template <class Op, int Panels, int Vectors, bool PartialB>
TROUPE_INLINE void run_plain(const PlainProduct<Op>& p, int column, int columns) {
  for_each_tile(p.rows, [&](int first, int height) {
    tile_function<Op, Panels, Vectors, PartialB>(height, typename MakeIndices<max_rows>::type{})(
        {p.a + first * p.a_row, p.a_row, p.a_step, p.b + column, p.b_step, 0, p.steps,
         p.c + first * p.c_row + column, p.c_row, columns, p.into});
  });
}

template <class Op>
static void plain_product(const PlainProduct<Op>& p) {
  if (p.steps == 0 && p.into != Into::write) return;
  int column = 0;
  if (p.rows == 1)
    for (; column + 4 * lanes <= p.columns; column += 4 * lanes)
      run_tile<Op, 1, 1, 4, false>({p.a, p.a_row, p.a_step, p.b + column, p.b_step, 0, p.steps, p.c + column,
                                         p.c_row, 4 * lanes, p.into});
  for (; column + panel <= p.columns; column += panel) run_plain<Op, 1, panel_vectors, false>(p, column, panel);
  for (; column + lanes <= p.columns; column += lanes) run_plain<Op, 1, 1, false>(p, column, lanes);
  if (column < p.columns) run_plain<Op, 1, 1, true>(p, column, p.columns - column);
}

template <class Op>
static void pack_all_keys(const Keys<Op>& keys, bool value, float* to) {
  for (int first = 0; first < keys.count(); first += panel)
    pack_key_panel(keys, value, first, to + static_cast<ptrdiff_t>(first) * keys.head_dim);
}

// Rows of scores of a band of queries: scores[r·pitch + j] belongs to row a + r·a_row and key from <= j < visible.
struct ScoreBand {
  const float* a;
  ptrdiff_t a_row;
  int rows, from, visible;  // from: a multiple of `panel`
  float* scores;
  int pitch;
};

// The backward pass's a·(key or value), in any order of summation. `packed` holds all keys.
static void products_with_keys(int head_dim, const ScoreBand& band, const float* packed) {
  for (int first = band.from; first < band.visible; first += panel)
    for_each_tile(band.rows, [&](int top, int height) {
      packed_tile<Float32>(height, 1)({band.a + top * band.a_row, band.a_row, 1,
                                       packed + static_cast<ptrdiff_t>(first) * head_dim, panel, 0, head_dim,
                                       band.scores + static_cast<ptrdiff_t>(top) * band.pitch + first, band.pitch,
                                       panel, Into::write});
    });
}

// q·kᵀ of the forward pass. `packed` holds all keys, or has space for one panel if `on_the_way`.
template <class Op>
static void score(const Keys<Op>& keys, const ScoreBand& band, float* packed, bool on_the_way) {
  if (band.rows == 1) return score_one(keys, band.a, band.from, band.visible, band.scores);
  for (int first = band.from; first < band.visible; first += panel) {
    float* b = on_the_way ? packed : packed + static_cast<ptrdiff_t>(first) * keys.head_dim;
    if (on_the_way) pack_key_panel(keys, false, first, b);
    for (int row = 0; row < band.rows; row += score_rows)
      score_tile(smaller(score_rows, band.rows - row))(band.a + row * band.a_row, band.a_row, b, keys.head_dim,
                                                       band.scores + static_cast<ptrdiff_t>(row) * band.pitch + first,
                                                       band.pitch);
  }
}

// Of the keys that a band reads, one query sees those from `from` to `visible`.
struct Sight {
  int from, visible;
};

// The first key that a query sees which sees none from `visible` on, and the multiple of `panel` below it.
TROUPE_INLINE int first_seen(int visible, int window) { return window > 0 && window < visible ? visible - window : 0; }
TROUPE_INLINE int first_read(int visible, int window) { return first_seen(visible, window) / panel * panel; }

// e^(x − shift) of what is seen, zero in the rest of [from, width); returns the sum. Lanes are by position, so the sum
// depends neither on `from` nor on `width`.
TROUPE_INLINE float exponentials(float* x, Sight seen, int from, int width, float shift) {
  Vector total{};
  int i = from;
  for (; i + lanes <= seen.from; i += lanes) store(x + i, Vector{});
  for (int j = i; j < seen.from; ++j) x[j] = -__builtin_inff();
  const int visible = seen.visible;
  for (; i + lanes <= visible; i += lanes) {
    const Vector e = exponential(load(x + i) - shift);
    store(x + i, e);
    total += e;
  }
  if (i < visible) {
    for (int j = visible; j < i + lanes; ++j) x[j] = -__builtin_inff();
    const Vector e = exponential(load(x + i) - shift);
    store(x + i, e);
    total += e;
    i += lanes;
  }
  for (; i < width; i += lanes) store(x + i, Vector{});
  return sum(total);
}

TROUPE_INLINE void copy_scaled(const float* from, float* to, float scale, int n) {
  for_each_vector(n, [&](size_t i, auto get, auto put) { put(to + i, get(from + i) * scale); });
}

// Σ_j weights[r][j]·(row j) over the spans' keys or values: the prefix first, then resumed over the own keys.
template <class Op>
static void weighted_rows(const Keys<Op>& keys, bool value, const ScoreBand& band, float* out, ptrdiff_t out_row,
                          Into into = Into::write) {
  const StoredSpan<Op> &prefix = keys.prefix, &own = keys.own;
  const int before = smaller(prefix.count, band.visible), first = smaller(band.from, before);
  plain_product<Op>({band.scores + first, band.pitch, 1, band.rows, (value ? prefix.v : prefix.k) + first * prefix.stride,
                 prefix.stride, before - first, out, out_row, keys.head_dim, into});
  const int skipped = band.from > before ? band.from - before : 0;
  plain_product<Op>({band.scores + before + skipped, band.pitch, 1, band.rows, (value ? own.v : own.k) + skipped * own.stride,
                 own.stride, band.visible - before - skipped, out, out_row, keys.head_dim, Into::resume});
}

// The same, with the rows of one block of keys after those of the one before: a band reads them while they are cached.
template <class Op>
static void weighted_blocks(const Keys<Op>& keys, const ScoreBand& band, float* out, ptrdiff_t out_row) {
  for (int begin = band.from / key_block * key_block; begin < band.visible; begin += key_block) {
    const int end = smaller(begin + key_block, band.visible);
    const ScoreBand part{band.a, band.a_row, band.rows, larger(band.from - begin, 0), end - begin, band.scores + begin, band.pitch};
    weighted_rows(part_of(keys, begin, end), true, part, out, out_row, begin <= band.from ? Into::write : Into::resume);
  }
}

static size_t attention_scratch(int queries, int keys, int head_dim) {
  const size_t band = smaller(queries, backward_rows);
  const size_t width = rounded_up(head_dim, lanes) + 16;
  const size_t packed = static_cast<size_t>(rounded_up(keys, panel)) * head_dim;
  return 2 * band * score_pitch(keys) + 2 * band * width + 2 * packed + 64;
}

// Offsets of the parts of the scratch memory.
struct AttentionScratch {
  float *scores, *gradients, *queries, *keys, *values;
  int pitch, query_pitch;
  AttentionScratch(float* base, int band, int count, int head_dim)
      : pitch(score_pitch(count)), query_pitch(rounded_up(head_dim, lanes) + 16) {
    scores = base;
    gradients = scores + static_cast<ptrdiff_t>(band) * pitch;
    queries = gradients + static_cast<ptrdiff_t>(band) * pitch;
    keys = queries + static_cast<ptrdiff_t>(band) * query_pitch;
    values = keys + static_cast<ptrdiff_t>(rounded_up(count, panel)) * head_dim;
  }
};

TROUPE_INLINE void scale_queries(const AttentionBlock& block, int first, int rows, const AttentionScratch& s) {
  for (int r = 0; r < rows; ++r)
    copy_scaled(block.q + (first + r) * block.q_stride, s.queries + r * s.query_pitch, block.scale, block.head_dim);
}

template <class Op>
static void attend(const AttentionBlock& block, float* scratch) {
  const Keys<Op> keys{block.prefix, block.own, block.head_dim};
  const AttentionScratch s(scratch, smaller(block.queries, backward_rows), keys.count(), keys.head_dim);
  // Many keys do not stay cached: more queries read them at once.
  const bool is_long = keys.count() > 2 * key_block;
  const bool on_the_way = block.queries <= (is_long ? backward_rows : max_rows);
  const int hidden = keys.count() - block.queries + 1;  // keys visible to query 0
  if (!on_the_way) pack_all_keys(keys, false, s.keys);
  const auto attend_band = [&](int first, int rows) {
    const int from = first_read(hidden + first, block.window);
    const ScoreBand band{s.queries, s.query_pitch, rows, from, hidden + first + rows - 1, s.scores, s.pitch};
    scale_queries(block, first, rows, s);
    score(keys, band, s.keys, on_the_way);
    float inverse_totals[backward_rows];
    for (int r = 0; r < rows; ++r) {
      float* row = s.scores + static_cast<ptrdiff_t>(r) * s.pitch;
      const int visible = hidden + first + r, seen = first_seen(visible, block.window);
      const float max = largest(row + seen, visible - seen);
      const float total = exponentials(row, {seen, visible}, from, band.visible, max);
      inverse_totals[r] = 1.0f / total;
      if (block.log_sum_exp) block.log_sum_exp[first + r] = max + __builtin_logf(total);
    }
    float* out = block.out + first * block.out_stride;
    weighted_blocks(keys, band, out, block.out_stride);
    for (int r = 0; r < rows; ++r)
      copy_scaled(out + r * block.out_stride, out + r * block.out_stride, inverse_totals[r], block.head_dim);
  };
  if (!is_long) return for_each_tile(block.queries, attend_band);
  for (int first = 0; first < block.queries; first += backward_rows)
    attend_band(first, smaller(backward_rows, block.queries - first));
}

static void attention(const AttentionBlock& block, float* scratch) {
  return block.narrow ? attend<Narrow>(block, scratch) : attend<Float32>(block, scratch);
}

TROUPE_INLINE float dot(const float* a, const float* b, int n) {
  Vector total{};
  for_each_vector(n, [&](size_t i, auto get, auto) { total += get(a + i) * get(b + i); });
  return sum(total);
}

// dS = P·(dP − dO·O), times the scale, replaces dP.
TROUPE_INLINE void softmax_gradient(const float* p, float* dp, int width, float mean, float scale) {
  for_each_vector(width, [&](size_t i, auto get, auto put) { put(dp + i, get(p + i) * (get(dp + i) - mean) * scale); });
}

// to[j] += Σ_r weights[r][j]·rows[r] for the keys of both spans (dV with P and dO, dK with dS and Q).
static void add_to_keys(const ScoreBand& weights, int prefix_count, const float* rows, ptrdiff_t stride, float* prefix,
                        float* own, ptrdiff_t to_stride, int head_dim) {
  const int before = smaller(prefix_count, weights.visible), first = smaller(weights.from, before);
  if (prefix && before > first)
    plain_product<Float32>({weights.scores + first, 1, weights.pitch, before - first, rows, stride, weights.rows,
                   prefix + first * to_stride, to_stride, head_dim, Into::add});
  const int skipped = weights.from > before ? weights.from - before : 0, begin = before + skipped;
  if (own && weights.visible > begin)
    plain_product<Float32>({weights.scores + begin, 1, weights.pitch, weights.visible - begin, rows, stride, weights.rows,
                   own + skipped * to_stride, to_stride, head_dim, Into::add});
}

// What the keys [begin, end) add to the gradients, for one band of queries after the other.
static void backward_of_keys(const AttentionBlock& block, const AttentionGradient& d, int begin, int end, float* scratch) {
  const Keys<Float32> all{block.prefix, block.own, block.head_dim}, keys = part_of(all, begin, end);
  const AttentionScratch s(scratch, smaller(block.queries, backward_rows), keys.count(), keys.head_dim);
  const int hidden = all.count() - block.queries + 1, width = block.head_dim;
  const ptrdiff_t prefix = smaller(begin, all.prefix.count) * d.stride, own = larger(begin - all.prefix.count, 0) * d.stride;
  const auto moved = [](float* to, ptrdiff_t by) { return to ? to + by : nullptr; };
  pack_all_keys(keys, false, s.keys);
  pack_all_keys(keys, true, s.values);
  for (int first = 0; first < block.queries; first += backward_rows) {
    const int rows = smaller(backward_rows, block.queries - first), read = first_read(hidden + first, block.window);
    const int from = larger(read - begin, 0), visible = smaller(hidden + first + rows - 1, end) - begin;
    if (from >= visible) continue;
    const float* d_out = d.d_out + first * block.out_stride;
    const float* out = block.out + first * block.out_stride;
    const ScoreBand p{s.queries, s.query_pitch, rows, from, visible, s.scores, s.pitch};
    const ScoreBand dp{d_out, block.out_stride, rows, from, visible, s.gradients, s.pitch};
    scale_queries(block, first, rows, s);
    products_with_keys(width, p, s.keys);
    products_with_keys(width, dp, s.values);
    for (int r = 0; r < rows; ++r) {
      float* row = s.scores + static_cast<ptrdiff_t>(r) * s.pitch;
      const int last = hidden + first + r;
      const Sight seen{smaller(larger(first_seen(last, block.window) - begin, from), visible), smaller(last - begin, visible)};
      exponentials(row, seen, from, visible, block.log_sum_exp[first + r]);
      const float mean = dot(d_out + r * block.out_stride, out + r * block.out_stride, width);
      float* gradients = s.gradients + static_cast<ptrdiff_t>(r) * s.pitch;
      softmax_gradient(row + from, gradients + from, visible - from, mean, block.scale);
    }
    add_to_keys(p, keys.prefix.count, d_out, block.out_stride, moved(d.dv_prefix, prefix), moved(d.dv_own, own), d.stride,
                width);
    add_to_keys(dp, keys.prefix.count, block.q + first * block.q_stride, block.q_stride, moved(d.dk_prefix, prefix),
                moved(d.dk_own, own), d.stride, width);
    weighted_rows(keys, false, dp, d.dq + first * block.q_stride, block.q_stride, read >= begin ? Into::write : Into::resume);
  }
}

static void attention_backward(const AttentionBlock& block, const AttentionGradient& d, float* scratch) {
  const int count = block.prefix.count + block.own.count;
  for (int begin = 0; begin < count; begin += key_block)
    backward_of_keys(block, d, begin, smaller(begin + key_block, count), scratch);
}

}  // namespace troupe::TROUPE_ISA
