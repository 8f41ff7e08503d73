// Matrix-product rates of every kernel set of this processor, beside oneDNN's where it is installed.
//   node native/build.mjs --bench && native/build/gemm [set …] [--json] [--large] [--decode] [--threads N]
// --large: the shapes of a training batch alone. --decode: see below. Without --threads: one thread, then two.
// GFLOP/s, the best of several runs of at least 30 ms each. y = x·Wᵀ with W packed beforehand (both here and in
// oneDNN, which gets it reordered to its own liking), dW += dYᵀ·X from plain memory in both.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#ifdef TROUPE_ONEDNN
#include "one_dnn.h"
#endif

namespace {

using namespace troupe;

enum class Product { forward, weight_gradient };
struct Shape {
  Product product;
  int m, n, k;  // forward: C[m × n] = A[m × k]·Wᵀ; weight_gradient: dW[m × n] over k tokens
};

const Shape shapes[] = {{Product::forward, 1, 512, 256},           {Product::forward, 1, 1024, 1024},
                        {Product::forward, 16, 768, 256},          {Product::forward, 16, 256, 704},
                        {Product::forward, 256, 768, 256},         {Product::forward, 256, 2048, 512},
                        {Product::forward, 2000, 384, 128},        {Product::forward, 4000, 768, 256},
                        {Product::forward, 4000, 256, 704},        {Product::forward, 4000, 1536, 512},
                        {Product::forward, 4000, 150, 256},        {Product::forward, 1000, 4096, 1024},
                        {Product::weight_gradient, 384, 128, 2000},  {Product::weight_gradient, 768, 256, 4000},
                        {Product::weight_gradient, 256, 704, 4000},  {Product::weight_gradient, 1536, 512, 4000}};

// One thread is timed by the processor time it got, so that whatever else runs on the machine does not count; several
// threads by the clock on the wall.
double now(int threads) {
  timespec time;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(int threads, const std::function<void()>& body) {
  const auto time = [&](int repeats) {
    const double start = now(threads);
    for (int i = 0; i < repeats; ++i) body();
    return now(threads) - start;
  };
  int repeats = 1;
  while (time(repeats) < 0.03) repeats *= 2;
  double best = 1e30;
  for (int run = 0; run < 5; ++run) best = std::min(best, time(repeats) / repeats);
  return best;
}

struct Data {
  std::vector<float> a, b, c;
  explicit Data(const Shape& s)
      : a(static_cast<size_t>(s.k) * s.m), b(static_cast<size_t>(s.k) * s.n), c(static_cast<size_t>(s.m) * s.n) {
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5f;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 53 % 103) / 103 - 0.5f;
  }
};

double rate(const Kernels& kernels, const Shape& s, Precision precision, ThreadPool& pool) {
  Data data(s);
  PackedMatrix packed;
  std::function<void()> body;
  if (s.product == Product::forward) {
    kernels.pack(packed, data.b.data(), s.n, s.k, true, precision, pool);
    body = [&] { kernels.multiply(data.a.data(), s.k, s.m, packed, data.c.data(), s.n, false, pool); };
  } else {
    body = [&] {
      kernels.weight_gradient(data.a.data(), s.m, data.b.data(), s.n, s.k, s.m, s.n, data.c.data(), precision, pool);
    };
  }
  return 2e-9 * s.m * s.n * s.k / seconds_of(pool.threads(), body);
}

struct Column {
  std::string name;
  int threads;
  std::function<double(const Shape&)> rate;
};

std::vector<Column> columns_for(ThreadPool& pool, const std::vector<std::string>& wanted) {
  std::vector<Column> columns;
  const auto asked = [&](const std::string& name) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  for (const char* name : {"avx2", "avx512", "avx512-bf16", "amx-bf16", "neon", "neon-bf16", "scalar"}) {
    const Kernels* kernels = find_kernels(name);
    if (!kernels || !asked(name)) continue;
    const Precision precision = kernels->bfloat16 ? Precision::bfloat16 : Precision::float32;
    columns.push_back({name, pool.threads(), [=, &pool](const Shape& s) { return rate(*kernels, s, precision, pool); }});
  }
#ifdef TROUPE_ONEDNN
  for (bool pairs : {false, true}) {
    const std::string name = pairs ? "onednn-bf16" : "onednn-f32";
    if (!asked(name)) continue;
    const int threads = pool.threads();
    columns.push_back({name, threads, [=](const Shape& s) {
      Data data(s);
      bench::OneDnnProduct product(data.a.data(), data.b.data(), data.c.data(), s.m, s.n, s.k,
                                   s.product == Product::weight_gradient, pairs, threads);
      return 2e-9 * s.m * s.n * s.k / seconds_of(threads, [&] { product.run(); });
    }});
  }
#endif
  return columns;
}

// Decoding reads every weight once for each sequence's next token: one row times all matrices of Qwen2.5-0.5B's shape,
// stored as bfloat16, beside reading the same bytes with the same threads. All are 988 MB, so that no cache holds one
// until its next turn. Each matrix counts with its best of `rounds`: other programs disturb some, not all.
void decode(const Kernels& kernels, ThreadPool& pool) {
  constexpr int layers = 24, rounds = 20, hidden = 896, vocabulary = 151936;
  const int outputs[] = {1152, 896, 9728, 896}, inputs[] = {896, 896, 896, 4864};
  const Precision precision = kernels.bfloat16 ? Precision::bfloat16 : Precision::float32;
  std::vector<PackedMatrix> matrices(4 * layers + 1);
  for (size_t i = 0; i < matrices.size(); ++i) {
    const bool head = i == 4 * layers;
    const auto ones = [&](int, int count, uint16_t* to) {
      std::fill_n(to, static_cast<size_t>(count) * (head ? hidden : inputs[i % 4]), uint16_t{0x3f80});
    };
    kernels.pack_rows(matrices[i], ones, head ? vocabulary : outputs[i % 4], head ? hidden : inputs[i % 4], precision, pool);
  }
  const std::vector<float> a(4864, 0.5f);
  std::vector<float> c(vocabulary);
  std::vector<uint64_t> sums(pool.threads() * 8);
  const auto product = [&](const PackedMatrix& b) { kernels.multiply(a.data(), b.k, 1, b, c.data(), b.n, false, pool); };
  const auto reading = [&](const PackedMatrix& b) {
    const uint64_t* words = reinterpret_cast<const uint64_t*>(b.data.data());
    pool.parallel(static_cast<int>(b.data.size() / 64), 1, [&](int begin, int end, int thread) {
      uint64_t sum[8] = {};
      for (const uint64_t* line = words + 8 * static_cast<size_t>(begin); line < words + 8 * static_cast<size_t>(end); line += 8)
        for (int i = 0; i < 8; ++i) sum[i] += line[i];
      for (uint64_t each : sum) sums[8 * thread] += each;
    });
  };
  std::vector<double> best(2 * matrices.size(), 1e30);
  for (int round = 0; round < 2 * rounds; ++round)
    for (size_t i = 0; i < matrices.size(); ++i) {
      const double start = now(pool.threads());
      round % 2 ? product(matrices[i]) : reading(matrices[i]);
      double& known = best[2 * i + round % 2];
      known = std::min(known, now(pool.threads()) - start);
    }
  double seconds[2] = {}, bytes = 0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    bytes += static_cast<double>(matrices[i].data.size());
    for (int what : {0, 1}) seconds[what] += best[2 * i + what];
  }
  std::printf("%-12s %d threads: %5.1f tokens/s, %5.1f GB/s; reading %5.1f GB/s; share %.0f %%\n", kernels.name,
              pool.threads(), 1 / seconds[1], 1e-9 * bytes / seconds[1], 1e-9 * bytes / seconds[0],
              100 * seconds[0] / seconds[1]);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> wanted;
  bool json = false, large = false, decoding = false;
  std::vector<int> thread_counts{1, 2};
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--json") == 0)
      json = true;
    else if (std::strcmp(arguments[i], "--large") == 0)
      large = true;
    else if (std::strcmp(arguments[i], "--decode") == 0)
      decoding = true;
    else if (std::strcmp(arguments[i], "--threads") == 0 && i + 1 < count)
      thread_counts = {std::max(1, std::atoi(arguments[++i]))};
    else
      wanted.push_back(arguments[i]);
  }
  for (int threads : thread_counts) {
    ThreadPool pool(threads);
    if (decoding) {
      const Kernels* named = wanted.empty() ? &best_kernels() : find_kernels(wanted[0].c_str());
      if (named) decode(*named, pool);
      continue;
    }
    const auto columns = columns_for(pool, wanted);
    if (!json) {
      std::printf("%-34s", (std::to_string(threads) + (threads > 1 ? " threads, GFLOP/s" : " thread, GFLOP/s")).c_str());
      for (const Column& column : columns) std::printf(" %12s", column.name.c_str());
      std::printf("\n");
    }
    for (const Shape& s : shapes) {
      if (large && 2e-9 * s.m * s.n * s.k < 1) continue;
      const char* name = s.product == Product::forward ? "multiply" : "weight_gradient";
      if (!json) std::printf("%-16s %5d x %4d x %5d", name, s.m, s.n, s.k);
      for (const Column& column : columns) {
        const double gflops = column.rate(s);
        if (json)
          std::printf("{\"product\":\"%s\",\"m\":%d,\"n\":%d,\"k\":%d,\"kernels\":\"%s\",\"threads\":%d,"
                      "\"gflops\":%.1f}\n", name, s.m, s.n, s.k, column.name.c_str(), threads, gflops);
        else
          std::printf(" %12.1f", gflops);
        std::fflush(stdout);
      }
      if (!json) std::printf("\n");
    }
  }
}
