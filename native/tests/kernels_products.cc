#include <cstring>

#include "kernels_check.h"

namespace troupe::test {
namespace {

double rounded_to_bfloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000u;
  std::memcpy(&x, &bits, 4);
  return x;
}

// The reference uses the operands as the kernels do: rounded to bfloat16 or unchanged.
std::vector<double> operand(const Floats& from, bool rounded) {
  std::vector<double> values(from.begin(), from.end());
  if (rounded)
    for (size_t i = 0; i < from.size(); ++i) values[i] = rounded_to_bfloat16(from[i]);
  return values;
}

struct Shape {
  int m, n, k;
  std::string name() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
};

const Shape shapes[] = {{1, 1, 1},    {1, 33, 7},     {2, 31, 65},   {3, 150, 64},   {5, 17, 129},   {14, 32, 256},
                        {15, 64, 257}, {16, 96, 192}, {29, 130, 70}, {33, 48, 1000}, {100, 37, 300}, {230, 150, 128},
                        {300, 40, 513}, {7, 700, 33}};

// Sums are float32, so errors stay within a few roundings of Σ|a||b|; operands are exact in both precisions.
constexpr double tolerance = 1e-5;

void check_multiply(const Kernels& kernels, Report& report, Shape s, Precision precision, bool transpose,
                    bool accumulate) {
  Random random(s.m * 31 + s.n * 7 + s.k);
  ThreadPool pool(2);
  const int lda = s.k + 3, ldc = s.n + 5;
  const Floats a = random.floats(static_cast<size_t>(s.m) * lda), w = random.floats(static_cast<size_t>(s.n) * s.k);
  Floats c = random.floats(static_cast<size_t>(s.m) * ldc);
  const Floats before = c;
  PackedMatrix b;
  kernels.pack(b, w.data(), transpose ? s.n : s.k, transpose ? s.k : s.n, transpose, precision, pool);
  kernels.multiply(a.data(), lda, s.m, b, c.data(), ldc, accumulate, pool);
  const bool rounded = precision == Precision::bfloat16 && kernels.bfloat16;
  const auto ra = operand(a, rounded), rw = operand(w, rounded);
  std::vector<double> expected(before.begin(), before.end()), scale(before.size(), 0.0);
  for (int i = 0; i < s.m; ++i)
    for (int j = 0; j < s.n; ++j) {
      double sum = accumulate ? before[i * ldc + j] : 0, size = std::fabs(sum);
      for (int l = 0; l < s.k; ++l) {
        const double product = ra[i * lda + l] * (transpose ? rw[j * s.k + l] : rw[l * s.n + j]);
        sum += product;
        size += std::fabs(product);
      }
      expected[i * ldc + j] = sum;
      scale[i * ldc + j] = size;
    }
  report.close("multiply " + s.name() + (rounded ? " bfloat16" : " float32"), c, expected, scale, tolerance);
}

// Weights that are bfloat16 give the same bits packed from their own rows and turned as packed from float32.
void check_stored_rows(const Kernels& kernels, Report& report, Precision precision, int m, int n, int k) {
  Random random(n + 3 * k);
  ThreadPool pool(2);
  Floats w = random.floats(static_cast<size_t>(n) * k);
  std::vector<uint16_t> stored(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<float>(rounded_to_bfloat16(w[i]));
    uint32_t bits;
    std::memcpy(&bits, &w[i], 4);
    stored[i] = static_cast<uint16_t>(bits >> 16);
  }
  const ReadRows read = [&](int first, int count, uint16_t* to) {
    std::memcpy(to, stored.data() + static_cast<size_t>(first) * k, static_cast<size_t>(count) * k * sizeof *to);
  };
  PackedMatrix own, turned, wide, wide_turned;
  kernels.pack_rows(own, read, n, k, precision, pool);
  kernels.pack_turned(turned, own, pool);
  kernels.pack(wide, w.data(), n, k, true, precision, pool);
  kernels.pack(wide_turned, w.data(), n, k, false, precision, pool);
  const std::string name = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  const auto same = [&](const PackedMatrix& narrow, const PackedMatrix& expected, const char* what) {
    const Floats a = random.floats(static_cast<size_t>(m) * narrow.k);
    Floats seen(static_cast<size_t>(m) * narrow.n, 0.5f), known = seen;
    for (bool accumulate : {false, true}) {
      kernels.multiply(a.data(), narrow.k, m, narrow, seen.data(), narrow.n, accumulate, pool);
      kernels.multiply(a.data(), narrow.k, m, expected, known.data(), narrow.n, accumulate, pool);
      report.check(std::memcmp(seen.data(), known.data(), seen.size() * 4) == 0, what + name);
    }
  };
  same(own, wide, "stored rows, ");
  same(turned, wide_turned, "stored rows turned, ");
  Floats row(k);
  kernels.read_row(own, n - 1, row.data());
  report.check(std::memcmp(row.data(), w.data() + static_cast<size_t>(n - 1) * k, k * 4) == 0, "a stored row, " + name);
  report.check(own.data.size() < 2 * (w.size() + 64u * (n + k) + 4096), "stored rows take two bytes, " + name);
}

// Rows have the same bits alone, with any other rows, and on any number of threads.
// @param scale of A: with a tiny one, products and sums are below the smallest normal number
void check_independence(const Kernels& kernels, Report& report, Precision precision, int n, int k, float scale = 1) {
  const int m = 321;
  Random random(n + k);
  ThreadPool one(1), two(2), three(3);
  Floats a = random.floats(static_cast<size_t>(m) * k);
  const Floats w = random.floats(static_cast<size_t>(n) * k);
  for (float& x : a) x *= scale;
  PackedMatrix b;
  kernels.pack(b, w.data(), n, k, true, precision, two);
  Floats all(static_cast<size_t>(m) * n);
  kernels.multiply(a.data(), k, m, b, all.data(), n, false, one);
  for (ThreadPool* pool : {&one, &two, &three})
    for (int rows : {1, 2, 3, 4, 5, 8, 13, 14, 15, 16, 17, 28, 31, 32, 33, 64, 225, 321})
      for (int first : {0, 1, m - rows}) {
        if (first + rows > m) continue;
        Floats some(static_cast<size_t>(rows) * n);
        kernels.multiply(a.data() + first * k, k, rows, b, some.data(), n, false, *pool);
        const bool same = std::memcmp(some.data(), all.data() + first * n, some.size() * 4) == 0;
        report.check(same, "row independence, " + std::to_string(rows) + " rows from " + std::to_string(first));
      }
}

void check_weight_gradient(const Kernels& kernels, Report& report, Shape s, Precision precision) {
  const int tokens = s.k, n_out = s.m, k_in = s.n;
  Random random(s.m + s.n + s.k);
  ThreadPool one(1), three(3);
  const int ld_dy = n_out + 2, ld_x = k_in + 1;
  const Floats dy = random.floats(static_cast<size_t>(tokens) * ld_dy);
  const Floats x = random.floats(static_cast<size_t>(tokens) * ld_x);
  const Floats before = random.floats(static_cast<size_t>(n_out) * k_in);
  Floats dw = before, threaded = before;
  kernels.weight_gradient(dy.data(), ld_dy, x.data(), ld_x, tokens, n_out, k_in, dw.data(), precision, one);
  kernels.weight_gradient(dy.data(), ld_dy, x.data(), ld_x, tokens, n_out, k_in, threaded.data(), precision, three);
  report.check(dw == threaded, "weight_gradient is the same on 3 threads, " + s.name());
  const bool rounded = precision == Precision::bfloat16 && kernels.bfloat16;
  const auto rdy = operand(dy, rounded), rx = operand(x, rounded);
  std::vector<double> expected(before.begin(), before.end()), scale(before.size());
  for (size_t i = 0; i < before.size(); ++i) scale[i] = std::fabs(before[i]);
  for (int t = 0; t < tokens; ++t)
    for (int o = 0; o < n_out; ++o)
      for (int i = 0; i < k_in; ++i) {
        const double product = rdy[t * ld_dy + o] * rx[t * ld_x + i];
        expected[o * k_in + i] += product;
        scale[o * k_in + i] += std::fabs(product);
      }
  report.close("weight_gradient " + s.name() + (rounded ? " bfloat16" : " float32"), dw, expected, scale, tolerance);
}

}  // namespace

void check_products(const Kernels& kernels, Report& report) {
  for (Precision precision : {Precision::float32, Precision::bfloat16}) {
    if (precision == Precision::bfloat16 && !kernels.bfloat16) continue;
    for (const Shape& shape : shapes) {
      check_stored_rows(kernels, report, precision, shape.m, shape.n, shape.k);
      check_multiply(kernels, report, shape, precision, true, false);
      check_multiply(kernels, report, shape, precision, false, true);
      check_weight_gradient(kernels, report, shape, precision);
    }
    check_weight_gradient(kernels, report, {40, 550, 1030}, precision);
    check_independence(kernels, report, precision, 150, 192);
    check_independence(kernels, report, precision, 70, 1100);
    check_independence(kernels, report, precision, 70, 130, 1e-38f);
  }
}

}  // namespace troupe::test
