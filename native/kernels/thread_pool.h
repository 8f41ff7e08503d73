// A fixed set of threads that split loops statically: where parts begin depends only on the loop and the thread count, so
// results repeat bit for bit. Who computes a part does not matter: the caller takes those that no other thread has begun.
#pragma once
#include <functional>
#include <memory>

namespace troupe {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // ≥ 1, including the calling thread
  ~ThreadPool();
  int threads() const;
  // Calls body(begin, end, part) on contiguous parts of [0, n), at most one for each thread; returns when all are done.
  // Parts start at multiples of `grain`. Not reentrant. Exceptions from body are rethrown here.
  void parallel(int n, int grain, const std::function<void(int begin, int end, int part)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
