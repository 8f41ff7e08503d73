#include "losses.h"

#include <algorithm>
#include <cmath>

namespace troupe {

TokenLoss token_loss(const Loss& loss, const Target& target, float logprob) {
  TokenLoss result;
  if (loss.kind == LossKind::cross_entropy) {
    result.loss = -static_cast<double>(target.weight) * logprob;
    result.slope = target.weight;
    return result;
  }
  const double advantage = target.weight;
  const double log_ratio = static_cast<double>(logprob) - target.old_logprob;
  const double ratio = std::exp(log_ratio);
  result.kl = std::expm1(log_ratio) - log_ratio;
  double weighted = ratio * advantage;
  if (loss.kind == LossKind::ppo) {
    const double bounded = std::clamp(ratio, 1.0 - loss.clip_low, 1.0 + loss.clip_high) * advantage;
    result.clipped = bounded < weighted;
    weighted = std::min(weighted, bounded);
  }
  result.loss = -weighted;
  result.slope = result.clipped ? 0.0f : static_cast<float>(weighted);
  return result;
}

}  // namespace troupe
