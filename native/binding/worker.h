// One engine and the only thread that calls it. Jobs take effect in the order of submission; consecutive sampling jobs
// run together, and new ones join between two steps. No JavaScript here.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../engine/engine.h"

namespace troupe {

using JobId = uint64_t;

struct JobError {
  std::string code, message;
};

struct Job {
  JobId id = 0;
  std::string what;  // for messages: "forward_backward of 3 data, 120 tokens"
  // Exactly one of the two is set. `run` has finished when it returns.
  std::function<void(Engine&, const std::atomic<bool>& cancel)> run;
  std::function<void(std::vector<SampledSequence>&&)> sampled;
  SampleRequest request;
  std::shared_ptr<std::atomic<bool>> cancel = std::make_shared<std::atomic<bool>>(false);
};

class Worker {
 public:
  // Called once per job, on the engine's thread or on the one that called `cancel` or `stop`.
  using Finished = std::function<void(JobId, std::optional<JobError>)>;

  // Returns once the engine exists; throws what its constructor throws. `stopped` is the last callback.
  Worker(int threads, Precision precision, size_t cache_limit, Finished finished, std::function<void()> stopped);
  ~Worker();  // stops and joins: waits until the running job has checked its flag

  void submit(Job job);     // throws EngineError if stopping
  void cancel(JobId id);    // unknown and finished jobs are ignored
  void stop();              // cancels everything and returns at once; the engine is freed on its thread
  void join();

  const std::string& kernels() const { return kernels_; }
  int threads() const { return threads_; }
  Precision precision() const { return precision_; }
  size_t memory_bytes() const { return memory_bytes_.load(); }
  PromptTokens prompt_tokens() const { return {prompts_computed_.load(), prompts_reused_.load()}; }

 private:
  void main(int threads, Precision precision, size_t cache_limit, std::function<void(std::exception_ptr)> ready);
  void loop(Engine& engine);
  bool take(Engine& engine, std::vector<Job>& sampling, std::optional<Job>& exclusive);
  void wait_broken();
  void run(Engine& engine, Job& job);
  void start_sampling(Engine& engine, Job& job);
  bool step(Engine& engine);
  void abandon_sampling(const JobError& error);
  void finish_sampling(JobId id, std::optional<JobError> error);
  void finish(JobId id, std::optional<JobError> error);
  JobError describe(std::exception_ptr error, const std::string& what) const;

  Finished finished_;
  std::function<void()> stopped_;
  std::string kernels_;
  int threads_ = 0;
  Precision precision_ = Precision::float32;
  std::atomic<size_t> memory_bytes_{0};
  std::atomic<uint64_t> prompts_computed_{0}, prompts_reused_{0};

  std::mutex mutex_;  // guards the four below
  std::condition_variable wake_;
  std::deque<Job> queue_;
  std::unordered_map<JobId, std::shared_ptr<std::atomic<bool>>> flags_;  // of every unfinished job
  bool stopping_ = false;
  std::string broken_;  // why the engine failed
  // Current sampling; only used on the engine's thread.
  std::unordered_map<JobId, std::shared_ptr<std::atomic<bool>>> sampling_;
  std::thread thread_;
};

}  // namespace troupe
