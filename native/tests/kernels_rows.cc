#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels_check.h"

namespace troupe::test {
namespace {

using Doubles = std::vector<double>;
const int widths[] = {1, 3, 16, 17, 64, 200};

double silu(double x) { return x / (1 + std::exp(-x)); }

// 4e-6 of the largest element: reciprocals, roots and sums of up to 200 terms in float32.
constexpr double tolerance = 4e-6;

void check_rms_norm(const Kernels& kernels, Report& report, int width, float offset) {
  const int rows = 3;
  Random random(width);
  const Floats x = random.floats(rows * width, 3), w = random.floats(width), dy = random.floats(rows * width);
  const Floats dx0 = random.floats(rows * width), dw0 = random.floats(width);
  Floats y(rows * width), inverse(rows), dx = dx0, dw = dw0, frozen = dx0;
  const float epsilon = 1e-5f;
  kernels.rms_norm(x.data(), {w.data(), offset}, y.data(), inverse.data(), rows, width, epsilon);
  kernels.rms_norm_backward(dy.data(), x.data(), {w.data(), offset}, inverse.data(), dx.data(), dw.data(), rows, width);
  kernels.rms_norm_backward(dy.data(), x.data(), {w.data(), offset}, inverse.data(), frozen.data(), nullptr, rows, width);
  Doubles expected(rows * width), expected_dx(dx0.begin(), dx0.end()), expected_dw(dw0.begin(), dw0.end());
  for (int r = 0; r < rows; ++r) {
    double squares = epsilon * width, products = 0;
    for (int i = 0; i < width; ++i) squares += std::pow(x[r * width + i], 2);
    const double s = 1 / std::sqrt(squares / width);
    for (int i = 0; i < width; ++i) products += double(dy[r * width + i]) * (offset + w[i]) * x[r * width + i];
    for (int i = 0; i < width; ++i) {
      const double value = x[r * width + i], d = dy[r * width + i];
      expected[r * width + i] = value * s * (offset + w[i]);
      expected_dx[r * width + i] += d * (offset + w[i]) * s - value * s * s * s * products / width;
      expected_dw[i] += d * value * s;
    }
  }
  report.close("rms_norm", y, expected, tolerance);
  report.close("rms_norm_backward dx", dx, expected_dx, tolerance);
  report.close("rms_norm_backward dw", dw, expected_dw, tolerance);
  report.check(dx == frozen, "rms_norm_backward without dw gives the same dx");
}

void check_swiglu(const Kernels& kernels, Report& report, int width) {
  const int rows = 3;
  Random random(width + 1);
  Floats gate_up = random.floats(rows * 2 * width, 8);
  const Floats d_out = random.floats(rows * width);
  Floats out(rows * width), d(rows * 2 * width);
  kernels.swiglu(gate_up.data(), out.data(), rows, width);
  kernels.swiglu_backward(gate_up.data(), d_out.data(), d.data(), rows, width);
  Doubles expected(rows * width), expected_d(rows * 2 * width);
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < width; ++i) {
      const double gate = gate_up[r * 2 * width + i], up = gate_up[r * 2 * width + width + i], g = d_out[r * width + i];
      const double s = 1 / (1 + std::exp(-gate));
      expected[r * width + i] = silu(gate) * up;
      expected_d[r * 2 * width + i] = g * up * s * (1 + gate * (1 - s));
      expected_d[r * 2 * width + width + i] = g * silu(gate);
    }
  report.close("swiglu", out, expected, tolerance);
  report.close("swiglu_backward", d, expected_d, tolerance);
  const Floats far = {-200, 200, 1, 1};  // beyond the range of e^x
  Floats ends(2);
  kernels.swiglu(far.data(), ends.data(), 1, 2);
  report.check(std::fabs(ends[0]) < 1e-30 && ends[1] == 200, "swiglu far from zero", ends[0], ends[1]);
}

double gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))); }

// Against the formula with tanh, and its slope by central differences.
void check_geglu(const Kernels& kernels, Report& report, int width) {
  const int rows = 3;
  Random random(width + 2);
  const Floats gate_up = random.floats(rows * 2 * width, 5), d_out = random.floats(rows * width);
  Floats out(rows * width), d(rows * 2 * width);
  kernels.geglu(gate_up.data(), out.data(), rows, width);
  kernels.geglu_backward(gate_up.data(), d_out.data(), d.data(), rows, width);
  Doubles expected(rows * width), expected_d(rows * 2 * width);
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < width; ++i) {
      const double gate = gate_up[r * 2 * width + i], up = gate_up[r * 2 * width + width + i], g = d_out[r * width + i];
      expected[r * width + i] = gelu(gate) * up;
      expected_d[r * 2 * width + i] = g * up * (gelu(gate + 1e-5) - gelu(gate - 1e-5)) / 2e-5;
      expected_d[r * 2 * width + width + i] = g * gelu(gate);
    }
  report.close("geglu", out, expected, tolerance);
  report.close("geglu_backward", d, expected_d, tolerance);
  const Floats far = {-200, 200, 1, 1};
  Floats ends(2), slopes(4);
  const Floats ones = {1, 1};
  kernels.geglu(far.data(), ends.data(), 1, 2);
  kernels.geglu_backward(far.data(), ones.data(), slopes.data(), 1, 2);
  report.check(std::fabs(ends[0]) < 1e-30 && ends[1] == 200, "geglu far from zero", ends[0], ends[1]);
  report.check(slopes[0] == 0 && slopes[1] == 1, "geglu_backward far from zero", slopes[0], slopes[1]);
}

void check_rotate(const Kernels& kernels, Report& report, int head_dim, int turned) {
  const int rows = 4, heads = 2, half = turned / 2, stride = heads * head_dim + 3;
  Random random(head_dim);
  const Floats x0 = random.floats(rows * stride), cosine = random.floats(9 * half), sine = random.floats(9 * half);
  const int32_t positions[] = {0, 8, 3, 3};
  for (float sign : {1.0f, -1.0f}) {
    Floats x = x0;
    kernels.rotate(x.data(), stride, positions, cosine.data(), sine.data(), rows, heads, head_dim, turned, sign);
    Doubles expected(x0.begin(), x0.end());
    for (int r = 0; r < rows; ++r)
      for (int h = 0; h < heads; ++h)
        for (int i = 0; i < half; ++i) {
          const int first = r * stride + h * head_dim + i, second = first + half;
          const double c = cosine[positions[r] * half + i], s = sign * sine[positions[r] * half + i];
          expected[first] = x0[first] * c - x0[second] * s;
          expected[second] = x0[second] * c + x0[first] * s;
        }
    report.close("rotate", x, expected, tolerance);
  }
}

void check_logits(const Kernels& kernels, Report& report, int n) {
  Random random(n);
  Floats logits = random.floats(n, 12);
  if (n > 2) logits[n / 2] = -std::numeric_limits<float>::infinity();
  const float top = *std::max_element(logits.begin(), logits.end());
  double total = 0, entropy = 0;
  for (float logit : logits) total += std::exp(double(logit) - top);
  const double log_sum_exp = top + std::log(total);
  Doubles expected(n), sloped(n);
  for (int i = 0; i < n; ++i) {
    const double p = std::exp(logits[i] - log_sum_exp);
    const double share = p > 0 ? p * (logits[i] - log_sum_exp) : 0;
    entropy -= share;
    expected[i] = -0.5 * p;
    sloped[i] = 0.25 * share - 0.5 * p;
  }
  const LogitSummary seen = kernels.summarize_logits(logits.data(), n);
  report.check(seen.max == top, "summarize_logits max");
  // Absolute: two or three roundings of a logarithm near 22; the softmax multiplies by the same error.
  report.check(std::fabs(seen.log_sum_exp - log_sum_exp) < 1e-5, "log_sum_exp", seen.log_sum_exp - log_sum_exp, 1e-5);
  report.check(std::fabs(seen.entropy - entropy) < 1e-5, "entropy", seen.entropy - entropy, 1e-5);
  Floats d(n);
  kernels.softmax_scaled(logits.data(), seen.log_sum_exp, -0.5f, d.data(), n);
  report.close("softmax_scaled", d, expected, 1e-5);
  kernels.softmax_sloped(logits.data(), seen.log_sum_exp, -0.5f, 0.25f, d.data(), n);
  report.close("softmax_sloped", d, sloped, 1e-5);
}

void check_vectors(const Kernels& kernels, Report& report, int n) {
  Random random(n);
  const Floats x = random.floats(n), y0 = random.floats(n);
  Floats y = y0, z = y0;
  kernels.add(y.data(), x.data(), n);
  kernels.add_scaled(z.data(), x.data(), 0.3f, n);
  Doubles sums(n), scaled(n);
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    sums[i] = double(y0[i]) + x[i];
    scaled[i] = y0[i] + double(0.3f) * x[i];
    squares += double(x[i]) * x[i];
  }
  report.close("add", y, sums, 1e-7);
  report.close("add_scaled", z, scaled, 2e-7);
  const double seen = kernels.sum_of_squares(x.data(), n);
  report.check(std::fabs(seen - squares) <= 1e-6 * squares, "sum_of_squares", seen / squares - 1, 1e-6);
}

// Three steps against PyTorch's formula (torch.optim.AdamW) in double.
void check_adam(const Kernels& kernels, Report& report, int n) {
  Random random(n + 5);
  Floats w = random.floats(n), m(n), v(n);
  Doubles rw(w.begin(), w.end()), rm(n), rv(n);
  const double lr = 0.01, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1, scale = 0.7;
  for (int t = 1; t <= 3; ++t) {
    const Floats g = random.floats(n, 0.1);
    const double c1 = 1 - std::pow(beta1, t), c2 = 1 - std::pow(beta2, t);
    kernels.adam(w.data(), g.data(), m.data(), v.data(), n,
                 {float(lr), float(beta1), float(beta2), float(epsilon), float(decay), float(c1), float(c2),
                  float(scale)});
    for (int i = 0; i < n; ++i) {
      const double gradient = g[i] * scale;
      rw[i] *= 1 - lr * decay;
      rm[i] = beta1 * rm[i] + (1 - beta1) * gradient;
      rv[i] = beta2 * rv[i] + (1 - beta2) * gradient * gradient;
      rw[i] -= lr / c1 * rm[i] / (std::sqrt(rv[i]) / std::sqrt(c2) + epsilon);
    }
  }
  report.close("adam weights", w, rw, 1e-6);
  report.close("adam first moment", m, rm, 1e-6);
  report.close("adam second moment", v, rv, 2e-6);
}

// All upper halves, each with lower halves at and around the middle.
void check_rounding(const Kernels& kernels, Report& report) {
  const uint32_t lower_halves[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  std::vector<uint32_t> bits;
  for (uint32_t upper = 0; upper < 0x10000; ++upper)
    for (uint32_t lower : lower_halves) bits.push_back(upper << 16 | lower);
  Floats x(bits.size());
  std::memcpy(x.data(), bits.data(), bits.size() * sizeof(float));
  kernels.round_to_bfloat16(x.data(), x.size());
  bool good = true;
  for (size_t i = 0; i < bits.size(); ++i) {
    uint32_t seen;
    std::memcpy(&seen, &x[i], sizeof(seen));
    const uint32_t lower = bits[i] & 0xffff, upper = bits[i] >> 16;
    const bool up = lower > 0x8000 || (lower == 0x8000 && upper % 2 == 1);
    const bool is_nan = (bits[i] & 0x7fffffff) > 0x7f800000;
    good &= is_nan ? (seen & 0x7fff0000) > 0x7f800000 : seen == (upper + up) << 16;
  }
  report.check(good, "round_to_bfloat16");
  Floats few = {1.001f, 1.001f, 1.001f};
  kernels.round_to_bfloat16(few.data(), 2);
  report.check(few == Floats{1, 1, 1.001f}, "round_to_bfloat16 of a part");
}

}  // namespace

void check_rows(const Kernels& kernels, Report& report) {
  for (int width : widths) {
    for (float offset : {0.0f, 1.0f}) check_rms_norm(kernels, report, width, offset);
    check_geglu(kernels, report, width);
    check_swiglu(kernels, report, width);
    check_vectors(kernels, report, width * 7);
    check_logits(kernels, report, width);
    check_adam(kernels, report, width);
  }
  check_rounding(kernels, report);
  for (int n : {150, 32003}) check_logits(kernels, report, n);
  check_vectors(kernels, report, 100003);
  for (int head_dim : {2, 16, 32, 64, 80, 128}) check_rotate(kernels, report, head_dim, head_dim);
  for (int turned : {2, 36, 48}) check_rotate(kernels, report, 64, turned);
}

}  // namespace troupe::test
