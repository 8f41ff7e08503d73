// Gradients of every kind of parameter against central differences of the loss.
#include "engine_check.h"

namespace troupe::test {
namespace {

// The sum of one loss over all tokens, in double precision from the engine's log-probabilities.
double loss_of(Engine& engine, const std::vector<Datum>& data, const Loss& loss) {
  const LossResult result = engine.forward(data, never);
  double total = 0;
  size_t at = 0;
  for (const Datum& datum : data) {
    for (const Continuation& continuation : datum.continuations) {
      for (size_t i = 0; i < continuation.tokens.size(); i++) {
        const double logprob = result.logprobs[at][i];
        const double ratio = std::exp(logprob - continuation.logprobs[i]), advantage = continuation.advantages[i];
        const double bounded = std::fmin(std::fmax(ratio, 1 - loss.clip_low), 1 + loss.clip_high);
        if (loss.kind == LossKind::cross_entropy) total -= continuation.weights[i] * logprob;
        if (loss.kind == LossKind::importance_sampling) total -= ratio * advantage;
        if (loss.kind == LossKind::ppo) total -= std::fmin(ratio * advantage, bounded * advantage);
      }
      at++;
    }
  }
  return total;
}

// The slope along one direction from losses at ±1 and ±2 steps, whose error is of the fourth order.
double slope(const std::function<double(float)>& loss_at, float step) {
  return (8 * (loss_at(step) - loss_at(-step)) - (loss_at(2 * step) - loss_at(-2 * step))) / (12 * step);
}

// The slope along random directions of one tensor. Float32 log-probabilities of some 20 tokens leave an error near 1e-3.
void check_tensor(Engine& engine, const std::string& policy, const TensorInfo& info, const std::vector<Datum>& data,
                  const Loss& loss, const std::string& what, Report& report) {
  const Floats weights = read(engine, policy, TensorKind::weight, info);
  const Floats gradient = read(engine, policy, TensorKind::gradient, info);
  Random random(weights.size() + info.name.size());
  double norm = 0;
  for (float g : gradient) norm += double(g) * g;
  norm = std::sqrt(norm);
  report.check(norm > 1e-4, what + ": gradient of " + info.name + " is not zero", norm);
  for (int trial = 0; trial < 4; trial++) {
    Floats direction = trial == 0 ? gradient : random.floats(weights.size());
    double length = 0, expected = 0;
    for (float d : direction) length += double(d) * d;
    for (float& d : direction) d /= static_cast<float>(std::sqrt(length));
    for (size_t i = 0; i < direction.size(); i++) expected += double(gradient[i]) * direction[i];
    auto loss_at = [&](float distance) {
      Floats moved = weights;
      for (size_t i = 0; i < moved.size(); i++) moved[i] += distance * direction[i];
      engine.write_tensor(policy, TensorKind::weight, info.name, moved.data(), moved.size());
      return loss_of(engine, data, loss);
    };
    const double seen = slope(loss_at, 4e-3f);
    const double allowed = 3e-3 * norm + 2e-3;
    report.check(std::fabs(seen - expected) <= allowed, what + ": slope of " + info.name, seen - expected, allowed);
  }
  engine.write_tensor(policy, TensorKind::weight, info.name, weights.data(), weights.size());
}

Loss loss_kind(int index) {
  Loss loss;
  loss.kind = static_cast<LossKind>(index);
  // So wide that no token of the test crosses a bound within a step; the clip itself is checked by hand elsewhere.
  loss.clip_low = 0.9f;
  loss.clip_high = 50;
  return loss;
}

}  // namespace

void check_gradients(Report& report) {
  for (const Variant& variant : variants()) {
    for (int kind = 0; kind < 3; kind++) {
      Engine engine(2, Precision::float32);
      engine.add_model("m", variant.config);
      fill_random(engine, "m", 7 + kind);
      Random random(11);
      const std::vector<Datum> data{random_datum(random, "m", variant.config.vocab, 5, {4, 1, 6}),
                                    random_datum(random, "m", variant.config.vocab, 1, {7})};
      engine.forward_backward(data, loss_kind(kind), never);
      const std::string what = std::string(variant.name) + ", loss " + std::to_string(kind);
      for (const TensorInfo& info : engine.tensors("m")) {
        check_tensor(engine, "m", info, data, loss_kind(kind), what, report);
      }
    }
  }
  for (const Variant& variant : variants()) {
    Engine engine(2, Precision::float32);
    engine.add_model("m", variant.config);
    engine.add_adapter("a", "m", {3, 6, {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}});
    engine.add_adapter("b", "m", {2, 2, {"v_proj", "up_proj"}});
    for (const char* policy : {"m", "a", "b"}) fill_random(engine, policy, 5);
    Random random(13);
    const std::vector<Datum> data{random_datum(random, "b", variant.config.vocab, 3, {4}),
                                  random_datum(random, "a", variant.config.vocab, 5, {4, 1, 6})};
    engine.forward_backward(data, loss_kind(0), never);
    for (const char* policy : {"a", "b"}) {
      for (const TensorInfo& info : engine.tensors(policy)) {
        check_tensor(engine, policy, info, data, loss_kind(0), std::string(variant.name) + ", adapter", report);
      }
    }
    for (float g : read_all(engine, "m", TensorKind::gradient)) {
      if (g != 0) return report.check(false, "the base stays frozen", g);
    }
  }
}

}  // namespace troupe::test
