// How evenly work is split between threads, by the code that splits it: real pools, products that only count. What is
// not covered is the machine: whether memory and caches let so many threads compute at once.
#include <algorithm>
#include <mutex>
#include <numeric>

#include "../engine/rows.h"
#include "../kernels/products.h"
#include "engine_check.h"

namespace troupe::test {
namespace {

std::mutex mutex;
std::vector<double> cells;  // the work of each cell of a product: a thread has at most one

void count_cell(const ProductArguments&, Range rows, Range columns, uint8_t*) {
  std::lock_guard<std::mutex> lock(mutex);
  cells.push_back(static_cast<double>(rows.end - rows.begin) * (columns.end - columns.begin));
}

// The busiest thread's work, as a multiple of the mean of all threads.
double busiest(const std::vector<double>& work, int threads) {
  const double total = std::accumulate(work.begin(), work.end(), 0.0);
  return *std::max_element(work.begin(), work.end()) * threads / total;
}

double of_product(ThreadPool& pool, int panel, int rows, int n, int k) {
  const auto bytes = [](int) { return size_t{0}; };
  const ProductKernels counting{panel, 1, 16, 1, bytes, nullptr, count_cell, nullptr};
  PackedMatrix b;
  b.k = k;
  b.n = n;
  cells.clear();
  multiply_with(counting, nullptr, k, rows, b, nullptr, n, false, pool);
  return busiest(cells, pool.threads());
}

// Tasks of these costs, as in attention.
double of_tasks(ThreadPool& pool, const std::vector<double>& costs) {
  std::vector<double> cumulated(costs.size()), work(pool.threads());
  std::partial_sum(costs.begin(), costs.end(), cumulated.begin());
  parallel_tasks(pool, cumulated, [&](int task, int thread) { work[thread] += costs[task]; });
  return busiest(work, pool.threads());
}

double of_rows(ThreadPool& pool, int n, int grain) {
  std::vector<double> work(pool.threads());
  parallel_rows(pool, n, grain, [&](int begin, int end, int thread) { work[thread] += end - begin; });
  return busiest(work, pool.threads());
}

}  // namespace

// Qwen2.5-0.5B's products. A matrix of few columns cannot keep 64 threads busy with one row; memory limits those.
void check_threads(Report& report, bool print) {
  const struct { const char* name; int n, k; } sites[] = {
      {"qkv", 1152, 896}, {"output", 896, 896}, {"gate, up", 9728, 896}, {"down", 896, 4864}, {"head", 151936, 896}};
  if (print) std::printf("the busiest thread's work, as a multiple of the mean\n%-10s %5s %6s %6s %6s %6s %6s\n", "", "rows", "1", "2", "4", "16", "64");
  for (const auto& site : sites)
    for (int rows : {1, 8, 64, 2048}) {
      if (print) std::printf("%-10s %5d", site.name, rows);
      for (int threads : {1, 2, 4, 16, 64}) {
        ThreadPool pool(threads);
        const double seen = of_product(pool, 16, rows, site.n, site.k);
        if (print) std::printf(" %6.2f", seen);
        const bool fine = seen <= (rows >= 64 ? 1.15 : threads <= 16 ? 1.3 : 2.3);
        report.check(fine, std::string("a product's split: ") + site.name + ", " + std::to_string(rows) + " rows, " + std::to_string(threads) + " threads");
      }
      if (print) std::printf("\n");
    }
  // One sequence of 2,048 tokens: 14 heads in blocks of 128 queries forward, 14 heads backward.
  std::vector<double> queries;
  for (int head = 0; head < 14; head++)
    for (int first = 0; first < 2048; first += 128) queries.push_back(8 + 128 * (first + 64.0));
  // An adapter of rank 16 has 537 parts of 2¹⁴ numbers.
  const struct { const char* name; std::function<double(ThreadPool&)> of; double most; } others[] = {
      {"attention forward", [&](ThreadPool& pool) { return of_tasks(pool, queries); }, 1.6},
      {"attention backward", [](ThreadPool& pool) { return of_tasks(pool, std::vector<double>(14, 1)); }, 4.6},
      {"attention backward, 8 sequences", [](ThreadPool& pool) { return of_tasks(pool, std::vector<double>(112, 1)); }, 1.3},
      {"optimiser", [](ThreadPool& pool) { return of_rows(pool, 537, 1); }, 1.1}};
  for (const auto& other : others) {
    if (print) std::printf("%-32s", other.name);
    for (int threads : {1, 2, 4, 16, 64}) {
      ThreadPool pool(threads);
      const double seen = other.of(pool);
      if (print) std::printf(" %6.2f", seen);
      report.check(seen <= other.most, std::string(other.name) + " on " + std::to_string(threads) + " threads", seen, other.most);
    }
    if (print) std::printf("\n");
  }
}

}  // namespace troupe::test
