// Several adapters of one base, and several bases, in one call; bases that stay as they are in files.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <tuple>

#include "../engine/stored.h"
#include "engine_check.h"

namespace troupe::test {
namespace {

const std::vector<std::string> every_target{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};

void add_policies(Engine& engine) {
  ModelConfig other = tiny_config();
  other.hidden = 8;
  other.qk_norm = true;
  engine.add_model("m", tiny_config());
  engine.add_model("other", other);
  engine.add_adapter("a", "m", {4, 8, every_target, false});
  engine.add_adapter("b", "m", {2, 3, {"q_proj", "down_proj"}, false});
  for (const char* policy : {"m", "other", "a", "b"}) fill_random(engine, policy, 5);
}

void check_together(Report& report) {
  Random random(3);
  std::vector<Datum> data;
  for (const char* policy : {"b", "m", "other", "a", "b", "other", "m", "a"}) {
    data.push_back(random_datum(random, policy, 23, 7, {5, 3}));
  }
  Engine together(2, Precision::float32), apart(2, Precision::float32);
  add_policies(together);
  add_policies(apart);
  const LossResult all = together.forward_backward(data, {}, never);
  double loss = 0;
  size_t at = 0;
  for (const Datum& datum : data) {
    const LossResult one = apart.forward_backward({datum}, {}, never);
    loss += one.loss;
    for (const std::vector<float>& logprobs : one.outputs) {
      report.check(all.outputs[at++] == logprobs, "a mixed batch gives each datum the bits it has alone");
    }
  }
  report.check(std::fabs(all.loss - loss) < 1e-5 * std::fabs(loss), "mixed batch: loss", all.loss, loss);
  for (const char* policy : {"m", "other", "a", "b"}) {
    near(report, std::string("mixed batch: gradient of ") + policy, read_all(together, policy, TensorKind::gradient),
         read_all(apart, policy, TensorKind::gradient), 1e-5);
  }
}

// B = 0 equals the base; A and B merged into the weights equal the adapter.
void check_meaning(Report& report) {
  Engine engine(1, Precision::float32);
  engine.add_model("m", tiny_config());
  engine.add_model("merged", tiny_config());
  engine.add_adapter("a", "m", {4, 8, {"gate_proj"}, false});
  for (const char* policy : {"m", "merged"}) fill_random(engine, policy, 5);
  Random random(3);
  Datum datum = random_datum(random, "m", 23, 7, {5});
  const Floats base = engine.forward({datum}, never).outputs[0];
  datum.policy = "a";
  report.check(engine.forward({datum}, never).outputs[0] == base, "a new adapter changes nothing");
  fill_random(engine, "a", 6);
  for (int layer = 0; layer < 2; layer++) {
    const std::string mlp = "model.layers." + std::to_string(layer) + ".mlp.gate_proj.";
    const Floats a = read(engine, "a", TensorKind::weight, {"base_model.model." + mlp + "lora_A.weight", {4, 16}});
    const Floats b = read(engine, "a", TensorKind::weight, {"base_model.model." + mlp + "lora_B.weight", {24, 4}});
    Floats w = read(engine, "merged", TensorKind::weight, {mlp + "weight", {24, 16}});
    for (int o = 0; o < 24; o++) {
      for (int i = 0; i < 16; i++) {
        for (int r = 0; r < 4; r++) w[o * 16 + i] += 8.0f / 4 * b[o * 4 + r] * a[r * 16 + i];
      }
    }
    engine.write_tensor("merged", TensorKind::weight, mlp + "weight", w.data(), w.size());
  }
  const Floats adapted = engine.forward({datum}, never).outputs[0];
  datum.policy = "merged";
  near(report, "an adapter equals its merged weights", adapted, engine.forward({datum}, never).outputs[0], 1e-5);
  report.check(adapted != base, "a filled adapter changes something");
}

// The policy's weights, cut to bfloat16, in a file and in the engine.
std::vector<StoredTensor> write_bfloat16(Engine& engine, const std::string& policy, const std::string& path) {
  std::vector<StoredTensor> stored;
  std::FILE* file = std::fopen(path.c_str(), "wb");
  size_t at = 0;
  for (const TensorInfo& info : engine.tensors(policy)) {
    Floats values = read(engine, policy, TensorKind::weight, info);
    stored.push_back({info.name, path, at, StoredFormat::bfloat16});
    for (float& value : values) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      bits &= 0xffff0000u;
      std::memcpy(&value, &bits, sizeof bits);
      const uint16_t half = static_cast<uint16_t>(bits >> 16);
      at += sizeof half * std::fwrite(&half, sizeof half, 1, file);
    }
    engine.write_tensor(policy, TensorKind::weight, info.name, values.data(), values.size());
  }
  std::fclose(file);
  return stored;
}

// Files that are cut short once they are open, and numbers that are not finite, are errors with the tensor's name.
void check_stored(Report& report, const std::string& path) {
  constexpr size_t count = 200000;
  ThreadPool pool(2);
  for (const auto& [format, bytes, infinity] : {std::tuple{StoredFormat::float32, 4, 0xff800000u},
                                                std::tuple{StoredFormat::bfloat16, 2, 0xff80u},
                                                std::tuple{StoredFormat::float16, 2, 0xfc00u}}) {
    std::vector<uint8_t> zeros(count * bytes);
    const auto write = [&] {
      std::FILE* file = std::fopen(path.c_str(), "wb");
      std::fwrite(zeros.data(), 1, zeros.size(), file);
      std::fclose(file);
    };
    write();
    const StoredTensor tensor{"w", path, 0, format};
    const StoredFiles files({tensor});
    Floats values(count, 1.0f);
    files.read_widened(tensor, count, values.data(), pool);
    report.check(values == Floats(count), "stored zeros");
    for (size_t at : {size_t{0}, size_t{65536}, count - 1}) {
      std::memcpy(zeros.data() + at * bytes, &infinity, bytes);
      write();
      fails(report, "an infinity", "bad_model", "tensor w that are not finite",
            [&] { files.read_widened(tensor, count, values.data(), pool); });
      std::memset(zeros.data() + at * bytes, 0, bytes);
    }
    const bool cut = truncate(path.c_str(), static_cast<off_t>((count - 1) * bytes)) == 0;
    report.check(cut, "the file is cut");
    fails(report, "a file that is cut while it is open", "bad_model", "ends inside tensor w",
          [&] { files.read_widened(tensor, count, values.data(), pool); });
  }
}

// A frozen base keeps bfloat16, and gives an adapter the bits that the same weights in float32 give.
void check_frozen(Report& report, const Variant& variant, const std::string& path) {
  Engine wide(2, Precision::bfloat16), narrow(2, Precision::bfloat16);
  wide.add_model("m", variant.config);
  fill_random(wide, "m", 5);
  const std::vector<StoredTensor> stored = write_bfloat16(wide, "m", path);
  narrow.add_frozen_model("m", variant.config, stored);
  const std::string name = std::string("frozen base, ") + variant.name;
  for (const TensorInfo& info : wide.tensors("m")) {
    const Floats seen = read(narrow, "m", TensorKind::weight, info);
    report.check(seen == read(wide, "m", TensorKind::weight, info), name + ": " + info.name);
  }
  report.check(narrow.tensors("m").size() == wide.tensors("m").size(), name + ": all tensors");
  for (Engine* engine : {&wide, &narrow}) {
    engine->add_adapter("a", "m", {4, 8, targets_of(variant.config, every_target), false});
    fill_random(*engine, "a", 6);
  }
  Random random(3);
  const std::vector<Datum> data{random_datum(random, "a", 23, 7, {5, 3}), random_datum(random, "a", 23, 40, {12})};
  AdamParameters adam;
  adam.learning_rate = 0.02f;
  for (int step = 0; step < 3; step++) {
    const LossResult expected = wide.forward_backward(data, {}, never), seen = narrow.forward_backward(data, {}, never);
    report.check(seen.outputs == expected.outputs && seen.loss == expected.loss, name + ": log-probabilities");
    wide.optimizer_step("a", adam);
    narrow.optimizer_step("a", adam);
  }
  const bool same = read_all(narrow, "a", TensorKind::weight) == read_all(wide, "a", TensorKind::weight);
  report.check(same, name + ": the adapter after three updates");
  Datum own = data[0];
  own.policy = "m";
  fails(report, name + ": training", "bad_arguments", "is frozen", [&] { narrow.forward_backward({own}, {}, never); });
  fails(report, name + ": an update", "bad_arguments", "is frozen", [&] { narrow.optimizer_step("m", {}); });
  report.check(narrow.forward({own}, never).outputs == wide.forward({own}, never).outputs, name + ": the base itself");
  Engine another(1, Precision::float32);
  std::vector<StoredTensor> beyond = stored;
  beyond[0].begin = size_t{1} << 40;
  fails(report, name + ": a short file", "bad_model", "ends inside tensor",
        [&] { another.add_frozen_model("m", variant.config, beyond); });
  another.add_model("m", variant.config);
  another.load_tensors("m", stored);
  report.check(read_all(another, "m", TensorKind::weight) == read_all(wide, "m", TensorKind::weight),
               name + ": the same file as a whole model");
}

// What is predicted of a batch is what the engine then holds.
struct Prediction {
  const char* name;
  int threads, data, prompt, replies, reply;
};

void check_prediction(Report& report, const Prediction& at) {
  ModelConfig config = tiny_config();
  config.hidden = config.intermediate = 256;
  config.vocab = 1000;
  config.max_positions = 2048;
  Engine engine(at.threads, Precision::float32);
  engine.add_model("m", config);
  engine.add_adapter("a", "m", {4, 8, every_target, false});
  fill_random(engine, "m", 5);
  const double before = engine.memory_bytes();
  Random random(3);
  std::vector<Datum> data;
  for (int i = 0; i < at.data; i++) {
    data.push_back(random_datum(random, "a", 1000, at.prompt, std::vector<int>(at.replies, at.reply)));
  }
  WorkSize work;
  work.prompts = at.data * at.prompt;
  work.sequences = at.data * at.replies;
  work.tokens = work.prompts + work.sequences * at.reply;
  work.longest = at.prompt + at.reply;
  const double predicted = engine.predict_bytes(work);
  engine.forward_backward(data, {}, never);
  engine.optimizer_step("a", {});
  for (const Datum& datum : data) {
    SampleRequest request;
    request.policy = "a";
    request.prompt = datum.prompt;
    request.count = at.replies;
    request.max_tokens = at.reply;
    engine.submit(request, nullptr, [](auto&&) {}, [](auto&) {});
  }
  while (!engine.idle()) engine.sample_step();
  const double taken = engine.memory_bytes() - before;
  report.check(std::fabs(predicted / taken - 1) < 0.15, std::string("predicted memory: ") + at.name, predicted, taken);
}

void check_frozen(Report& report) {
  char path[] = "/tmp/troupe-frozen-XXXXXX";
  const int file = mkstemp(path);
  for (const Variant& variant : variants()) check_frozen(report, variant, path);
  check_stored(report, path);
  close(file);
  unlink(path);
}

void check_steps(Report& report) {
  Engine engine(2, Precision::float32);
  add_policies(engine);
  const Floats base = read_all(engine, "m", TensorKind::weight), other = read_all(engine, "b", TensorKind::weight);
  Random random(4);
  Datum datum = random_datum(random, "a", 23, 7, {5, 4});
  for (Continuation& continuation : datum.continuations) continuation.weights.clear();
  AdamParameters adam;
  adam.learning_rate = 0.02f;
  const double before = engine.forward_backward({datum}, {}, never).loss;
  for (int step = 0; step < 30; step++) {
    engine.optimizer_step("a", adam);
    engine.forward_backward({datum}, {}, never);
  }
  const double after = engine.forward_backward({datum}, {}, never).loss;
  report.check(after < 0.5 * before, "an adapter learns", after, 0.5 * before);
  report.check(read_all(engine, "m", TensorKind::weight) == base, "its base does not change");
  report.check(read_all(engine, "b", TensorKind::weight) == other, "nor does another adapter");
}

}  // namespace

void check_adapters(Report& report) {
  check_together(report);
  check_meaning(report);
  check_frozen(report);
  check_prediction(report, {"one datum, which no shards share", 2, 1, 400, 2, 200});
  check_prediction(report, {"shards of many pieces", 2, 16, 16, 1, 112});
  check_prediction(report, {"shards of one large piece", 2, 2, 200, 8, 90});
  check_prediction(report, {"shards of one long sequence", 2, 2, 200, 1, 1200});
  check_prediction(report, {"more shards", 8, 16, 128, 8, 64});
  check_steps(report);
}

}  // namespace troupe::test
