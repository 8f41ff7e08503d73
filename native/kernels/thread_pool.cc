#include "thread_pool.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {
namespace {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins briefly, because a product is often followed by the next one within microseconds and waking a sleeping thread
// takes longer; not for long, because the processor is shared with JavaScript and others. It does not yield: on a busy
// machine each yield may cost a whole time slice of another process, so that it is cheaper to sleep and be woken.
template <typename Ready>
bool spin_until(Ready ready) {
  constexpr auto limit = std::chrono::microseconds(40);
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() - start < limit);
  return ready();
}

}  // namespace

struct ThreadPool::State {
  using Body = std::function<void(int, int, int)>;

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable work, done;
  std::atomic<unsigned> round{0};
  std::atomic<int> pending{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  bool stop = false;
  const Body* body = nullptr;
  int units = 0, grain = 1, n = 0, parts = 1;
  std::exception_ptr failure;

  void run_part(int thread) {
    const int first = static_cast<int>(static_cast<long long>(units) * thread / parts) * grain;
    const int last = static_cast<int>(static_cast<long long>(units) * (thread + 1) / parts) * grain;
    const int end = last < n ? last : n;
    if (first >= end) return;
    try {
      (*body)(first, end, thread);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  void wait_for_round(unsigned seen) {
    if (spin_until([&] { return round.load(std::memory_order_acquire) != seen; })) return;
    std::unique_lock<std::mutex> lock(mutex);
    ++sleepers;
    work.wait(lock, [&] { return round.load() != seen; });
    --sleepers;
  }

  void serve(int thread) {
    for (unsigned seen = 0;; ++seen) {
      wait_for_round(seen);
      if (stop) return;
      run_part(thread);
      if (pending.fetch_sub(1) == 1 && caller_sleeps.load()) {
        std::lock_guard<std::mutex> lock(mutex);
        done.notify_one();
      }
    }
  }

  void start_round() {
    round.fetch_add(1);
    if (sleepers.load() == 0) return;
    std::lock_guard<std::mutex> lock(mutex);
    work.notify_all();
  }

  void wait_for_workers() {
    if (spin_until([&] { return pending.load(std::memory_order_acquire) == 0; })) return;
    std::unique_lock<std::mutex> lock(mutex);
    caller_sleeps.store(true);
    done.wait(lock, [&] { return pending.load() == 0; });
    caller_sleeps.store(false);
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  State* state = state_.get();
  state->parts = threads > 1 ? threads : 1;
  for (int thread = 1; thread < state->parts; ++thread)
    state->workers.emplace_back([state, thread] { state->serve(thread); });
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->start_round();
  for (auto& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return state_->parts; }

void ThreadPool::parallel(int n, int grain, const std::function<void(int, int, int)>& body) {
  if (n <= 0) return;
  State& state = *state_;
  if (grain < 1) grain = 1;
  const int units = (n + grain - 1) / grain;
  if (state.parts == 1 || units == 1) return body(0, n, 0);
  state.body = &body;
  state.units = units;
  state.grain = grain;
  state.n = n;
  state.pending.store(state.parts - 1);
  state.start_round();
  state.run_part(0);
  state.wait_for_workers();
  if (state.failure) {
    std::exception_ptr failure;
    std::swap(failure, state.failure);
    std::rethrow_exception(failure);
  }
}

}  // namespace troupe
