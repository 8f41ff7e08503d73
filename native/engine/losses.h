// The terms of the losses, one for each token. All are sums over tokens, as in the Tinker protocol.
//   cross_entropy        −w·log p
//   importance_sampling  −ρ·A
//   ppo                  −min(ρ·A, clip(ρ, 1−low, 1+high)·A)   (Schulman et al., 2017, eq. 7; two bounds as in DAPO)
//     with a dual clip c −max(min(ρ·A, clip(ρ)·A), c·A) where A < 0   (Ye et al., arXiv:1912.09729, eq. 5)
//   cispo                −clip(ρ, 1−low, 1+high)·A·log p, the clipped ratio being a constant (arXiv:2506.13585, eq. 4)
//   value                ½·w·max((v − target)², (clip(v, old ± ε) − target)²)   (OpenAI baselines' ppo2)
// The ratio ρ is exp(log p − log p_old), or that of the whole continuation, exp(mean(log p − log p_old)) (GSPO, Zheng et
// al., arXiv:2507.18071, eq. 7). The mean is over all tokens of the continuation that its mask counts, whatever their
// advantages. importance_sampling, ppo and cispo may add a penalty β·k for the divergence from a reference (joschu.net/blog/kl-approx.html),
// with d = log p − log p_reference: k1 = d, k2 = d²/2, k3 = exp(−d) − 1 + d. In k3, d is clamped to ±10.
// They may also subtract a bonus c·w·H, H being the entropy of the distribution that predicts the token; its gradient
// is exact: ∂H/∂logit = −p·(log p + H).
#pragma once
#include "batch.h"

namespace troupe {

struct TokenLoss {
  double loss = 0;
  float slope = 0;  // −∂loss/∂(log p), or −∂loss/∂v
  float bonus = 0;  // coefficient of the entropy of its row
  double kl = 0;    // ρ − 1 − log ρ of the token's own ratio
  double reference_kl = 0;  // k3
  bool clipped = false;
};

// Whether the token is in sums.
inline bool counts(const Target& target) {
  const std::vector<float>& mask = target.continuation->mask;
  return mask.empty() || mask[target.index] != 0;
}

// Shared by the tokens of a continuation with one ratio.
struct SequenceRatio {
  double log_ratio = 0;
  double slope = 0;  // −∂(the continuation's terms)/∂(log p of any of its tokens)
};

// `logprobs`: the new ones of all its tokens.
SequenceRatio sequence_ratio(const Loss& loss, const Continuation& continuation, const float* logprobs);

// `sequence`: null if every token has its own ratio.
TokenLoss policy_loss(const Loss& loss, const Target& target, float logprob, const SequenceRatio* sequence);

TokenLoss value_loss(const Loss& loss, const Target& target, float value);

}  // namespace troupe
