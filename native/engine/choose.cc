#include "choose.h"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

constexpr uint64_t golden = 0x9E3779B97F4A7C15ull;

// SplitMix64's finaliser (Steele, Lea and Flood, 2014).
uint64_t mix(uint64_t z) {
  z += golden;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace

double uniform(uint64_t seed, uint64_t sequence, uint64_t token) {
  return static_cast<double>(mix(mix(mix(seed) ^ sequence) ^ token) >> 11) * 0x1.0p-53;
}

void TokenChooser::load(const Kernels& kernels, const float* logits, int vocab) {
  kernels_ = &kernels;
  logits_ = logits;
  vocab_ = vocab;
  summary_ = kernels.summarize_logits(logits, vocab);
}

ChosenToken TokenChooser::choose(const SampleRequest& request, double draw) {
  if (!std::isfinite(summary_.log_sum_exp)) return {0, 0, 0, false};
  const int32_t token = pick(request, draw);
  return {token, logits_[token] - summary_.log_sum_exp, summary_.entropy, true};
}

int32_t TokenChooser::pick(const SampleRequest& request, double draw) {
  if (request.temperature == 0) return greatest();
  fill_probabilities(request.temperature);
  const bool few = (request.top_k > 0 && request.top_k < vocab_) || request.top_p < 1;
  return few ? walk_best(request, draw) : walk(draw);
}

// The lowest id on ties.
int32_t TokenChooser::greatest() const {
  return static_cast<int32_t>(std::max_element(logits_, logits_ + vocab_) - logits_);
}

void TokenChooser::fill_probabilities(float temperature) {
  probabilities_.resize(vocab_);
  float* to = probabilities_.data();
  if (temperature == 1) return kernels_->softmax_scaled(logits_, summary_.log_sum_exp, 1.0f, to, vocab_);
  // The maximum is subtracted first: a tiny temperature must not overflow.
  for (int i = 0; i < vocab_; i++) to[i] = (logits_[i] - summary_.max) / temperature;
  kernels_->softmax_scaled(to, kernels_->summarize_logits(to, vocab_).log_sum_exp, 1.0f, to, vocab_);
}

// Rounding may leave the sum below `draw`; then the last token with nonzero probability is chosen.
int32_t TokenChooser::walk(double draw) const {
  const float* p = probabilities_.data();
  double below = 0;
  int i = 0;
  // Whole blocks in eight sums, which the processor adds in parallel.
  for (; i + 64 <= vocab_; i += 64) {
    float sums[8] = {};
    for (int j = 0; j < 64; j++) sums[j % 8] += p[i + j];
    double block = 0;
    for (float sum : sums) block += sum;
    if (below + block > draw) break;
    below += block;
  }
  for (; i < vocab_; i++) {
    below += p[i];
    if (below > draw) return i;
  }
  int last = vocab_ - 1;
  while (last > 0 && p[last] == 0) last--;
  return last;
}

// The candidates after top-k and top-p, most probable first.
void TokenChooser::find_best(const SampleRequest& request) {
  const float* p = probabilities_.data();
  auto better = [p](int32_t a, int32_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; };
  const bool top_k = request.top_k > 0 && request.top_k < vocab_;
  // Without top-k: tokens below this bound together have less than 1 − top_p, so none of them is in the nucleus.
  const float bound = top_k ? -1.0f : (1 - request.top_p) / static_cast<float>(vocab_);
  best_.clear();
  for (int32_t i = 0; i < vocab_; i++) {
    if (p[i] >= bound) best_.push_back(i);
  }
  if (top_k) {
    std::nth_element(best_.begin(), best_.begin() + (request.top_k - 1), best_.end(), better);
    best_.resize(request.top_k);
  }
  std::sort(best_.begin(), best_.end(), better);
  double total = 0, kept = 0;
  for (int32_t token : best_) total += p[token];
  const double wanted = request.top_p * (top_k ? total : 1.0);
  size_t count = 0;
  while (count < best_.size() && (count == 0 || kept < wanted)) kept += p[best_[count++]];
  best_.resize(count);
}

int32_t TokenChooser::walk_best(const SampleRequest& request, double draw) {
  find_best(request);
  double total = 0, below = 0;
  for (int32_t token : best_) total += probabilities_[token];
  for (int32_t token : best_) {
    below += probabilities_[token];
    if (below > draw * total) return token;
  }
  return best_.front();
}

}  // namespace troupe
