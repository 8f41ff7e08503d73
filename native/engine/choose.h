// Chooses the next token from one row of logits.
#pragma once
#include <cstdint>
#include <vector>

#include "engine.h"

namespace troupe {

struct ChosenToken {
  int32_t token = 0;
  float logprob = 0;     // at temperature 1 over the whole vocabulary
  float entropy = 0;     // of that distribution, nats
  bool finite = true;    // false: the logits are not finite, and the token is undefined
};

// A number in [0, 1) that depends only on these three, so that a sequence does not depend on its batch.
double uniform(uint64_t seed, uint64_t sequence, uint64_t token);

// Scratch memory of one thread; one row at a time.
class TokenChooser {
 public:
  void load(const Kernels& kernels, const float* logits, int vocab);
  // Temperature, then top-k, then top-p over the rest (the order of transformers' warpers). `draw` in [0, 1).
  ChosenToken choose(const SampleRequest& request, double draw);

 private:
  int32_t pick(const SampleRequest& request, double draw);
  int32_t greatest() const;
  void fill_probabilities(float temperature);
  int32_t walk(double draw) const;
  int32_t walk_best(const SampleRequest& request, double draw);
  void find_best(const SampleRequest& request);

  const Kernels* kernels_ = nullptr;
  const float* logits_ = nullptr;
  int vocab_ = 0;
  LogitSummary summary_{};
  std::vector<float> probabilities_;
  std::vector<int32_t> best_;
};

}  // namespace troupe
