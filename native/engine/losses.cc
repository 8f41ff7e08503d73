#include "losses.h"

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

constexpr double largest_divergence = 10;

struct RatioTerm {
  double objective;  // −loss
  double slope;      // ∂objective/∂(log ρ)
  bool clipped;
};

RatioTerm ratio_term(const Loss& loss, double log_ratio, double advantage, double logprob) {
  const double ratio = std::exp(log_ratio);
  if (loss.kind == LossKind::cispo) {
    const double held = std::clamp(ratio, 1.0 - loss.clip_low, 1.0 + loss.clip_high);
    return {held * advantage * logprob, held * advantage, held != ratio};
  }
  const double free = ratio * advantage;
  if (loss.kind != LossKind::ppo) return {free, free, false};
  const double bounded = std::clamp(ratio, 1.0 - loss.clip_low, 1.0 + loss.clip_high) * advantage;
  double objective = std::min(free, bounded);
  bool clipped = bounded < free;
  if (loss.dual_clip > 0 && advantage < 0 && objective < loss.dual_clip * advantage) {
    objective = loss.dual_clip * advantage;
    clipped = true;
  }
  return {objective, clipped ? 0.0 : free, clipped};
}

struct Divergence {
  double value, slope;  // and its derivative by log p
};

Divergence divergence(KlEstimator estimator, double d) {
  if (estimator == KlEstimator::k1) return {d, 1};
  if (estimator == KlEstimator::k2) return {d * d / 2, d};
  const double held = std::clamp(d, -largest_divergence, largest_divergence);
  return {std::expm1(-held) + held, held == d ? -std::expm1(-held) : 0};
}

void add_reference(const Loss& loss, const Target& target, float logprob, TokenLoss& result) {
  const Continuation& continuation = *target.continuation;
  if (continuation.reference.empty()) return;
  const double d = static_cast<double>(logprob) - continuation.reference[target.index];
  result.reference_kl = divergence(KlEstimator::k3, d).value;
  if (loss.kl == KlEstimator::none) return;
  const double penalty = continuation.penalties[target.index];
  const Divergence k = divergence(loss.kl, d);
  result.loss += penalty * k.value;
  result.slope -= static_cast<float>(penalty * k.slope);
}

float weight_of(const Target& target) {
  const std::vector<float>& weights = target.continuation->weights;
  return weights.empty() ? 1.0f : weights[target.index];
}

double log_ratio_at(const Continuation& continuation, size_t index, float logprob) {
  return static_cast<double>(logprob) - continuation.logprobs[index];
}

}  // namespace

SequenceRatio sequence_ratio(const Loss& loss, const Continuation& continuation, const float* logprobs) {
  SequenceRatio result;
  size_t tokens = 0;
  auto each_counted = [&](auto body) {
    for (size_t i = 0; i < continuation.tokens.size(); i++) {
      if (continuation.mask.empty() || continuation.mask[i] != 0) body(i);
    }
  };
  each_counted([&](size_t i) { result.log_ratio += log_ratio_at(continuation, i, logprobs[i]), tokens++; });
  if (tokens == 0) return result;
  result.log_ratio /= static_cast<double>(tokens);
  each_counted([&](size_t i) {
    result.slope += ratio_term(loss, result.log_ratio, continuation.advantages[i], logprobs[i]).slope;
  });
  result.slope /= static_cast<double>(tokens);
  return result;
}

TokenLoss policy_loss(const Loss& loss, const Target& target, float logprob, const SequenceRatio* sequence) {
  TokenLoss result;
  if (!counts(target)) return result;
  if (loss.kind == LossKind::cross_entropy) {
    const float weight = weight_of(target);
    result.loss = -static_cast<double>(weight) * logprob;
    result.slope = weight;
    return result;
  }
  const double log_ratio = log_ratio_at(*target.continuation, target.index, logprob);
  const float advantage = target.continuation->advantages[target.index];
  const RatioTerm term = ratio_term(loss, sequence ? sequence->log_ratio : log_ratio, advantage, logprob);
  result.kl = std::expm1(log_ratio) - log_ratio;
  result.loss = -term.objective;
  result.slope = static_cast<float>(sequence ? sequence->slope : term.slope);
  result.clipped = term.clipped;
  if (loss.entropy != 0) result.bonus = loss.entropy * weight_of(target);
  add_reference(loss, target, logprob, result);
  return result;
}

TokenLoss value_loss(const Loss& loss, const Target& target, float value) {
  if (!counts(target)) return {};
  const Continuation& continuation = *target.continuation;
  const double weight = weight_of(target), goal = continuation.targets[target.index];
  const double error = value - goal;
  double square = error * error;
  TokenLoss result;
  if (loss.value_clip > 0) {
    const double old = continuation.values[target.index];
    const double held = std::clamp<double>(value, old - loss.value_clip, old + loss.value_clip) - goal;
    result.clipped = held * held > square;
    square = std::max(square, held * held);
  }
  result.loss = 0.5 * weight * square;
  result.slope = result.clipped ? 0.0f : static_cast<float>(-weight * error);
  return result;
}

}  // namespace troupe
