// Sequences that ended, whose keys and values are kept: a prompt that begins like one of them, the next turn of a
// conversation or the same prompt again, is computed from where they part.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "cache.h"
#include "policy.h"

namespace troupe {

// A prompt, shared by all sequences from it.
struct PromptCache {
  PromptCache(CachePool& pool, const ModelConfig& config, int positions_)
      : cache(pool, config, positions_), positions(positions_) {}
  KvCache cache;
  const int positions;
  int computed = 0;  // positions in the cache
  // The last one is always computed, because its output predicts the next token.
  int next() const { return std::min(computed, positions - 1); }
  int missing() const { return positions - next(); }
};

struct KeptSequence {
  std::shared_ptr<PromptCache> prompt;
  std::shared_ptr<KvCache> own;  // of the tokens after the prompt; null: there are none
  uint64_t used = 0;             // when it was kept or last found
};

// The first `positions` tokens of a prompt are those of a kept sequence.
struct Prefix {
  KeptSequence of;
  int positions = 0;
};

class KeptSequences {
 public:
  // Replaces one that these tokens continue.
  void keep(const Policy& policy, const std::vector<int32_t>& tokens, KeptSequence sequence);
  // The longest of those computed with the policy's present weights.
  Prefix find(const Policy& policy, const std::vector<int32_t>& prompt);
  // False: there is none.
  bool drop_oldest();
  // Of this policy, or of an adapter on it.
  void drop(const Policy& policy);

 private:
  // Versions of the model's and the adapter's weights, and the tokens: sequences that begin alike are neighbours.
  using Key = std::tuple<uint64_t, uint64_t, std::vector<int32_t>>;
  using Place = std::map<Key, KeptSequence>::iterator;
  static Key key(const Policy& policy, const std::vector<int32_t>& tokens);
  void used(Place at);
  Place erase(Place at);
  std::map<Key, KeptSequence> sequences_;
  std::map<uint64_t, Place> by_use_;  // the oldest first: of small models there are many thousands
  uint64_t clock_ = 0;
};

// The prompt's cache with the prefix in it: a kept prompt's own if it is the same prompt, otherwise a copy.
std::shared_ptr<PromptCache> begin_prompt(CachePool& pool, const ModelConfig& config, const Prefix& prefix, int positions);

}  // namespace troupe
