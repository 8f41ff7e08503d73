// Continuous batching compared with one request at a time, and with the training forward pass.
#include <map>
#include <memory>

#include "engine_check.h"

namespace troupe::test {
namespace {

using Samples = std::vector<SampledSequence>;

struct Answer {
  Samples samples;
  std::string error;
  bool over = false;
};

std::shared_ptr<Answer> submit(Engine& engine, const SampleRequest& request,
                               std::shared_ptr<std::atomic<bool>> cancel = nullptr) {
  auto answer = std::make_shared<Answer>();
  engine.submit(
      request, std::move(cancel),
      [answer](Samples&& samples) {
        answer->samples = std::move(samples);
        answer->over = true;
      },
      [answer](const EngineError& error) {
        answer->error = error.code;
        answer->over = true;
      });
  return answer;
}

void run(Engine& engine) {
  while (!engine.idle()) engine.sample_step();
}

bool same(const Samples& a, const Samples& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++) {
    if (a[i].tokens != b[i].tokens || a[i].logprobs != b[i].logprobs || a[i].reason != b[i].reason) return false;
  }
  return true;
}

void add_policies(Engine& engine, const ModelConfig& config) {
  engine.add_model("m", config);
  engine.add_adapter("a", "m", {4, 8, targets_of(config, {"q_proj", "v_proj", "down_proj"})});
  engine.add_adapter("b", "m", {2, 3, targets_of(config, {"o_proj", "up_proj"})});
  engine.add_model("other", tiny_config());
  for (const char* policy : {"m", "a", "b", "other"}) fill_random(engine, policy, 5, 0.6);
}

SampleRequest random_request(Random& random, const std::string& policy, int vocab, int number) {
  SampleRequest request;
  request.policy = policy;
  request.prompt = random_tokens(random, vocab, 1 + number % 17);
  request.count = 1 + number % 5;
  request.max_tokens = 1 + number % 13;
  request.seed = number;
  request.continued = number % 3 == 1;
  if (number % 3 == 0) request.stop_tokens = {3, 4, 5};
  if (number % 4 == 1) request.top_k = 5;
  if (number % 4 == 2) request.top_p = 0.8f;
  if (number % 7 == 3) request.temperature = 0;
  return request;
}

// 300 concurrent requests of four policies, in each variant and precision, have the same bits as each of them alone.
void check_batches(Report& report) {
  const char* policies[] = {"m", "a", "b", "other"};
  for (const Variant& variant : variants()) {
    for (Precision precision : {Precision::float32, Precision::bfloat16}) {
      Engine engine(2, precision);
      add_policies(engine, variant.config);
      Random random(21);
      std::vector<SampleRequest> requests;
      std::vector<std::shared_ptr<Answer>> answers;
      for (int i = 0; i < 300; i++) {
        requests.push_back(random_request(random, policies[i % 4], variant.config.vocab, i));
        if (i % 10 == 9) requests.back().prompt = requests[i - 4].prompt;  // shared, or of another policy
        answers.push_back(submit(engine, requests.back()));
        if (i % 50 == 49) engine.sample_step();
      }
      run(engine);
      for (int i = 0; i < 300; i += 7) {
        auto alone = submit(engine, requests[i]);
        run(engine);
        report.check(alone->over && answers[i]->over && same(alone->samples, answers[i]->samples),
                     std::string(variant.name) + ": request " + std::to_string(i) + " alone and in a batch");
      }
    }
  }
}

// Log-probabilities from the key/value cache have the same bits as a full forward pass, so that the ratio of a policy
// to itself is exactly 1.
void check_cache(Report& report, Precision precision) {
  for (const Variant& variant : variants()) {
    Engine engine(2, precision);
    add_policies(engine, variant.config);
    Random random(22);
    for (const char* policy : {"m", "a"}) {
      SampleRequest request = random_request(random, policy, variant.config.vocab, 9);
      request.stop_tokens.clear();
      request.max_tokens = 40;
      auto answer = submit(engine, request);
      run(engine);
      Datum datum{policy, request.prompt, {}};
      for (const SampledSequence& sequence : answer->samples) {
        datum.continuations.emplace_back();
        datum.continuations.back().tokens = sequence.tokens;
        report.check(sequence.tokens.size() == 40 && sequence.reason == StopReason::length, "forty tokens");
      }
      const LossResult full = engine.forward({datum}, never);
      for (size_t i = 0; i < answer->samples.size(); i++) {
        report.check(answer->samples[i].logprobs == full.outputs[i],
                     std::string(variant.name) + ": cached log-probabilities");
      }
    }
  }
}

void check_stops(Report& report) {
  Engine engine(1, Precision::float32);
  add_policies(engine, tiny_config());
  std::vector<std::string> bytes;
  for (int i = 0; i < 23; i++) bytes.push_back(std::string(1, static_cast<char>('a' + i)));
  std::string letters;
  for (const std::string& letter : bytes) letters += letter;
  engine.set_token_bytes("m", TokenBytes(letters, std::vector<int32_t>(23, 1)));
  SampleRequest request;
  request.policy = "a";
  request.prompt = {1, 2, 3};
  request.max_tokens = 30;
  auto free = submit(engine, request);
  run(engine);
  const std::vector<int32_t> tokens = free->samples[0].tokens;
  request.stop_strings = {"never#", bytes[tokens[10]] + bytes[tokens[11]] + bytes[tokens[12]]};
  auto stopped = submit(engine, request);
  run(engine);
  const SampledSequence& sequence = stopped->samples[0];
  report.check(sequence.tokens.size() <= 13 && sequence.reason == StopReason::stop, "a stop string ends the sequence");
  report.check(sequence.tokens == std::vector<int32_t>(tokens.begin(), tokens.begin() + sequence.tokens.size()),
               "and keeps its tokens");
  request.stop_strings.clear();
  request.stop_tokens = {tokens[7]};
  auto ended = submit(engine, request);
  run(engine);
  report.check(ended->samples[0].tokens.back() == tokens[7] && ended->samples[0].tokens.size() <= 8,
               "a stop token ends the sequence and is kept");
}

void check_seeds(Report& report) {
  Engine engine(1, Precision::float32);
  add_policies(engine, tiny_config());
  SampleRequest request;
  request.policy = "m";
  request.prompt = {1, 2, 3};
  request.max_tokens = 20;
  request.count = 3;
  request.seed = 1;
  auto first = submit(engine, request);
  request.count = 40;  // more than one decoding group
  auto more = submit(engine, request);
  request.seed = 2;
  auto other = submit(engine, request);
  run(engine);
  report.check(same(first->samples, Samples(more->samples.begin(), more->samples.begin() + 3)),
               "sequence i does not depend on how many there are");
  report.check(!same(more->samples, other->samples), "another seed, another sample");
  report.check(more->samples[0].tokens != more->samples[1].tokens, "another sequence, another sample");
}

// Many more sequences than are decoded at once, some of them cancelled midway.
void check_cancel(Report& report) {
  Engine engine(2, Precision::float32);
  add_policies(engine, tiny_config());
  SampleRequest request;
  request.policy = "m";
  request.prompt = {1, 2, 3};
  request.max_tokens = 20;
  request.count = 1500;
  auto flag = std::make_shared<std::atomic<bool>>(false), later = std::make_shared<std::atomic<bool>>(false);
  auto cancelled = submit(engine, request, flag), waiting = submit(engine, request, later), stays = submit(engine, request);
  for (int i = 0; i < 5; i++) engine.sample_step();
  report.check(!cancelled->over, "not over yet");
  *flag = *later = true;
  engine.sample_step();
  report.check(cancelled->error == "cancelled" && waiting->error == "cancelled", "cancelled at the next step");
  run(engine);
  report.check(stays->samples.size() == 1500, "the others go on", stays->samples.size(), 1500);
  for (const SampledSequence& sequence : stays->samples) report.check(sequence.tokens.size() == 20, "to their end");
}

}  // namespace

void check_sampling(Report& report) {
  check_batches(report);
  check_cache(report, Precision::float32);
  check_cache(report, Precision::bfloat16);
  check_stops(report);
  check_seeds(report);
  check_cancel(report);
}

}  // namespace troupe::test
