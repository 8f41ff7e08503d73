// Continuous batching: requests wait, their prompts are computed together, and each step gives every active sequence of
// a model one token. Finished sequences leave at once; others take their places at the next step.
#pragma once
#include <deque>

#include "decoder.h"

namespace troupe {

class Sampler {
 public:
  // cache_limit: bytes of keys and values in use; one sequence runs whatever it takes.
  Sampler(const Machine& machine, size_t cache_limit);
  // The request is valid and its policy is resolved.
  void submit(std::shared_ptr<SampleJob> job);
  // Never throws because of a single request: that is reported to its `failed`.
  void step();
  bool idle() const;
  // Whether a request of this policy, or of an adapter on it, is unfinished.
  bool uses(const Policy& policy) const;
  // The same, but started: the weights must not change now.
  bool holds(const Policy& policy) const;
  void forget(const Model& model);
  // Frees what was computed with the weights of this policy, and of adapters on it: they are about to change.
  void drop_kept(const Policy& policy) { kept_.drop(policy); }
  PromptTokens prompt_tokens() const { return prompt_tokens_; }
  size_t bytes() const;
  size_t cache_limit() const { return pool_.limit(); }

 private:
  using Sequences = std::vector<std::unique_ptr<Sequence>>;
  // The sequences of one model and its adapters.
  struct Lane {
    Model* model;
    size_t most_active;
    Sequences active;                             // sorted by adapter
    std::deque<std::unique_ptr<Sequence>> ready;  // first token chosen, waiting for a place among the active
  };

  Lane& lane(Model* model);
  void drop_cancelled();
  void advance(Lane& lane);
  size_t cache_bytes(const ModelConfig& config, int capacity) const;
  bool make_room(size_t bytes);
  void admit_ready(Lane& lane);
  std::vector<std::shared_ptr<SampleJob>> take_waiting(const Lane& lane);
  void start(Lane& lane, const std::vector<std::shared_ptr<SampleJob>>& jobs);
  void decode(Lane& lane);
  using Verb = std::vector<Choice>& (Decoder::*)(Model& model, const std::vector<Sequence*>& sequences);
  void run(Model& model, Verb verb, size_t fewest_rows);
  size_t prepare_shards(const Model& model, size_t rows, size_t fewest_rows);
  void keep(Sequence& sequence) noexcept;
  void accept(const std::vector<Choice>& choices);
  void fail(SampleJob& job, const EngineError& error);
  void fail_lane(Lane& lane, const std::vector<std::shared_ptr<SampleJob>>& starting, const EngineError& error);
  void drop_ended(Lane& lane);
  void report();

  const Machine& machine_;
  CachePool pool_;
  KeptSequences kept_;
  PromptTokens prompt_tokens_;
  Decoder decoder_;
  // Of a small model, each thread computes some of the sequences alone.
  std::vector<std::unique_ptr<Shard<Decoder>>> shards_;
  std::deque<std::shared_ptr<SampleJob>> waiting_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::shared_ptr<SampleJob>> ended_;  // reported at the end of the step
  std::vector<Sequence*> batch_;
};

}  // namespace troupe
