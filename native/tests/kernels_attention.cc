#include <cstring>
#include <limits>

#include "kernels_check.h"

namespace troupe::test {
namespace {

using Doubles = std::vector<double>;

struct Case {
  int prefix, own, queries, head_dim, window = 0;
  std::string name() const {
    return "prefix " + std::to_string(prefix) + ", own " + std::to_string(own) + ", queries " +
           std::to_string(queries) + ", head_dim " + std::to_string(head_dim) + ", window " + std::to_string(window);
  }
};

const Case cases[] = {{0, 1, 1, 16},    {0, 7, 7, 16},   {0, 33, 33, 32},  {20, 5, 5, 64},  {31, 40, 40, 16},
                      {64, 100, 100, 128}, {100, 1, 1, 64}, {300, 17, 1, 32}, {0, 130, 130, 64}, {50, 33, 20, 24},
                      {0, 20, 3, 80},     {0, 33, 33, 20}, {40, 9, 9, 100},
                      // More keys than a block, and than two.
                      {600, 530, 530, 16}, {0, 1100, 1100, 16}, {1030, 70, 70, 24}, {1500, 20, 20, 16}};
// Windows of one key, within and across the vectors and panels of any set, up to the last key and beyond; they begin in
// the prefix, at its end and behind it.
const int windows[] = {1, 2, 7, 8, 16, 17, 31, 33, 64, 100, 129, 130, 600, 1000};
const Case windowed[] = {{0, 33, 33, 32}, {31, 40, 40, 16}, {100, 1, 1, 64}, {300, 17, 1, 32}, {0, 130, 130, 64},
                         {50, 33, 20, 24}, {64, 100, 100, 128}, {5, 90, 90, 80}, {700, 450, 450, 16}};

// Rows of keys are further apart than head_dim, as with several heads.
struct Problem {
  Case shape;
  ptrdiff_t stride, q_stride, out_stride;
  Floats q, k, v, k_own, v_own, out, log_sum_exp, d_out;
  AttentionBlock block;

  explicit Problem(const Case& c)
      : shape(c), stride(c.head_dim * 2 + 3), q_stride(c.head_dim + 5), out_stride(c.head_dim + 1) {
    Random random(c.prefix + c.own * 3 + c.head_dim);
    q = random.floats(c.queries * q_stride, 2);
    k = random.floats((c.prefix + 1) * stride);
    v = random.floats((c.prefix + 1) * stride);
    k_own = random.floats(c.own * stride);
    v_own = random.floats(c.own * stride);
    d_out = random.floats(c.queries * out_stride);
    out.resize(c.queries * out_stride, -7);
    log_sum_exp.resize(c.queries);
    block.q = q.data();
    block.q_stride = q_stride;
    block.queries = c.queries;
    block.head_dim = c.head_dim;
    block.scale = 1 / std::sqrt(float(c.head_dim));
    block.window = c.window;
    block.prefix = {k.data(), v.data(), stride, c.prefix};
    block.own = {k_own.data(), v_own.data(), stride, c.own};
    block.out = out.data();
    block.out_stride = out_stride;
    block.log_sum_exp = log_sum_exp.data();
  }
  float key(int j, int d) const { return j < shape.prefix ? k[j * stride + d] : k_own[(j - shape.prefix) * stride + d]; }
  float value(int j, int d) const {
    return j < shape.prefix ? v[j * stride + d] : v_own[(j - shape.prefix) * stride + d];
  }
  int visible(int i) const { return shape.prefix + shape.own - shape.queries + i + 1; }
  bool sees(int i, int j) const { return shape.window == 0 || j >= visible(i) - shape.window; }
  Floats scratch(const Kernels& kernels) const {
    Floats memory(kernels.attention_scratch(shape.queries, shape.prefix + shape.own, shape.head_dim) + 1,
                  std::numeric_limits<float>::quiet_NaN());
    memory.back() = 12345;  // a guard: the kernels must stay within the memory they requested
    return memory;
  }
};

// softmax(q·kᵀ·scale) of query i in double; also returns its log-sum-exp.
Doubles probabilities(const Problem& p, int i, double& log_sum_exp) {
  Doubles row(p.visible(i));
  double max = -1e30, total = 0;
  for (size_t j = 0; j < row.size(); ++j) {
    for (int d = 0; d < p.shape.head_dim; ++d) row[j] += double(p.q[i * p.q_stride + d]) * p.key(j, d);
    row[j] *= p.block.scale;
    if (!p.sees(i, static_cast<int>(j))) row[j] = -1e30;
    max = std::fmax(max, row[j]);
  }
  for (double score : row) total += std::exp(score - max);
  log_sum_exp = max + std::log(total);
  for (double& score : row) score = std::exp(score - log_sum_exp);
  return row;
}

// Tolerances are relative to the largest element: 3e-6 forward (a float32 exponential and short sums), 1e-5 backward
// (differences of products).
void check_forward(const Kernels& kernels, Report& report, Problem& p) {
  Floats scratch = p.scratch(kernels);
  kernels.attention(p.block, scratch.data());
  report.check(scratch.back() == 12345, "attention keeps within its scratch, " + p.shape.name());
  Doubles expected(p.out.size(), -7.0), sums(p.shape.queries);
  for (int i = 0; i < p.shape.queries; ++i) {
    const Doubles row = probabilities(p, i, sums[i]);
    for (int d = 0; d < p.shape.head_dim; ++d) {
      double total = 0;
      for (size_t j = 0; j < row.size(); ++j) total += row[j] * p.value(j, d);
      expected[i * p.out_stride + d] = total;
    }
  }
  report.close("attention, " + p.shape.name(), p.out, expected, 3e-6);
  report.close("attention log_sum_exp, " + p.shape.name(), p.log_sum_exp, sums, 3e-6);
}

// What attention_backward must add or write, by the chain rule in double.
struct Gradients {
  Doubles dq, dk, dv;  // [queries × d], [keys × d], [keys × d]
};

Gradients reference_gradients(const Problem& p) {
  const int d = p.shape.head_dim, keys = p.shape.prefix + p.shape.own;
  Gradients g{Doubles(p.shape.queries * d), Doubles(keys * d), Doubles(keys * d)};
  for (int i = 0; i < p.shape.queries; ++i) {
    double unused = 0, mean = 0;
    const Doubles row = probabilities(p, i, unused);
    Doubles d_row(row.size());
    for (size_t j = 0; j < row.size(); ++j) {
      for (int c = 0; c < d; ++c) d_row[j] += double(p.d_out[i * p.out_stride + c]) * p.value(j, c);
      mean += row[j] * d_row[j];
    }
    for (size_t j = 0; j < row.size(); ++j) {
      const double ds = row[j] * (d_row[j] - mean) * p.block.scale;
      for (int c = 0; c < d; ++c) {
        g.dq[i * d + c] += ds * p.key(j, c);
        g.dk[j * d + c] += ds * p.q[i * p.q_stride + c];
        g.dv[j * d + c] += row[j] * p.d_out[i * p.out_stride + c];
      }
    }
  }
  return g;
}

// Central differences of Σ d_out·out in double, which check the chain rule above.
void check_reference(Report& report, Problem& p) {
  const auto loss = [&] {
    double total = 0, unused = 0;
    for (int i = 0; i < p.shape.queries; ++i) {
      const Doubles row = probabilities(p, i, unused);
      for (size_t j = 0; j < row.size(); ++j)
        for (int c = 0; c < p.shape.head_dim; ++c) total += row[j] * p.value(j, c) * p.d_out[i * p.out_stride + c];
    }
    return total;
  };
  const Gradients g = reference_gradients(p);
  const auto slope = [&](float& at) {
    const float kept = at, step = 1.0f / 256;
    at = kept + step;
    const double above = at, up = loss();
    at = kept - step;
    const double below = at, down = loss();
    at = kept;
    return (up - down) / (above - below);
  };
  const int d = p.shape.head_dim, last = p.shape.own - 1;
  for (int c : {0, d - 1}) {
    const double dq = slope(p.q[c]) - g.dq[c];
    const double dk = slope(p.k_own[last * p.stride + c]) - g.dk[(p.shape.prefix + last) * d + c];
    const double dv = slope(p.v_own[c]) - g.dv[p.shape.prefix * d + c];
    report.check(std::fabs(dq) + std::fabs(dk) + std::fabs(dv) < 1e-4, "finite differences", dq + dk + dv, 1e-4);
  }
}

void check_backward(const Kernels& kernels, Report& report, Problem& p) {
  Floats scratch = p.scratch(kernels);
  const Case& s = p.shape;
  const ptrdiff_t stride = s.head_dim + 5;  // not that of the keys
  Floats dq(s.queries * p.q_stride, 3), dk(s.prefix * stride, 1), dv(s.prefix * stride, 2), dk_own(s.own * stride, 1),
      dv_own(s.own * stride, 2);
  kernels.attention_backward(p.block, {p.d_out.data(), dq.data(), dk.data(), dv.data(), dk_own.data(), dv_own.data(), stride},
                             scratch.data());
  report.check(scratch.back() == 12345, "attention_backward keeps within its scratch, " + s.name());
  const Gradients g = reference_gradients(p);
  Doubles edq(dq.size(), 3), edk(dk.size(), 1), edv(dv.size(), 2), edk_own(dk_own.size(), 1), edv_own(dv_own.size(), 2);
  const int d = s.head_dim;
  for (int c = 0; c < d; ++c) {
    for (int i = 0; i < s.queries; ++i) edq[i * p.q_stride + c] = g.dq[i * d + c];
    for (int j = 0; j < s.prefix + s.own; ++j) {
      const bool before = j < s.prefix;
      const ptrdiff_t at = (before ? j : j - s.prefix) * stride + c;
      (before ? edk : edk_own)[at] += g.dk[j * d + c];
      (before ? edv : edv_own)[at] += g.dv[j * d + c];
    }
  }
  report.close("attention_backward dq, " + s.name(), dq, edq, 1e-5);
  report.close("attention_backward dk of the prefix, " + s.name(), dk, edk, 1e-5);
  report.close("attention_backward dv of the prefix, " + s.name(), dv, edv, 1e-5);
  report.close("attention_backward dk, " + s.name(), dk_own, edk_own, 1e-5);
  report.close("attention_backward dv, " + s.name(), dv_own, edv_own, 1e-5);
}

using Halves = std::vector<uint16_t>;

// The upper halves of what was rounded to bfloat16.
Halves halves(const Kernels& kernels, Floats& x) {
  kernels.round_to_bfloat16(x.data(), x.size());
  Halves result(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, &x[i], sizeof(bits));
    result[i] = static_cast<uint16_t>(bits >> 16);
  }
  return result;
}

// Keys and values that are stored as bfloat16 give the bits of the same numbers in float32, to many queries and to one.
void check_narrow(const Kernels& kernels, Report& report, Problem p) {
  const Halves k = halves(kernels, p.k), v = halves(kernels, p.v), k_own = halves(kernels, p.k_own),
               v_own = halves(kernels, p.v_own);
  p.block.q = p.q.data();
  p.block.prefix = {p.k.data(), p.v.data(), p.stride, p.shape.prefix};
  p.block.own = {p.k_own.data(), p.v_own.data(), p.stride, p.shape.own};
  Floats scratch = p.scratch(kernels), wide(p.out.size(), -7), narrow = wide, sums(p.shape.queries), narrow_sums = sums;
  p.block.out = wide.data();
  p.block.log_sum_exp = sums.data();
  kernels.attention(p.block, scratch.data());
  AttentionBlock block = p.block;
  block.narrow = true;
  block.prefix = {k.data(), v.data(), p.stride, p.shape.prefix};
  block.own = {k_own.data(), v_own.data(), p.stride, p.shape.own};
  block.out = narrow.data();
  block.log_sum_exp = narrow_sums.data();
  kernels.attention(block, scratch.data());
  report.check(wide == narrow && sums == narrow_sums, "narrow keys give the same bits, " + p.shape.name());
  const int last = p.shape.queries - 1;
  Floats alone(p.shape.head_dim);
  block.q += last * block.q_stride;
  block.queries = 1;
  block.out = alone.data();
  block.log_sum_exp = nullptr;
  kernels.attention(block, scratch.data());
  report.check(std::memcmp(alone.data(), wide.data() + last * p.out_stride, alone.size() * sizeof(float)) == 0,
               "a query alone of narrow keys has the same bits, " + p.shape.name());
}

// The last query alone (a decoding step), and with its keys split differently between prefix and own, has the same bits
// as among all.
void check_decoding(const Kernels& kernels, Report& report, Problem& p) {
  Floats scratch = p.scratch(kernels);
  const int d = p.shape.head_dim, last = p.shape.queries - 1;
  Floats alone(d), moved(d);
  AttentionBlock one = p.block;
  one.q = p.q.data() + last * p.q_stride;
  one.queries = 1;
  one.out = alone.data();
  one.log_sum_exp = nullptr;
  kernels.attention(one, scratch.data());
  const bool same = std::memcmp(alone.data(), p.out.data() + last * p.out_stride, d * 4) == 0;
  report.check(same, "a query alone has the same bits, " + p.shape.name());
  if (p.shape.prefix > 0) return;
  const int half = p.shape.own / 2;
  one.prefix = {p.k_own.data(), p.v_own.data(), p.stride, half};
  one.own = {p.k_own.data() + half * p.stride, p.v_own.data() + half * p.stride, p.stride, p.shape.own - half};
  one.out = moved.data();
  kernels.attention(one, scratch.data());
  report.check(alone == moved, "a prefix of the same keys gives the same bits, " + p.shape.name());
}

// Decoding steps of several sequences with one prompt, with one or many keys and different lengths, have the same bits
// together as alone, and with keys and values that are stored as bfloat16.
void check_group(const Kernels& kernels, Report& report, int prefix, int sequences, int head_dim, int window = 0) {
  Random random(prefix + sequences);
  const ptrdiff_t stride = head_dim + 4;
  Floats k = random.floats((prefix + 1) * stride), v = random.floats((prefix + 1) * stride);
  const Halves narrow_k = halves(kernels, k), narrow_v = halves(kernels, v);
  std::vector<Halves> narrow_own(2 * sequences);
  const Floats q = random.floats(sequences * stride, 2);
  Floats together(sequences * head_dim, -1), alone = together, sums(sequences), sums_alone(sequences);
  std::vector<Floats> own_k(sequences), own_v(sequences);
  std::vector<AttentionBlock> blocks(sequences);
  int most = 0;
  for (int i = 0; i < sequences; ++i) {
    const int count = 1 + i * 7 % 40;
    most = count > most ? count : most;
    own_k[i] = random.floats(count * stride);
    own_v[i] = random.floats(count * stride);
    narrow_own[2 * i] = halves(kernels, own_k[i]);
    narrow_own[2 * i + 1] = halves(kernels, own_v[i]);
    AttentionBlock& block = blocks[i];
    block.q = q.data() + i * stride;
    block.queries = 1;
    block.head_dim = head_dim;
    block.scale = 0.2f;
    block.window = window;
    block.prefix = {k.data(), v.data(), stride, prefix};
    block.own = {own_k[i].data(), own_v[i].data(), stride, count};
    block.out = together.data() + i * head_dim;
    block.log_sum_exp = &sums[i];
  }
  Floats scratch(kernels.attention_scratch(sequences, prefix + most, head_dim) + 1);
  scratch.back() = 12345;
  kernels.attention_group(blocks.data(), sequences, scratch.data());
  const bool within = scratch.back() == 12345;
  for (int i = 0; i < sequences; ++i) {
    blocks[i].out = alone.data() + i * head_dim;
    blocks[i].log_sum_exp = &sums_alone[i];
    kernels.attention(blocks[i], scratch.data());
  }
  const std::string name = std::to_string(sequences) + " sequences after " + std::to_string(prefix) +
                           " keys, window " + std::to_string(window);
  report.check(within, "attention_group keeps within its scratch, " + name);
  report.check(together == alone && sums == sums_alone, "attention_group gives the bits of each alone, " + name);
  for (int i = 0; i < sequences; ++i) {
    blocks[i].narrow = true;
    blocks[i].prefix = {narrow_k.data(), narrow_v.data(), stride, prefix};
    blocks[i].own = {narrow_own[2 * i].data(), narrow_own[2 * i + 1].data(), stride, blocks[i].own.count};
    blocks[i].out = alone.data() + i * head_dim;
  }
  kernels.attention_group(blocks.data(), sequences, scratch.data());
  report.check(scratch.back() == 12345, "attention_group of narrow keys keeps within its scratch, " + name);
  report.check(together == alone && sums == sums_alone, "attention_group of narrow keys has the same bits, " + name);
}

// What is behind a window changes no bit, and what is in it does: keys and values there are moved far away.
void check_edges(const Kernels& kernels, Report& report, Problem& p) {
  const int last = p.shape.queries - 1, keys = p.shape.prefix + p.shape.own, d = p.shape.head_dim;
  Floats scratch = p.scratch(kernels), before(p.out.end() - p.out_stride, p.out.end());
  const auto change = [&](int j) {
    const bool first = j < p.shape.prefix;
    const ptrdiff_t at = (first ? j : j - p.shape.prefix) * p.stride;
    for (int c = 0; c < d; ++c) (first ? p.k : p.k_own)[at + c] += 3, (first ? p.v : p.v_own)[at + c] += 100;
  };
  const auto same = [&] {
    kernels.attention(p.block, scratch.data());
    return std::memcmp(p.out.data() + last * p.out_stride, before.data(), d * sizeof(float)) == 0;
  };
  for (int j = 0; j < keys - p.shape.window; ++j) change(j);
  report.check(same(), "keys behind the window have no weight, " + p.shape.name());
  change(keys > p.shape.window ? keys - p.shape.window : 0);
  report.check(!same(), "the first key of the window has weight, " + p.shape.name());
}

}  // namespace

void check_attention(const Kernels& kernels, Report& report) {
  const auto check = [&](const Case& shape) {
    Problem problem(shape);
    check_forward(kernels, report, problem);
    check_backward(kernels, report, problem);
    check_decoding(kernels, report, problem);
    check_narrow(kernels, report, problem);
    if (shape.window > 0) check_edges(kernels, report, problem);
  };
  for (const Case& shape : cases) check(shape);
  for (Case shape : windowed)
    for (int window : windows) {
      shape.window = window;
      check(shape);
    }
  for (int window : {1, 5, 16, 40, 41, 100, 239})
    for (int prefix : {0, 1, 31, 200})
      for (int sequences : {1, 3, 8, 40}) check_group(kernels, report, prefix, sequences, 24, window);
  for (int sequences : {1, 3, 4, 8, 14, 15, 40})
    for (int prefix : {0, 1, 31, 200})
      for (int head_dim : {16, 20, 24, 64, 100, 128}) check_group(kernels, report, prefix, sequences, head_dim);
  Problem small(cases[3]);
  check_reference(report, small);
}

}  // namespace troupe::test
