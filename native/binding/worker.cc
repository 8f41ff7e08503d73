#include "worker.h"

#include <future>

namespace troupe {

namespace {
JobError cancelled(const std::string& what) { return {"cancelled", what + " was cancelled."}; }
}  // namespace

Worker::Worker(int threads, Precision precision, size_t cache_limit, Finished finished, std::function<void()> stopped)
    : finished_(std::move(finished)), stopped_(std::move(stopped)) {
  auto made = std::make_shared<std::promise<void>>();
  auto ready = [made](std::exception_ptr error) { error ? made->set_exception(error) : made->set_value(); };
  thread_ = std::thread([this, threads, precision, cache_limit, ready] { main(threads, precision, cache_limit, ready); });
  try {
    made->get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

Worker::~Worker() {
  stop();
  join();
}

void Worker::submit(Job job) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!broken_.empty()) throw EngineError("internal", "The engine stopped after a failure: " + broken_);
  if (stopping_) throw EngineError("bad_arguments", job.what + " was asked of an engine that is closed.");
  if (flags_.count(job.id)) throw EngineError("internal", "Job " + std::to_string(job.id) + " exists already.");
  flags_.emplace(job.id, job.cancel);
  queue_.push_back(std::move(job));
  wake_.notify_one();
}

void Worker::cancel(JobId id) {
  std::optional<Job> queued;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto flag = flags_.find(id);
    if (flag == flags_.end()) return;
    flag->second->store(true);
    for (auto job = queue_.begin(); job != queue_.end(); ++job) {
      if (job->id != id) continue;
      queued = std::move(*job);
      queue_.erase(job);
      break;
    }
  }
  if (queued) finish(id, cancelled(queued->what));
}

void Worker::stop() {
  std::deque<Job> dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    for (auto& flag : flags_) flag.second->store(true);
    dropped.swap(queue_);
    wake_.notify_one();
  }
  for (const Job& job : dropped) finish(job.id, cancelled(job.what));
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::main(int threads, Precision precision, size_t cache_limit, std::function<void(std::exception_ptr)> ready) {
  std::unique_ptr<Engine> engine;
  try {
    engine = std::make_unique<Engine>(threads, precision, cache_limit);
    kernels_ = engine->kernels();
    threads_ = engine->threads();
    const Kernels* kernels = find_kernels(engine->kernels());
    if (kernels && kernels->bfloat16) precision_ = engine->precision();  // otherwise products are float32 whatever was requested
  } catch (...) {
    ready(std::current_exception());
    return;
  }
  ready(nullptr);
  loop(*engine);
  engine.reset();
  memory_bytes_ = 0;
  stopped_();
}

void Worker::loop(Engine& engine) {
  std::vector<Job> sampling;
  std::optional<Job> exclusive;
  while (take(engine, sampling, exclusive)) {
    for (Job& job : sampling) start_sampling(engine, job);
    if (exclusive) run(engine, *exclusive);
    if (!engine.idle() && !step(engine)) return wait_broken();
    memory_bytes_ = engine.memory_bytes();
    const PromptTokens prompts = engine.prompt_tokens();
    prompts_computed_ = prompts.computed;
    prompts_reused_ = prompts.reused;
  }
}

// The engine has failed and is no longer used: pending and new jobs are rejected until it is closed.
void Worker::wait_broken() {
  std::deque<Job> dropped;
  std::unique_lock<std::mutex> lock(mutex_);
  dropped.swap(queue_);
  std::string reason = broken_;
  lock.unlock();
  for (const Job& job : dropped) finish(job.id, JobError{"internal", job.what + ": the engine had failed: " + reason});
  lock.lock();
  wake_.wait(lock, [this] { return stopping_; });
}

// Waits for work. False: stopping, and no sampling is left.
bool Worker::take(Engine& engine, std::vector<Job>& sampling, std::optional<Job>& exclusive) {
  sampling.clear();
  exclusive.reset();
  std::unique_lock<std::mutex> lock(mutex_);
  if (engine.idle()) wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (stopping_ && engine.idle()) return false;
  while (!queue_.empty() && queue_.front().sampled) {
    sampling.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  if (engine.idle() && sampling.empty() && !queue_.empty()) {
    exclusive = std::move(queue_.front());
    queue_.pop_front();
  }
  return true;
}

void Worker::run(Engine& engine, Job& job) {
  try {
    if (job.cancel->load()) throw EngineError("cancelled", job.what + " was cancelled.");
    job.run(engine, *job.cancel);
    finish(job.id, std::nullopt);
  } catch (...) {
    finish(job.id, describe(std::current_exception(), job.what));
  }
}

void Worker::start_sampling(Engine& engine, Job& job) {
  JobId id = job.id;
  auto done = [this, id, sampled = std::move(job.sampled)](std::vector<SampledSequence>&& sequences) {
    sampled(std::move(sequences));
    finish_sampling(id, std::nullopt);
  };
  auto failed = [this, id](const EngineError& error) { finish_sampling(id, JobError{error.code, error.what()}); };
  sampling_.emplace(id, job.cancel);
  try {
    engine.submit(std::move(job.request), job.cancel, std::move(done), std::move(failed));
  } catch (...) {
    finish_sampling(id, describe(std::current_exception(), job.what));
  }
}

// A step that fails as a whole (such as out of memory) fails all current sampling; the engine then drops those
// sequences, because they are cancelled. False: even that failed.
bool Worker::step(Engine& engine) {
  try {
    engine.sample_step();
    return true;
  } catch (...) {
    abandon_sampling(describe(std::current_exception(), "Sampling"));
  }
  try {
    while (!engine.idle()) engine.sample_step();
    return true;
  } catch (...) {
    std::lock_guard<std::mutex> lock(mutex_);
    broken_ = describe(std::current_exception(), "Sampling").message;
    return false;
  }
}

void Worker::abandon_sampling(const JobError& error) {
  auto abandoned = std::move(sampling_);
  sampling_.clear();
  for (auto& [id, cancel] : abandoned) {
    cancel->store(true);
    finish(id, error);
  }
}

void Worker::finish_sampling(JobId id, std::optional<JobError> error) {
  sampling_.erase(id);
  finish(id, std::move(error));
}

// The first result of a job counts; later ones are dropped.
void Worker::finish(JobId id, std::optional<JobError> error) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!flags_.erase(id)) return;
  }
  finished_(id, std::move(error));
}

JobError Worker::describe(std::exception_ptr error, const std::string& what) const {
  try {
    std::rethrow_exception(error);
  } catch (const EngineError& known) {
    return {known.code, known.what()};
  } catch (const std::bad_alloc&) {
    return {"no_memory", what + ": there was not enough memory; the engine already holds " +
                             std::to_string(memory_bytes_.load()) + " bytes."};
  } catch (const std::exception& unknown) {
    return {"internal", what + ": " + unknown.what()};
  } catch (...) {
    return {"internal", what + ": unknown failure in the engine."};
  }
}

}  // namespace troupe
