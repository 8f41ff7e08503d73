#include "thread_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = long long;

Nanoseconds now() { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count(); }

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
  constexpr Nanoseconds limit = 40'000;
  const Nanoseconds start = now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (now() - start < limit);
  return ready();
}

constexpr Nanoseconds millisecond = 1'000'000;

// Whether another thread got this thread's processor since the last call.
bool lost_processor() {
#ifdef RUSAGE_THREAD
  thread_local long before = 0;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return std::exchange(before, usage.ru_nivcsw) != usage.ru_nivcsw;
#else
  return false;
#endif
}

}  // namespace

// When helpers are not worth waking. On a busy machine one may lose its processor in the middle of a short part, and the
// caller waits a time slice for what takes microseconds. If that costs more than helpers save, they rest for a while.
class Rest {
 public:
  bool lasts(Nanoseconds at) const { return at < until_.load(std::memory_order_relaxed); }
  void account(Nanoseconds at, Nanoseconds lost, Nanoseconds saved) {
    loss_ = std::max<Nanoseconds>(0, loss_ + lost - saved);
    if (loss_ < millisecond) return;
    // First as long as what was lost, which may have been bad luck; longer each time that helpers cost too much again
    // soon. A computer that was suspended does not rest for hours.
    times_ = at < until_.load(std::memory_order_relaxed) + length_ ? std::min(2 * times_, 16) : 1;
    length_ = times_ * std::min(loss_, 10 * millisecond);
    until_.store(at + length_, std::memory_order_relaxed);
    loss_ = 0;
  }

 private:
  std::atomic<Nanoseconds> until_{0};
  Nanoseconds loss_ = 0, length_ = 0;
  int times_ = 1;
};

struct ThreadPool::State {
  using Body = std::function<void(int, int, int)>;

  // In a cache line of its own.
  struct alignas(64) Part {
    std::atomic<unsigned> begun{0};  // the last round in which it was
    // By a helper; 0 by the caller.
    Nanoseconds took = 0;
    bool interrupted = false;
  };

  explicit State(int count) : parts(count), each(std::make_unique<Part[]>(count)) {}

  const int parts;
  const std::unique_ptr<Part[]> each;
  std::vector<std::thread> helpers;
  std::mutex mutex;
  std::condition_variable work, done;
  std::atomic<unsigned> round{0};
  std::atomic<int> pending{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  Rest rest;
  // The fields below are read only by a thread that has begun a part: until the part ends, the caller waits and changes
  // nothing.
  bool stop = false;
  const Body* body = nullptr;
  int units = 0, grain = 1, n = 0;
  std::exception_ptr failure;

  // Whether this thread is the first to begin the part. Every part is begun in every round, so that a helper which comes
  // rounds too late begins none.
  bool begin(int part, unsigned current) {
    unsigned before = current - 1;
    return each[part].begun.compare_exchange_strong(before, current);
  }

  void run(int part) {
    const int first = static_cast<int>(static_cast<long long>(units) * part / parts) * grain;
    const int last = static_cast<int>(static_cast<long long>(units) * (part + 1) / parts) * grain;
    const int end = last < n ? last : n;
    if (first >= end) return;
    try {
      (*body)(first, end, part);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  }

  unsigned wait_for_round(unsigned seen) {
    const auto begun = [&] { return round.load() != seen; };
    if (rest.lasts(now())) {
      // Nobody wakes a helper that rests, so it looks itself whether a long round needs it.
      std::this_thread::sleep_for(std::chrono::nanoseconds(millisecond));
    } else if (!spin_until(begun)) {
      std::unique_lock<std::mutex> lock(mutex);
      ++sleepers;
      work.wait(lock, begun);
      --sleepers;
    }
    return round.load();
  }

  void serve(int part) {
    for (unsigned seen = 0;;) {
      seen = wait_for_round(seen);
      if (!begin(part, seen)) continue;
      if (stop) return;
      const Nanoseconds start = now();
      run(part);
      each[part].took = now() - start;
      each[part].interrupted = each[part].took > millisecond && lost_processor();
      if (pending.fetch_sub(1) == 1 && caller_sleeps.load()) {
        std::lock_guard<std::mutex> lock(mutex);
        done.notify_one();
      }
    }
  }

  unsigned start_round() { return round.fetch_add(1) + 1; }

  void wake() {
    if (sleepers.load() == 0) return;
    std::lock_guard<std::mutex> lock(mutex);
    work.notify_all();
  }

  // The caller computes its own part and those whose helpers have not begun.
  void run_all() {
    const Nanoseconds start = now();
    const unsigned current = start_round();
    bool asleep = rest.lasts(start);
    if (!asleep) wake();
    const Nanoseconds started = now();
    int own = 0;
    for (int part = 0; part < parts; ++part) {
      if (!begin(part, current)) continue;
      run(part);
      each[part].took = 0;
      ++own;
      // Helpers that went to sleep before the rest do not look themselves.
      if (!asleep || now() - started < millisecond) continue;
      wake();
      asleep = false;
    }
    const Nanoseconds ran = now();
    if (pending.fetch_sub(own) != own) wait_for_helpers();
    const Nanoseconds end = now();
    Nanoseconds saved = 0;
    for (int i = 0; i < parts; ++i) {
      const Part& part = each[i];
      saved += part.interrupted ? std::min(part.took, (ran - started) / own) : part.took;
    }
    rest.account(end, (started - start) + (end - ran), saved);
  }

  void wait_for_helpers() {
    if (spin_until([&] { return pending.load(std::memory_order_acquire) == 0; })) return;
    std::unique_lock<std::mutex> lock(mutex);
    caller_sleeps.store(true);
    done.wait(lock, [&] { return pending.load() == 0; });
    caller_sleeps.store(false);
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>(threads > 1 ? threads : 1)) {
  State* state = state_.get();
  for (int part = 1; part < state->parts; ++part)
    state->helpers.emplace_back([state, part] { state->serve(part); });
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->start_round();
  state_->wake();
  for (auto& helper : state_->helpers) helper.join();
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
  state.pending.store(state.parts);
  state.run_all();
  if (state.failure) {
    std::exception_ptr failure;
    std::swap(failure, state.failure);
    std::rethrow_exception(failure);
  }
}

}  // namespace troupe
