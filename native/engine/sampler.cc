#include "sampler.h"

#include <algorithm>
#include <functional>
#include <string>

namespace troupe {

namespace {

// Of a model whose weights are cheap to read again from the processor's cache.
constexpr size_t cached_parameters = size_t{1} << 22;

// Sequences decoded together. A step reads the model's weights once and each sequence's keys and values, and its threads
// wait for one another after every product, so many sequences are decoded at a time. Of a small model they are fewer:
// their keys and values then stay cached too.
size_t most_active(const Model& model, int threads) {
  const size_t times = 1 + model.parameter_count() / cached_parameters;
  return 8 * threads * std::clamp<size_t>(times, 4, 8);
}

Adapter* adapter_of(const std::unique_ptr<Sequence>& sequence) { return sequence->job->policy.adapter; }

bool concerns(const SampleJob& job, const Policy& policy) {
  return policy.adapter ? job.policy.adapter == policy.adapter : job.policy.model == policy.model;
}

bool ended(const std::unique_ptr<Sequence>& sequence) { return sequence->finished || sequence->job->error; }

template <typename List, typename Wanted>
void erase_where(List& list, Wanted wanted) {
  list.erase(std::remove_if(list.begin(), list.end(), wanted), list.end());
}

// Makes requests of one policy with the same prompt adjacent.
void sort_by_prompt(std::vector<std::shared_ptr<SampleJob>>& jobs) {
  std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) {
    if (a->policy.adapter != b->policy.adapter) return std::less<Adapter*>()(a->policy.adapter, b->policy.adapter);
    return a->request.prompt < b->request.prompt;
  });
}

}  // namespace

Sampler::Sampler(const Machine& machine, size_t cache_limit)
    : machine_(machine), pool_(cache_limit, machine.narrow_keys()), decoder_(machine) {}

void Sampler::submit(std::shared_ptr<SampleJob> job) { waiting_.push_back(std::move(job)); }

bool Sampler::idle() const {
  if (!waiting_.empty()) return false;
  for (const auto& lane : lanes_) {
    if (!lane->active.empty() || !lane->ready.empty()) return false;
  }
  return true;
}

bool Sampler::uses(const Policy& policy) const {
  for (const auto& job : waiting_) {
    if (concerns(*job, policy)) return true;
  }
  return holds(policy);
}

bool Sampler::holds(const Policy& policy) const {
  for (const auto& lane : lanes_) {
    for (const auto& sequence : lane->active) {
      if (concerns(*sequence->job, policy)) return true;
    }
    for (const auto& sequence : lane->ready) {
      if (concerns(*sequence->job, policy)) return true;
    }
  }
  return false;
}

void Sampler::forget(const Model& model) {
  erase_where(lanes_, [&](const auto& lane) { return lane->model == &model; });
}

Sampler::Lane& Sampler::lane(Model* model) {
  for (const auto& lane : lanes_) {
    if (lane->model == model) return *lane;
  }
  lanes_.push_back(std::make_unique<Lane>());
  lanes_.back()->model = model;
  lanes_.back()->most_active = most_active(*model, machine_.pool.threads());
  return *lanes_.back();
}

void Sampler::step() {
  drop_cancelled();
  for (const auto& job : waiting_) lane(job->policy.model);
  for (size_t i = 0; i < lanes_.size(); i++) advance(*lanes_[i]);
  report();
}

void Sampler::advance(Lane& lane) {
  std::vector<std::shared_ptr<SampleJob>> starting;
  try {
    admit_ready(lane);
    while (lane.ready.empty() && lane.active.size() < lane.most_active) {
      starting = take_waiting(lane);
      if (starting.empty()) break;
      start(lane, starting);
      starting.clear();
      admit_ready(lane);
    }
    decode(lane);
  } catch (const EngineError& error) {
    fail_lane(lane, starting, error);
  } catch (const std::bad_alloc&) {
    pool_.drop_spare();
    fail_lane(lane, starting, EngineError("no_memory", "sampling from \"" + lane.model->name +
                                                           "\" ran out of memory; ask for fewer or shorter sequences"));
  }
}

size_t Sampler::cache_bytes(const ModelConfig& config, int capacity) const {
  return KvCache::bytes(config, capacity, pool_.narrow());
}

// Whether so many more bytes fit under the limit: kept sequences give way to those that run.
bool Sampler::make_room(size_t bytes) {
  while (!pool_.fits(bytes)) {
    if (!kept_.drop_oldest()) return false;
  }
  return true;
}

// One sequence runs whatever it takes: otherwise a long one could never run.
void Sampler::admit_ready(Lane& lane) {
  while (!lane.ready.empty() && lane.active.size() < lane.most_active) {
    Sequence& sequence = *lane.ready.front();
    const int capacity = sequence.job->own_capacity();
    const ModelConfig& config = lane.model->config;
    if (!make_room(cache_bytes(config, capacity)) && !lane.active.empty()) return;
    sequence.own = std::make_unique<KvCache>(pool_, config, capacity);
    auto place = std::upper_bound(lane.active.begin(), lane.active.end(), lane.ready.front(), [](auto& a, auto& b) {
      return std::less<Adapter*>()(adapter_of(a), adapter_of(b));
    });
    lane.active.insert(place, std::move(lane.ready.front()));
    lane.ready.pop_front();
  }
}

// The requests, in order of arrival, whose sequences find a place and whose prompts fit into one batch.
std::vector<std::shared_ptr<SampleJob>> Sampler::take_waiting(const Lane& lane) {
  std::vector<std::shared_ptr<SampleJob>> jobs;
  jobs.reserve(waiting_.size());  // so that no request is lost if memory runs out
  size_t rows = 0, bytes = 0, sequences = lane.active.size();
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    SampleJob& job = **at;
    if (job.policy.model != lane.model) {
      ++at;
      continue;
    }
    const ModelConfig& config = lane.model->config;
    const size_t prompt = job.request.prompt.size();
    const size_t more = cache_bytes(config, static_cast<int>(prompt)) +
                        cache_bytes(config, job.own_capacity()) * job.request.count;
    Prefix prefix = kept_.find(job.policy, job.request.prompt);
    const size_t to_compute = std::max<size_t>(1, prompt - prefix.positions);
    if (!jobs.empty() && (sequences >= lane.most_active || rows + to_compute > prefill_rows)) break;
    if (!make_room(bytes + more) && !(jobs.empty() && lane.active.empty())) break;
    rows += to_compute;
    job.prefix = std::move(prefix);
    bytes += more;
    sequences += job.request.count;
    jobs.push_back(std::move(*at));
    at = waiting_.erase(at);
  }
  return jobs;
}

void Sampler::start(Lane& lane, const std::vector<std::shared_ptr<SampleJob>>& arrivals) {
  std::vector<std::shared_ptr<SampleJob>> jobs = arrivals;
  sort_by_prompt(jobs);
  Sequences sequences;
  std::shared_ptr<PromptCache> prompt;
  for (size_t i = 0; i < jobs.size(); i++) {
    const std::vector<int32_t>& tokens = jobs[i]->request.prompt;
    const bool same = i > 0 && jobs[i]->policy == jobs[i - 1]->policy && tokens == jobs[i - 1]->request.prompt;
    if (!same) {
      prompt = begin_prompt(pool_, lane.model->config, jobs[i]->prefix, static_cast<int>(tokens.size()));
      prompt_tokens_.reused += prompt->next();
      prompt_tokens_.computed += prompt->missing();
    }
    jobs[i]->prefix = {};
    for (int index = 0; index < jobs[i]->request.count; index++) {
      sequences.push_back(std::make_unique<Sequence>());
      sequences.back()->job = jobs[i];
      sequences.back()->prompt = prompt;
      sequences.back()->index = index;
    }
  }
  batch_.clear();
  for (const auto& sequence : sequences) batch_.push_back(sequence.get());
  run(*lane.model, &Decoder::prefill, 64);
  for (auto& sequence : sequences) {
    if (ended(sequence)) {
      keep(*sequence);
    } else {
      lane.ready.push_back(std::move(sequence));
    }
  }
}

void Sampler::decode(Lane& lane) {
  if (lane.active.empty()) return;
  batch_.clear();
  for (const auto& sequence : lane.active) batch_.push_back(sequence.get());
  run(*lane.model, &Decoder::decode, 8);
  drop_ended(lane);
}

namespace {

// Rows that a step computes for a sequence. Adjacent sequences with the same prompt share those of the prompt.
size_t rows_of(const std::vector<Sequence*>& sequences, size_t i, bool prompts) {
  if (!prompts) return 1;
  const bool shared = i > 0 && sequences[i]->prompt == sequences[i - 1]->prompt;
  return shared ? 0 : sequences[i]->prompt->missing();
}

}  // namespace

// How many there are for so many rows.
size_t Sampler::prepare_shards(const Model& model, size_t rows, size_t fewest_rows) {
  const size_t threads = machine_.pool.threads();
  if (model.parameter_count() > cached_parameters || rows < threads * fewest_rows) return 1;
  while (shards_.size() < threads) {
    shards_.push_back(std::make_unique<Shard<Decoder>>(machine_, static_cast<int>(shards_.size())));
  }
  return threads;
}

// One step of the batch. A token does not depend on how the sequences are divided.
void Sampler::run(Model& model, Verb verb, size_t fewest_rows) {
  const bool prompts = verb == &Decoder::prefill;
  size_t total = 0;
  int positions = 0;
  for (size_t i = 0; i < batch_.size(); i++) {
    total += rows_of(batch_, i, prompts);
    positions = std::max(positions, prompts ? batch_[i]->prompt->positions : batch_[i]->position() + 1);
  }
  const size_t shards = prepare_shards(model, total, fewest_rows);
  if (shards == 1) return accept((decoder_.*verb)(model, batch_));
  std::vector<std::vector<Sequence*>> parts(shards);
  for (size_t i = 0, rows = 0, part = 0; i < batch_.size(); i++) {
    const size_t more = rows_of(batch_, i, prompts);
    if (more > 0) part = std::min(rows * shards / total, shards - 1);
    rows += more;
    parts[part].push_back(batch_[i]);
  }
  model.pack_forward(machine_);
  model.prepare_positions(positions);
  for (const Sequence* sequence : batch_) {
    if (Adapter* adapter = sequence->job->policy.adapter) adapter->pack(machine_);
  }
  std::vector<const std::vector<Choice>*> choices(shards);
  machine_.pool.parallel(static_cast<int>(shards), 1, [&](int begin, int end, int) {
    for (int i = begin; i < end; i++) {
      if (!parts[i].empty()) choices[i] = &(shards_[i]->work.*verb)(model, parts[i]);
    }
  });
  for (const std::vector<Choice>* chosen : choices) {
    if (chosen) accept(*chosen);
  }
}

size_t Sampler::bytes() const {
  size_t total = pool_.bytes() + decoder_.bytes();
  for (const auto& shard : shards_) total += shard->work.bytes();
  return total;
}

// Of a sequence that ended. Its last token was never fed. A cache that is at least half empty is exchanged for a smaller.
void Sampler::keep(Sequence& sequence) noexcept try {
  const SampleJob& job = *sequence.job;
  if (!sequence.finished || job.error || !job.request.continued) return;
  const std::vector<int32_t>& sampled = sequence.result().tokens;
  std::vector<int32_t> tokens = job.request.prompt;
  tokens.insert(tokens.end(), sampled.begin(), sampled.begin() + sequence.cached);
  std::shared_ptr<KvCache> own = std::move(sequence.own);
  const ModelConfig& config = job.policy.model->config;
  if (own && 2 * cache_bytes(config, sequence.cached) <= cache_bytes(config, own->capacity())) {
    auto smaller = std::make_shared<KvCache>(pool_, config, sequence.cached);
    smaller->copy(*own, sequence.cached, 0);
    own = std::move(smaller);
  }
  kept_.keep(job.policy, tokens, {sequence.prompt, std::move(own)});
  make_room(0);
} catch (const std::bad_alloc&) {
  // Then what continues it is computed from the beginning.
}

void Sampler::accept(const std::vector<Choice>& choices) {
  for (const Choice& choice : choices) {
    SampleJob& job = *choice.sequence->job;
    if (job.error) continue;
    if (!choice.chosen.finite) {
      fail(job, EngineError("bad_model", "policy \"" + job.request.policy +
                                             "\": its logits are not finite; the weights have diverged or are damaged"));
      ended_.push_back(choice.sequence->job);
      continue;
    }
    if (!append_token(*choice.sequence, choice.chosen)) continue;
    choice.sequence->finished = true;
    if (--job.unfinished == 0) ended_.push_back(choice.sequence->job);
  }
}

void Sampler::fail(SampleJob& job, const EngineError& error) { job.error = std::make_unique<EngineError>(error); }

void Sampler::fail_lane(Lane& lane, const std::vector<std::shared_ptr<SampleJob>>& starting, const EngineError& error) {
  auto end = [&](const std::shared_ptr<SampleJob>& job) {
    if (job->error || job->unfinished == 0) return;
    fail(*job, error);
    ended_.push_back(job);
  };
  for (const auto& job : starting) end(job);
  for (const auto& sequence : lane.active) end(sequence->job);
  for (const auto& sequence : lane.ready) end(sequence->job);
  drop_ended(lane);
}

void Sampler::drop_cancelled() {
  auto end = [&](const std::shared_ptr<SampleJob>& job) {
    if (job->error || !job->cancelled()) return;
    fail(*job, EngineError("cancelled", "sampling from \"" + job->request.policy + "\" was cancelled"));
    ended_.push_back(job);
  };
  for (const auto& job : waiting_) end(job);
  erase_where(waiting_, [](const auto& job) { return job->error != nullptr; });
  for (const auto& lane : lanes_) {
    for (const auto& sequence : lane->active) end(sequence->job);
    for (const auto& sequence : lane->ready) end(sequence->job);
    drop_ended(*lane);
  }
}

void Sampler::drop_ended(Lane& lane) {
  for (const auto& sequence : lane.active) keep(*sequence);
  erase_where(lane.active, ended);
  erase_where(lane.ready, ended);
}

// Callbacks run when the step's own state is consistent, because they may submit.
void Sampler::report() {
  std::vector<std::shared_ptr<SampleJob>> over;
  over.swap(ended_);
  for (const auto& job : over) {
    if (job->error) {
      job->failed(*job->error);
    } else {
      job->done(std::move(job->results));
    }
  }
}

}  // namespace troupe
