// Gradients of every kind of parameter compared with central differences of the loss.
#include "engine_check.h"

namespace troupe::test {
namespace {

double penalty_of(const Loss& loss, double d) {
  if (loss.kl == KlEstimator::k1) return d;
  if (loss.kl == KlEstimator::k2) return d * d / 2;
  return loss.kl == KlEstimator::k3 ? std::exp(-d) - 1 + d : 0;
}

// The terms of one continuation, without clips, from its new log-probabilities or values.
double terms_of(const Continuation& continuation, const Floats& outputs, const Loss& loss) {
  const size_t tokens = outputs.size();
  double total = 0, mean = 0;
  for (size_t i = 0; i < tokens; i++) mean += (double(outputs[i]) - continuation.logprobs[i]) / tokens;
  for (size_t i = 0; i < tokens; i++) {
    const double output = outputs[i], weight = continuation.weights.empty() ? 1 : continuation.weights[i];
    const double log_ratio = loss.sequence_ratio ? mean : output - continuation.logprobs[i];
    if (loss.kind == LossKind::cross_entropy) total -= weight * output;
    if (loss.kind == LossKind::value) total += weight * std::pow(output - continuation.targets[i], 2) / 2;
    if (loss.kind == LossKind::importance_sampling || loss.kind == LossKind::ppo) {
      total -= std::exp(log_ratio) * continuation.advantages[i];
      total += continuation.penalties[i] * penalty_of(loss, output - continuation.reference[i]);
    }
  }
  return total;
}

double loss_of(Engine& engine, const std::vector<Datum>& data, const Loss& loss) {
  const LossResult result = engine.forward(data, never);
  double total = -loss.entropy * result.entropy;  // of tokens of weight 1
  size_t at = 0;
  for (const Datum& datum : data) {
    for (const Continuation& continuation : datum.continuations) total += terms_of(continuation, result.outputs[at++], loss);
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

struct Case {
  const char* name;
  Loss loss;
};

// Clips so wide that no token of these tests reaches them: clipping is tested by hand elsewhere.
std::vector<Case> losses_of_policies() {
  const auto make = [](LossKind kind, KlEstimator kl, bool sequence, float entropy = 0) {
    Loss loss;
    loss.kind = kind;
    loss.clip_low = 0.9f;
    loss.clip_high = loss.dual_clip = 50;
    loss.kl = kl;
    loss.sequence_ratio = sequence;
    loss.entropy = entropy;
    return loss;
  };
  return {{"cross entropy", make(LossKind::cross_entropy, KlEstimator::none, false)},
          {"importance sampling", make(LossKind::importance_sampling, KlEstimator::none, false)},
          {"importance sampling, k1", make(LossKind::importance_sampling, KlEstimator::k1, false)},
          {"ppo", make(LossKind::ppo, KlEstimator::none, false)},
          {"ppo, k2", make(LossKind::ppo, KlEstimator::k2, false)},
          {"ppo, k3", make(LossKind::ppo, KlEstimator::k3, false)},
          {"ppo, one ratio", make(LossKind::ppo, KlEstimator::none, true)},
          {"ppo, one ratio, k3", make(LossKind::ppo, KlEstimator::k3, true)},
          {"importance sampling, entropy", make(LossKind::importance_sampling, KlEstimator::none, false, 0.5f)},
          {"ppo, k3, entropy", make(LossKind::ppo, KlEstimator::k3, false, 0.5f)},
          {"ppo, one ratio, entropy", make(LossKind::ppo, KlEstimator::none, true, -0.5f)}};
}

void check_all(Engine& engine, const char* policy, const std::vector<Datum>& data, const Loss& loss,
               const std::string& what, Report& report) {
  for (const TensorInfo& info : engine.tensors(policy)) check_tensor(engine, policy, info, data, loss, what, report);
}

void check_policies(const Variant& variant, const Case& each, Report& report) {
  Engine engine(2, Precision::float32);
  engine.add_model("m", variant.config);
  fill_random(engine, "m", 7);
  Random random(11);
  std::vector<Datum> data{random_datum(random, "m", variant.config.vocab, 5, {4, 1, 6}),
                          random_datum(random, "m", variant.config.vocab, 1, {7})};
  for (Datum& datum : data) {
    for (Continuation& continuation : datum.continuations) {
      if (each.loss.entropy != 0) continuation.weights.clear();
    }
  }
  engine.forward_backward(data, each.loss, never);
  check_all(engine, "m", data, each.loss, std::string(variant.name) + ", " + each.name, report);
}

void check_critics(const Variant& variant, Report& report) {
  Engine engine(2, Precision::float32);
  ModelConfig config = variant.config;
  config.value_head = true;
  engine.add_model("c", config);
  engine.add_model("m", variant.config);
  AdapterConfig adapter{2, 4, targets_of(config, {"q_proj", "down_proj"}), true};
  engine.add_adapter("a", "m", adapter);
  for (const char* policy : {"c", "m", "a"}) fill_random(engine, policy, 9);
  Random random(12);
  const std::vector<Datum> data{random_datum(random, "a", config.vocab, 4, {5, 2}),
                                random_datum(random, "c", config.vocab, 5, {4, 1, 6}),
                                random_datum(random, "a", config.vocab, 1, {3})};
  Loss loss;
  loss.kind = LossKind::value;
  engine.forward_backward(data, loss, never);
  check_all(engine, "c", data, loss, std::string(variant.name) + ", critic", report);
  check_all(engine, "a", data, loss, std::string(variant.name) + ", critic's adapter", report);
  for (float g : read_all(engine, "m", TensorKind::gradient)) report.check(g == 0, "a critic's base stays frozen", g);
}

void check_adapters(const Variant& variant, Report& report) {
  Engine engine(2, Precision::float32);
  engine.add_model("m", variant.config);
  const ModelConfig& config = variant.config;
  const auto every = targets_of(config, {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"});
  engine.add_adapter("a", "m", {3, 6, every, false});
  engine.add_adapter("b", "m", {2, 2, targets_of(config, {"v_proj", "up_proj"}), false});
  for (const char* policy : {"m", "a", "b"}) fill_random(engine, policy, 5);
  Random random(13);
  const std::vector<Datum> data{random_datum(random, "b", variant.config.vocab, 3, {4}),
                                random_datum(random, "a", variant.config.vocab, 5, {4, 1, 6})};
  engine.forward_backward(data, {}, never);
  for (const char* policy : {"a", "b"}) {
    check_all(engine, policy, data, {}, std::string(variant.name) + ", adapter", report);
  }
  for (float g : read_all(engine, "m", TensorKind::gradient)) {
    if (g != 0) return report.check(false, "the base stays frozen", g);
  }
}

}  // namespace

// One sequence so long that the backward pass computes each layer again: the gradient of the loss along a direction.
void check_long(Report& report, const char* name, ModelConfig config) {
  config.max_positions = 4096;
  config.qk_norm = true;
  Engine engine(2, Precision::float32);
  engine.add_model("m", config);
  fill_random(engine, "m", 5);
  Random random(8);
  Datum datum = random_datum(random, "m", 23, 30, {2100});
  for (float& weight : datum.continuations[0].weights) weight = weight > 0 ? 1.0f : 0.0f;
  engine.forward_backward({datum}, {}, never);
  const TensorInfo info{"model.layers.0.self_attn.v_proj.weight", {8, 16}};
  const Floats gradient = read(engine, "m", TensorKind::gradient, info), start = read(engine, "m", TensorKind::weight, info);
  double length = 0;
  for (float slope : gradient) length += static_cast<double>(slope) * slope;
  const double step = 0.02 / std::sqrt(length);
  auto loss_at = [&](double distance) {
    Floats moved = start;
    for (size_t i = 0; i < moved.size(); i++) moved[i] += static_cast<float>(distance * gradient[i]);
    engine.write_tensor("m", TensorKind::weight, info.name, moved.data(), moved.size());
    double loss = 0;
    const Floats logprobs = engine.forward({datum}, never).outputs[0];
    for (size_t i = 0; i < logprobs.size(); i++) loss -= static_cast<double>(datum.continuations[0].weights[i]) * logprobs[i];
    return loss;
  };
  const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
  report.check(std::fabs(slope / length - 1) < 0.02, std::string("gradient over a long sequence, ") + name, slope, length);
}

void check_gradients(Report& report) {
  check_long(report, "llama", tiny_config());
  ModelConfig gemma = variants().back().config;
  gemma.windows = {300, 0};
  check_long(report, "gemma3", gemma);
  for (const Variant& variant : variants()) {
    for (const Case& each : losses_of_policies()) check_policies(variant, each, report);
    check_critics(variant, report);
    check_adapters(variant, report);
  }
}

}  // namespace troupe::test
