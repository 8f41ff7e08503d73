// Shared prompts, chunks, losses by hand, AdamW by hand.
#include "engine_check.h"

namespace troupe::test {
namespace {

// The same data with each continuation in its own datum.
std::vector<Datum> one_by_one(const std::vector<Datum>& data) {
  std::vector<Datum> apart;
  for (const Datum& datum : data) {
    for (const Continuation& continuation : datum.continuations) {
      apart.push_back({datum.policy, datum.prompt, {continuation}});
    }
  }
  return apart;
}

void check_same(Report& report, const std::string& what, const LossResult& a, const LossResult& b, double tolerance) {
  report.check(std::fabs(a.loss - b.loss) <= tolerance * std::fabs(b.loss), what + ": loss", a.loss, b.loss);
  report.check(std::fabs(a.entropy - b.entropy) <= tolerance * b.entropy, what + ": entropy", a.entropy, b.entropy);
  report.check(std::fabs(a.kl - b.kl) <= tolerance * std::fabs(b.kl), what + ": kl", a.kl, b.kl);
  report.check(a.tokens == b.tokens && a.clipped == b.clipped, what + ": counts");
  for (size_t i = 0; i < a.outputs.size(); i++) near(report, what + ": logprobs", a.outputs[i], b.outputs[i], tolerance);
}

void check_shared_prompts(Report& report) {
  for (const Variant& variant : variants()) {
    for (int kind = 0; kind < 3; kind++) {
      Loss loss;
      loss.kind = static_cast<LossKind>(kind);
      Engine engine(2, Precision::float32);
      engine.add_model("m", variant.config);
      fill_random(engine, "m", 3);
      Random random(5);
      std::vector<Datum> data;
      for (int i = 0; i < 6; i++) data.push_back(random_datum(random, "m", variant.config.vocab, 1 + 4 * i, {5, 1, 9, 2}));
      const LossResult together = engine.forward_backward(data, loss, never);
      const Floats gradient = read_all(engine, "m", TensorKind::gradient);
      engine.zero_gradients("m");
      const LossResult apart = engine.forward_backward(one_by_one(data), loss, never);
      const std::string what = std::string("shared prompts, ") + variant.name;
      check_same(report, what, together, apart, 1e-5);
      near(report, what + ": gradient", gradient, read_all(engine, "m", TensorKind::gradient), 1e-5);
    }
  }
}

// 30 continuations of 200 tokens take several chunks, between which this one datum is cut.
void check_chunks(Report& report) {
  ModelConfig config = tiny_config();
  config.max_positions = 256;
  Engine engine(2, Precision::float32);
  engine.add_model("m", config);
  fill_random(engine, "m", 3);
  Random random(5);
  const std::vector<Datum> data{random_datum(random, "m", config.vocab, 30, std::vector<int>(30, 200))};
  const LossResult whole = engine.forward_backward(data, {}, never);
  const Floats gradient = read_all(engine, "m", TensorKind::gradient);
  engine.zero_gradients("m");
  const LossResult apart = engine.forward_backward(one_by_one(data), {}, never);
  check_same(report, "a datum of several chunks", whole, apart, 1e-5);
  near(report, "a datum of several chunks: gradient", gradient, read_all(engine, "m", TensorKind::gradient), 1e-5);
}

// Several threads compute shards of the data. Their sums and gradients are those of one thread, each time with the same
// bits; if one shard fails, no gradient is left of the others.
void check_shards(Report& report) {
  const ModelConfig config = tiny_config();
  std::vector<Datum> data;
  Random random(5);
  for (int i = 0; i < 24; i++) {
    data.push_back(random_datum(random, i % 3 == 0 ? "m" : i % 3 == 1 ? "a" : "b", config.vocab, 10 + i % 5, {9, 7, 8}));
  }
  Loss loss;
  loss.kind = LossKind::importance_sampling;
  const std::vector<std::string> policies{"m", "a", "b"};
  auto start = [&](int threads) {
    auto engine = std::make_unique<Engine>(threads, Precision::float32);
    engine->add_model("m", config);
    for (const char* name : {"a", "b"}) engine->add_adapter(name, "m", {4, 8, targets_of(config, {"q_proj", "down_proj"}), false});
    for (size_t i = 0; i < policies.size(); i++) fill_random(*engine, policies[i], 3 + i);
    return engine;
  };
  const auto one = start(1), several = start(3);
  const LossResult whole = one->forward_backward(data, loss, never);
  check_same(report, "shards", several->forward_backward(data, loss, never), whole, 1e-5);
  for (const std::string& policy : policies) {
    const Floats first = read_all(*several, policy, TensorKind::gradient);
    const Floats of_one = read_all(*one, policy, TensorKind::gradient);
    near(report, "shards: gradient of " + policy, first, of_one, 1e-5);
    report.check(first != of_one, "shards: sums in another order");
    for (const std::string& each : policies) several->zero_gradients(each);
    several->forward_backward(data, loss, never);
    report.check(read_all(*several, policy, TensorKind::gradient) == first, "shards: the same bits");
  }
  report.check(several->forward(data, never).outputs == one->forward(data, never).outputs, "shards: log-probabilities");
  std::vector<Datum> damaged = data;
  damaged[20].continuations[0].logprobs[0] = -1e30f;
  fails(report, "a shard", "bad_model", "data[20]", [&] { several->forward_backward(damaged, loss, never); });
  for (const std::string& policy : policies) {
    const Floats left = read_all(*several, policy, TensorKind::gradient);
    report.check(left == Floats(left.size()), "shards: no gradient after a failure");
  }
  check_same(report, "shards, afterwards", several->forward_backward(data, loss, never), whole, 1e-5);
  near(report, "shards, afterwards: gradient", read_all(*several, "m", TensorKind::gradient), read_all(*one, "m", TensorKind::gradient), 1e-5);
}

// Sums depend only on each token's log p, so they follow from `forward` and the definitions.
void check_loss_sums(Report& report) {
  Engine engine(1, Precision::float32);
  engine.add_model("m", tiny_config());
  fill_random(engine, "m", 3);
  Random random(8);
  std::vector<Datum> data{random_datum(random, "m", 23, 6, {4})};
  Continuation& continuation = data[0].continuations[0];
  const Floats logprobs = engine.forward(data, never).outputs[0];
  // Ratios 1.5, 1.5, 0.5, 0.5 with advantages of both signs; bounds 0.8 and 1.3.
  const double ratios[] = {1.5, 1.5, 0.5, 0.5};
  continuation.advantages = {2, -2, 3, -3};
  for (int i = 0; i < 4; i++) continuation.logprobs[i] = static_cast<float>(logprobs[i] - std::log(ratios[i]));
  Loss loss;
  loss.kind = LossKind::ppo;
  loss.clip_high = 0.3f;
  const LossResult ppo = engine.forward_backward(data, loss, never);
  // −(1.3·2) + 1.5·2 − 0.5·3 + 0.8·3
  report.check(std::fabs(ppo.loss - 1.3) < 1e-5, "ppo by hand", ppo.loss, 1.3);
  report.check(ppo.clipped == 2, "ppo: clipped tokens", ppo.clipped, 2);
  const double kl = 2 * (0.5 - std::log(1.5)) + 2 * (-0.5 - std::log(0.5));
  report.check(std::fabs(ppo.kl - kl) < 1e-5, "k3 by hand", ppo.kl, kl);
  // Clipped tokens give no gradient: the same as a weighted cross entropy of the two others.
  const Floats gradient = read_all(engine, "m", TensorKind::gradient);
  engine.zero_gradients("m");
  continuation.weights = {0, -3, 1.5f, 0};
  const LossResult weighted = engine.forward_backward(data, {}, never);
  near(report, "ppo's gradient by hand", gradient, read_all(engine, "m", TensorKind::gradient), 1e-5);
  report.check(weighted.kl == 0 && weighted.tokens == 4, "cross entropy: kl is 0, four tokens");
  loss.kind = LossKind::importance_sampling;
  const LossResult sampled = engine.forward_backward(data, loss, never);
  report.check(std::fabs(sampled.loss - 0.0) < 1e-5, "importance sampling by hand", sampled.loss, 0);
}

// A model whose weights are zero gives every token the same probability.
void check_uniform(Report& report) {
  Engine engine(2, Precision::float32);
  engine.add_model("m", tiny_config());
  Random random(2);
  const std::vector<Datum> data{random_datum(random, "m", 23, 3, {5})};
  const LossResult result = engine.forward(data, never);
  const double nats = std::log(23.0);
  for (float logprob : result.outputs[0]) report.check(std::fabs(logprob + nats) < 1e-6, "uniform log-probability");
  report.check(std::fabs(result.entropy - 5 * nats) < 1e-5, "uniform entropy", result.entropy, 5 * nats);
}

void check_adam(Report& report) {
  Engine engine(2, Precision::float32);
  engine.add_model("m", tiny_config());
  fill_random(engine, "m", 4);
  Floats weights = read_all(engine, "m", TensorKind::weight);
  std::vector<double> expected(weights.begin(), weights.end()), m(weights.size()), v(weights.size());
  AdamParameters adam;
  adam.learning_rate = 0.01f;
  adam.weight_decay = 0.1f;
  adam.clip_norm = 0.5f;
  Random random(6);
  for (int step = 1; step <= 3; step++) {
    const std::vector<Datum> data{random_datum(random, "m", 23, 4, {6, 3})};
    engine.forward_backward(data, {}, never);
    const Floats g = read_all(engine, "m", TensorKind::gradient);
    double norm = 0;
    for (float x : g) norm += double(x) * x;
    norm = std::sqrt(norm);
    const StepResult result = engine.optimizer_step("m", adam);
    report.check(std::fabs(result.gradient_norm - norm) < 1e-5 * norm, "gradient norm", result.gradient_norm, norm);
    const double scale = norm > 0.5 ? 0.5 / (norm + 1e-6) : 1;
    for (size_t i = 0; i < g.size(); i++) {
      m[i] = 0.9 * m[i] + 0.1 * g[i] * scale;
      v[i] = 0.95 * v[i] + 0.05 * g[i] * scale * g[i] * scale;
      const double denominator = std::sqrt(v[i] / (1 - std::pow(0.95, step))) + 1e-8;
      expected[i] -= 0.01 * (0.1 * expected[i] + m[i] / (1 - std::pow(0.9, step)) / denominator);
    }
  }
  report.check(engine.step_count("m") == 3, "three steps", engine.step_count("m"), 3);
  report.close("weights after three steps", read_all(engine, "m", TensorKind::weight), expected, 1e-5);
  report.close("first moments", read_all(engine, "m", TensorKind::moment1), m, 1e-4);
  for (float g : read_all(engine, "m", TensorKind::gradient)) report.check(g == 0, "the step zeroes the gradient");
}

// Steps lower the loss, and two engines with the same calls have the same bits.
void check_learning(Report& report) {
  Random random(9);
  const std::vector<Datum> data{random_datum(random, "m", 23, 4, {6, 3}), random_datum(random, "m", 23, 9, {8})};
  std::vector<Datum> plain = data;
  for (Datum& datum : plain) {
    for (Continuation& continuation : datum.continuations) continuation.weights.clear();
  }
  Floats ends[2];
  for (Floats& end : ends) {
    Engine engine(2, Precision::bfloat16);
    engine.add_model("m", tiny_config());
    fill_random(engine, "m", 4);
    AdamParameters adam;
    adam.learning_rate = 0.02f;
    double first = 0, last = 0;
    for (int step = 0; step < 40; step++) {
      last = engine.forward_backward(plain, {}, never).loss;
      if (step == 0) first = last;
      engine.optimizer_step("m", adam);
    }
    report.check(last < 0.2 * first, "training lowers the loss", last, 0.2 * first);
    end = read_all(engine, "m", TensorKind::weight);
  }
  report.check(ends[0] == ends[1], "the same training gives the same bits");
}

}  // namespace

void check_training(Report& report) {
  check_uniform(report);
  check_loss_sums(report);
  check_shared_prompts(report);
  check_chunks(report);
  check_shards(report);
  check_adam(report);
  check_learning(report);
}

}  // namespace troupe::test
