// Every error: its code, the place it names, and that the engine continues as before.
#include <limits>
#include <memory>

#include "engine_check.h"

namespace troupe::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<Engine> make() {
  auto engine = std::make_unique<Engine>(2, Precision::float32);
  engine->add_model("m", tiny_config());
  engine->add_adapter("a", "m", {2, 4, {"q_proj"}, false});
  for (const char* policy : {"m", "a"}) fill_random(*engine, policy, 3);
  return engine;
}

Datum good(const std::string& policy = "m") {
  Continuation continuation;
  continuation.tokens = {4, 5};
  continuation.advantages = {1, 1};
  continuation.logprobs = {-1, -1};
  return {policy, {1, 2, 3}, {continuation}};
}

void check_configurations(Report& report) {
  Engine engine(1, Precision::float32);
  auto refuses = [&](const std::string& words, const std::function<void(ModelConfig&)>& damage) {
    ModelConfig config = tiny_config();
    damage(config);
    fails(report, "configuration", "bad_shape", words, [&] { engine.add_model("x", config); });
  };
  refuses("vocab_size is 0", [](ModelConfig& c) { c.vocab = 0; });
  refuses("num_key_value_heads is 3", [](ModelConfig& c) { c.kv_heads = 3; });
  refuses("head_dim is 5", [](ModelConfig& c) { c.head_dim = 5; });
  refuses("inverse_frequencies", [](ModelConfig& c) { c.ropes[0].inverse_frequencies.push_back(1); });
  refuses("windows' length is 1", [](ModelConfig& c) { c.windows.pop_back(); });
  refuses("a window is -1", [](ModelConfig& c) { c.windows[1] = -1; });
  refuses("a layer's rope is 1", [](ModelConfig& c) { c.layer_ropes[1] = 1; });
  refuses("query_scalar is 0", [](ModelConfig& c) { c.query_scalar = 0; });
  refuses("num_hidden_layers is -1", [](ModelConfig& c) { c.layers = -1; });
  refuses("rms_norm_eps is nan", [](ModelConfig& c) { c.rms_epsilon = nan; });
}

bool fails_to_allocate(size_t floats) {
  try {
    AlignedBuffer<float> buffer(floats);
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

void check_memory(Report& report) {
  for (size_t floats : {SIZE_MAX / 4, SIZE_MAX / 4 + 1, SIZE_MAX / 4 + 2, SIZE_MAX}) {
    report.check(fails_to_allocate(floats), "a buffer whose bytes do not fit a number is refused");
  }
  auto engine = make();
  const size_t before = engine->memory_bytes();
  ModelConfig config = tiny_config();
  config.vocab = config.hidden = 1 << 24;  // 2^50 bytes
  bool refused = false;
  try {
    engine->add_model("x", config);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  report.check(refused, "a model too large for any memory is refused");
  report.check(engine->memory_bytes() == before, "and leaves nothing behind");
  engine->add_model("x", tiny_config());
}

void check_policies(Report& report) {
  auto engine = make();
  Floats value(1);
  fails(report, "unknown policy", "bad_arguments", "\"m\", \"a\"", [&] { engine->tensors("x"); });
  fails(report, "policy twice", "bad_arguments", "already", [&] { engine->add_model("a", tiny_config()); });
  fails(report, "no such model", "bad_arguments", "no model \"x\"", [&] { engine->add_adapter("c", "x", {}); });
  fails(report, "no targets", "bad_arguments", "target", [&] { engine->add_adapter("c", "m", {2, 4, {}, false}); });
  fails(report, "unknown target", "bad_arguments", "q_proj, k_proj",
        [&] { engine->add_adapter("c", "m", {2, 4, {"lm_head"}, false}); });
  fails(report, "rank 0", "bad_arguments", "rank is 0", [&] { engine->add_adapter("c", "m", {0, 4, {"q_proj"}, false}); });
  fails(report, "base in use", "bad_arguments", "\"a\"", [&] { engine->remove("m"); });
  fails(report, "unknown tensor", "bad_arguments", "no tensor \"w\"",
        [&] { engine->read_tensor("m", TensorKind::weight, "w", value.data(), 1); });
  fails(report, "tensor size", "bad_shape", "16", [&] {
    engine->write_tensor("m", TensorKind::weight, "model.norm.weight", value.data(), 1);
  });
  engine->remove("a");
  engine->remove("m");
  report.check(engine->idle(), "empty again");
}

void check_data(Report& report) {
  auto engine = make();
  auto refuses = [&](const std::string& code, const std::string& words, const std::function<void(Datum&)>& damage) {
    std::vector<Datum> data{good(), good()};
    damage(data[1]);
    Loss ppo;
    ppo.kind = LossKind::ppo;
    fails(report, "data", code, words, [&] { engine->forward_backward(data, ppo, never); });
  };
  refuses("bad_token", "data[1] (policy \"m\").prompt[2] is 23", [](Datum& d) { d.prompt[2] = 23; });
  refuses("bad_token", "continuations[0].tokens[1] is -1", [](Datum& d) { d.continuations[0].tokens[1] = -1; });
  refuses("bad_shape", "prompt is empty", [](Datum& d) { d.prompt.clear(); });
  refuses("bad_shape", "no continuations", [](Datum& d) { d.continuations.clear(); });
  refuses("bad_shape", "tokens is empty", [](Datum& d) { d.continuations[0].tokens.clear(); });
  refuses("bad_shape", "advantages has 1", [](Datum& d) { d.continuations[0].advantages.pop_back(); });
  refuses("bad_shape", "logprobs has 3", [](Datum& d) { d.continuations[0].logprobs.push_back(0); });
  refuses("bad_arguments", "logprobs[0] is not a finite", [](Datum& d) { d.continuations[0].logprobs[0] = nan; });
  refuses("too_long", "64 positions", [](Datum& d) { d.prompt.resize(63); });
  refuses("bad_arguments", "unknown policy", [](Datum& d) { d.policy = "x"; });
  fails(report, "weights", "bad_shape", "weights has 1", [&] {
    std::vector<Datum> data{good()};
    data[0].continuations[0].weights = {1};
    engine->forward_backward(data, {}, never);
  });
  fails(report, "clip", "bad_arguments", "clip", [&] { engine->forward_backward({good()}, {LossKind::ppo, -1, 1}, never); });
  for (float g : read_all(*engine, "m", TensorKind::gradient)) report.check(g == 0, "refused data leave no gradient");
}

void check_failures(Report& report) {
  auto engine = make();
  engine->forward_backward({good(), good("a")}, {}, never);
  const std::atomic<bool> cancelled{true};
  fails(report, "cancelled", "cancelled", "zero now", [&] { engine->forward_backward({good()}, {}, cancelled); });
  for (float g : read_all(*engine, "m", TensorKind::gradient)) report.check(g == 0, "cancelled: gradient is zero");
  double rest = 0;
  for (float g : read_all(*engine, "a", TensorKind::gradient)) rest += std::fabs(g);
  report.check(rest > 0, "the gradient of a policy that was not named stays");
  const Floats weights = read_all(*engine, "m", TensorKind::weight);
  engine->write_tensor("m", TensorKind::gradient, "model.norm.weight", Floats(16, nan).data(), 16);
  fails(report, "gradient", "bad_model", "policy \"m\"", [&] { engine->optimizer_step("m", {}); });
  report.check(read_all(*engine, "m", TensorKind::weight) == weights, "weights unchanged");
  report.check(engine->step_count("m") == 0, "no step counted");
  fails(report, "beta", "bad_arguments", "beta1", [&] { engine->optimizer_step("m", {1e-4f, 1.0f}); });
  engine->write_tensor("m", TensorKind::weight, "model.norm.weight", Floats(16, nan).data(), 16);
  fails(report, "loss", "bad_model", "policy \"a\": the loss of data[0]",
        [&] { engine->forward_backward({good("a"), good("a")}, {}, never); });
  std::string code;
  SampleRequest request;
  request.policy = "m";
  request.prompt = {1, 2};
  engine->submit(request, nullptr, [](std::vector<SampledSequence>&&) {},
                 [&](const EngineError& error) { code = error.code; });
  while (!engine->idle()) engine->sample_step();
  report.check(code == "bad_model", "sampling from damaged weights says so");
  engine->write_tensor("m", TensorKind::weight, "model.norm.weight", Floats(16, 1).data(), 16);
  report.check(std::isfinite(engine->forward_backward({good()}, {}, never).loss), "the engine goes on");
}

void check_requests(Report& report) {
  auto engine = make();
  int ended = 0;
  auto submit = [&](const std::function<void(SampleRequest&)>& change) {
    SampleRequest request;
    request.policy = "m";
    request.prompt = {1, 2};
    change(request);
    engine->submit(request, nullptr, [&](std::vector<SampledSequence>&&) { ended++; }, [](const EngineError&) {});
  };
  auto refuses = [&](const std::string& code, const std::string& words, const std::function<void(SampleRequest&)>& damage) {
    fails(report, "request", code, words, [&] { submit(damage); });
  };
  refuses("bad_arguments", "unknown policy", [](SampleRequest& r) { r.policy = "x"; });
  refuses("bad_shape", "prompt is empty", [](SampleRequest& r) { r.prompt.clear(); });
  refuses("bad_token", "prompt[1] is 99", [](SampleRequest& r) { r.prompt[1] = 99; });
  refuses("bad_token", "stop_tokens[0] is -5", [](SampleRequest& r) { r.stop_tokens = {-5}; });
  refuses("bad_arguments", "count", [](SampleRequest& r) { r.count = 0; });
  refuses("bad_arguments", "max_tokens", [](SampleRequest& r) { r.max_tokens = 0; });
  refuses("too_long", "64 positions", [](SampleRequest& r) { r.max_tokens = 63; });
  refuses("bad_arguments", "temperature", [](SampleRequest& r) { r.temperature = nan; });
  refuses("bad_arguments", "top_p", [](SampleRequest& r) { r.top_p = 0; });
  refuses("bad_arguments", "top_k", [](SampleRequest& r) { r.top_k = -1; });
  refuses("bad_arguments", "stop string", [](SampleRequest& r) { r.stop_strings = {""}; });
  refuses("bad_arguments", "bytes", [](SampleRequest& r) { r.stop_strings = {"x"}; });
  fails(report, "token bytes", "bad_shape", "23", [&] { engine->set_token_bytes("m", TokenBytes("a", {1})); });
  submit([](SampleRequest&) {});
  engine->sample_step();
  fails(report, "step while sampling", "internal", "while it is being sampled", [&] { engine->optimizer_step("m", {}); });
  fails(report, "write while sampling", "internal", "while it is being sampled", [&] {
    engine->write_tensor("m", TensorKind::weight, "model.norm.weight", Floats(16, 1).data(), 16);
  });
  fails(report, "removal while sampling", "bad_arguments", "being sampled", [&] { engine->remove("m"); });
  while (!engine->idle()) engine->sample_step();
  report.check(ended == 1, "the request ends all the same", ended, 1);
}

}  // namespace

void check_errors(Report& report) {
  check_configurations(report);
  check_memory(report);
  check_policies(report);
  check_data(report);
  check_failures(report);
  check_requests(report);
}

}  // namespace troupe::test
