// Losses of one token as functions of its log-probability. Sums over tokens, as in the Tinker protocol.
//   cross_entropy        −w·log p
//   importance_sampling  −ρ·A                              ρ = exp(log p − log p_old)
//   ppo                  −min(ρ·A, clip(ρ, 1−low, 1+high)·A)   (Schulman et al., 2017, eq. 7; two bounds as in DAPO)
#pragma once
#include "batch.h"

namespace troupe {

struct TokenLoss {
  double loss = 0;
  float slope = 0;  // −∂loss/∂(log p)
  double kl = 0;    // ρ − 1 − log ρ
  bool clipped = false;
};

TokenLoss token_loss(const Loss& loss, const Target& target, float logprob);

}  // namespace troupe
