// Every kernel set that this processor supports, compared with references in double precision. Prints one line per set
// and per failed check; exits 1 if any failed. With an argument: that set only.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels_check.h"

namespace troupe::test {
namespace {

// Parts of loops on a machine that is busy, where helpers come too late to some of them.
void check_busy_pool(Report& report, int threads) {
  std::atomic<bool> busy{true};
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 2 * std::max(1u, std::thread::hardware_concurrency()); ++i)
    others.emplace_back([&] { while (busy.load()) continue; });
  ThreadPool pool(threads);
  bool same = true;
  for (int round = 0; round < 2000; ++round) {
    const int n = threads + round % 7;
    std::vector<std::atomic<int>> owner(n), calls(threads);
    pool.parallel(n, 1, [&](int begin, int end, int part) {
      ++calls[part];
      for (int i = begin; i < end; ++i) owner[i] += 1 + part;
    });
    for (auto& count : calls) same = same && count == 1;
    for (int part = 0; part < threads; ++part)
      for (int i = n * part / threads; i < n * (part + 1) / threads; ++i) same = same && owner[i] == 1 + part;
  }
  busy.store(false);
  for (auto& other : others) other.join();
  report.check(same, "the pool runs each part once, with the same indices, whoever is late");
}

void check_pool(Report& report) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (int n : {0, 1, 5, 16, 1000})
      for (int grain : {1, 4, 16}) {
        std::vector<std::atomic<int>> visits(n);
        std::atomic<int> misaligned{0};
        pool.parallel(n, grain, [&](int begin, int end, int) {
          if (begin % grain) ++misaligned;
          for (int i = begin; i < end; ++i) ++visits[i];
        });
        bool once = misaligned == 0;
        for (auto& visit : visits) once = once && visit == 1;
        report.check(once, "the pool visits every index once, parts at multiples of the grain");
      }
    bool caught = false;
    try {
      pool.parallel(100, 1, [](int begin, int, int) { if (begin == 0) throw std::runtime_error("from a part"); });
    } catch (const std::runtime_error&) {
      caught = true;
    }
    report.check(caught, "the pool rethrows a part's exception");
    std::atomic<int> total{0};
    for (int i = 0; i < 200; ++i) {
      if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // lets the workers fall asleep
      pool.parallel(threads, 1, [&](int begin, int end, int) { total += end - begin; });
    }
    report.check(total == 200 * threads, "the pool works after a failure and after sleep");
    check_busy_pool(report, threads);
  }
}

}  // namespace
}  // namespace troupe::test

int main(int count, char** arguments) {
  using namespace troupe;
  int failures = 0, sets = 0;
  test::Report pool{"pool"};
  test::check_pool(pool);
  failures += pool.failures;
  for (const char* name :
       {"scalar", "avx2", "avx512", "avx512-bf16", "amx-emulated", "amx-bf16", "neon", "neon-bf16"}) {
    const Kernels* kernels = find_kernels(name);
    if (!kernels || (count > 1 && std::strcmp(arguments[1], name) != 0)) continue;
    test::Report report{name};
    test::check_products(*kernels, report);
    // Sets with bfloat16 share the row-wise kernels of the set below them; checking them again costs little.
    test::check_rows(*kernels, report);
    test::check_attention(*kernels, report);
    std::printf("%s: %d checks, %d failed\n", name, report.checks, report.failures);
    failures += report.failures;
    ++sets;
  }
  std::printf("best: %s\n", best_kernels().name);
  return failures > 0 || sets == 0;
}
