// Prompts that continue kept sequences have the bits of prompts computed from their beginning and of the training
// forward pass, and count what they compute.
#include <memory>

#include "../engine/prefixes.h"
#include "engine_check.h"

namespace troupe::test {
namespace {

using Tokens = std::vector<int32_t>;

SampleRequest ask(const std::string& policy, const Tokens& prompt, int count, int max_tokens) {
  SampleRequest request;
  request.policy = policy;
  request.prompt = prompt;
  request.count = count;
  request.max_tokens = max_tokens;
  request.seed = prompt.size();
  request.continued = true;
  return request;
}

std::vector<SampledSequence> sample(Engine& engine, const SampleRequest& request) {
  std::vector<SampledSequence> samples;
  engine.submit(
      request, nullptr, [&](std::vector<SampledSequence>&& sampled) { samples = std::move(sampled); },
      [](const EngineError& error) { throw error; });
  while (!engine.idle()) engine.sample_step();
  return samples;
}

// Samples, and compares with a forward pass of the same engine, which keeps nothing.
std::vector<SampledSequence> check_sample(Report& report, Engine& engine, const SampleRequest& request,
                                          const std::string& what) {
  const std::vector<SampledSequence> samples = sample(engine, request);
  Datum datum{request.policy, request.prompt, {}};
  for (const SampledSequence& sequence : samples) {
    datum.continuations.emplace_back();
    datum.continuations.back().tokens = sequence.tokens;
  }
  const LossResult full = engine.forward({datum}, never);
  for (size_t i = 0; i < samples.size(); i++) {
    report.check(samples[i].logprobs == full.outputs[i], what + ": log-probabilities of a forward pass");
  }
  report.check(static_cast<int>(samples.size()) == request.count, what + ": sampled");
  return samples;
}

void check_reused(Report& report, const Engine& engine, uint64_t& before, uint64_t more, const std::string& what) {
  const uint64_t reused = engine.prompt_tokens().reused;
  report.check(reused == before + more, what + ": tokens reused", reused - before, more);
  before = reused;
}

void add_policies(Engine& engine, const ModelConfig& config) {
  engine.add_model("m", config);
  engine.add_adapter("a", "m", {4, 8, targets_of(config, {"q_proj", "v_proj", "down_proj"})});
  engine.add_adapter("b", "m", {2, 3, targets_of(config, {"k_proj", "up_proj"})});
  for (const char* policy : {"m", "a", "b"}) fill_random(engine, policy, 5, 0.6);
}

Tokens joined(Tokens first, const Tokens& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Four turns, in each of which every sample of the turn before is continued, by three policies of one base.
void check_conversations(Report& report, const Variant& variant, int threads, Precision precision) {
  Engine engine(threads, precision), without(threads, precision);
  add_policies(engine, variant.config);
  add_policies(without, variant.config);
  Random random(31);
  const Tokens first = random_tokens(random, variant.config.vocab, 9);
  uint64_t reused = 0;
  for (const char* policy : {"m", "a", "b"}) {
    std::vector<Tokens> prompts{first};
    for (int turn = 0; turn < 4; turn++) {
      const std::string what = std::string(variant.name) + ", " + policy + ", turn " + std::to_string(turn + 1);
      std::vector<Tokens> next;
      for (const Tokens& prompt : prompts) {
        SampleRequest request = ask(policy, prompt, turn == 0 ? 3 : 1, 6);
        const auto samples = check_sample(report, engine, request, what);
        // All but what is new and the last token of the turn before, which was never fed.
        check_reused(report, engine, reused, turn == 0 ? 0 : prompt.size() - 5, what);
        request.continued = false;
        const auto expected = sample(without, request);
        for (size_t i = 0; i < samples.size(); i++) {
          report.check(samples[i].tokens == expected[i].tokens && samples[i].logprobs == expected[i].logprobs, what);
          next.push_back(joined(joined(prompt, samples[i].tokens), random_tokens(random, variant.config.vocab, 4)));
        }
      }
      prompts = next;
    }
  }
  report.check(without.prompt_tokens().reused == 0, "what is not continued is not kept");
}

// The same prompt, one that ends otherwise, and what continues the first: what is kept is not written to.
void check_repeated(Report& report, const Variant& variant) {
  Engine engine(2, Precision::float32);
  add_policies(engine, variant.config);
  Random random(32);
  const Tokens prompt = random_tokens(random, variant.config.vocab, 12);
  Tokens other = prompt;
  other.back() = (other.back() + 1) % variant.config.vocab;
  const Tokens part(prompt.begin(), prompt.begin() + 7);
  uint64_t reused = 0;
  const auto samples = check_sample(report, engine, ask("a", prompt, 2, 8), "first");
  check_reused(report, engine, reused, 0, "first");
  for (const Tokens& again : {prompt, other, joined(prompt, samples[0].tokens), part, prompt}) {
    const auto repeated = check_sample(report, engine, ask("a", again, 2, 8), "again");
    check_reused(report, engine, reused, again.size() - 1, "again");
    if (again != prompt) continue;
    for (int i : {0, 1}) report.check(samples[i].logprobs == repeated[i].logprobs, "the same samples again");
  }
  check_sample(report, engine, ask("b", prompt, 2, 8), "another policy");
  check_sample(report, engine, ask("m", prompt, 2, 8), "their base");
  check_reused(report, engine, reused, 0, "of another policy");
}

// Nothing of other weights is reused: after a step, after a tensor is written, of the base too, and for a new adapter
// in the place of one that was removed.
void check_changes(Report& report, const Variant& variant) {
  Engine engine(2, Precision::float32);
  add_policies(engine, variant.config);
  Random random(33);
  const Tokens prompt = random_tokens(random, variant.config.vocab, 10);
  uint64_t reused = 0;
  auto check = [&](const std::string& what, std::initializer_list<const char*> fresh) {
    for (const char* policy : {"m", "a", "b"}) {
      const bool is_new = std::find(fresh.begin(), fresh.end(), std::string(policy)) != fresh.end();
      check_sample(report, engine, ask(policy, prompt, 1, 8), what + ", " + policy);
      check_reused(report, engine, reused, is_new ? 0 : prompt.size() - 1, what + ", " + policy);
    }
  };
  auto step = [&](const char* policy) {
    engine.forward_backward({random_datum(random, policy, variant.config.vocab, 3, {4})}, {}, never);
    AdamParameters adam;
    adam.learning_rate = 0.1f;
    engine.optimizer_step(policy, adam);
  };
  check("first", {"m", "a", "b"});
  check("second", {});
  step("a");
  check("a step of an adapter", {"a"});
  fill_random(engine, "b", 6, 0.6);
  check("an adapter written", {"b"});
  step("m");
  check("a step of the base", {"m", "a", "b"});
  engine.remove("b");
  engine.add_adapter("b", "m", {2, 3, targets_of(variant.config, {"k_proj", "up_proj"})});
  fill_random(engine, "b", 7, 0.6);
  check("another adapter", {"b"});
  check("nothing new", {});
  size_t bytes = 0;
  for (int i = 0; i < 5; i++) {
    step("a");
    check("another step of an adapter", {"a"});
    if (i == 0) bytes = engine.memory_bytes();
  }
  report.check(engine.memory_bytes() == bytes, "memory of older weights is used again", engine.memory_bytes(), bytes);
}

// Many conversations at once under any limit: those that run have priority, and results are the same.
void check_limits(Report& report) {
  const ModelConfig config = tiny_config();
  const size_t sequence = sizeof(float) * 2 * 2 * 32 * 2 * 4;  // 32 positions
  std::vector<std::vector<SampledSequence>> expected;
  for (size_t limit : {size_t{1} << 30, size_t{0}, 5 * sequence, 40 * sequence}) {
    Engine engine(2, Precision::float32, limit);
    add_policies(engine, config);
    const size_t without = engine.memory_bytes();
    Random random(34);
    std::vector<Tokens> prompts;
    for (int i = 0; i < 30; i++) prompts.push_back(random_tokens(random, config.vocab, 5 + i % 3));
    std::vector<std::vector<SampledSequence>> all;
    for (int turn = 0; turn < 3; turn++) {
      std::vector<std::vector<SampledSequence>> samples(prompts.size());
      for (size_t i = 0; i < prompts.size(); i++) {
        auto done = [&samples, i](std::vector<SampledSequence>&& sampled) { samples[i] = std::move(sampled); };
        engine.submit(ask(i % 2 ? "a" : "m", prompts[i], 1, 7), nullptr, done, [](const EngineError& error) { throw error; });
      }
      while (!engine.idle()) engine.sample_step();
      for (size_t i = 0; i < prompts.size(); i++) {
        prompts[i] = joined(joined(prompts[i], samples[i][0].tokens), random_tokens(random, config.vocab, 2));
        all.push_back(samples[i]);
      }
    }
    if (expected.empty()) expected = all;
    for (size_t i = 0; i < all.size(); i++) {
      report.check(all[i][0].tokens == expected[i][0].tokens && all[i][0].logprobs == expected[i][0].logprobs,
                   "under a limit of " + std::to_string(limit));
    }
    const uint64_t reused = engine.prompt_tokens().reused;
    if (limit == 0) report.check(reused == 0, "nothing is kept without memory", reused, 0);
    if (limit > 30 * sequence) report.check(reused > 0, "conversations are continued", reused, 0);
    report.check(limit == 0 || engine.memory_bytes() < without + limit + 400000, "memory", engine.memory_bytes() - without, limit);
  }
}

// The one that is dropped is the least recently used, until there is none.
void check_many(Report& report) {
  constexpr int count = 400;
  Model model("m", tiny_config());
  const Policy policy{&model, nullptr};
  KeptSequences kept;
  for (int i = 0; i < count; i++) kept.keep(policy, {i, 1}, {});
  kept.find(policy, {0, 1});
  kept.drop_oldest();
  report.check(kept.find(policy, {0, 1}).positions == 2, "what was found last stays");
  report.check(kept.find(policy, {1, 1}).positions == 0, "the least recently used goes first");
  int dropped = 1;
  while (kept.drop_oldest()) dropped++;
  report.check(dropped == count, "all are dropped", dropped, count);
}

// Prompts that are computed in pieces, one of them from a kept sequence on.
void check_pieces(Report& report, Precision precision) {
  for (Variant variant : variants()) {
    variant.config.max_positions = 4000;
    Engine engine(2, precision);
    add_policies(engine, variant.config);
    Random random(35);
    const Tokens prompt = random_tokens(random, variant.config.vocab, 1600);
    check_sample(report, engine, ask("a", prompt, 2, 4), std::string(variant.name) + ", long");
    const Tokens longer = joined(prompt, random_tokens(random, variant.config.vocab, 1100));
    check_sample(report, engine, ask("a", longer, 1, 4), std::string(variant.name) + ", longer");
    report.check(engine.prompt_tokens().reused == 1600, "long prompts are kept", engine.prompt_tokens().reused, 1600);
  }
}

}  // namespace

void check_prefixes(Report& report) {
  for (const Variant& variant : variants()) {
    for (int threads : {1, 2}) {
      check_conversations(report, variant, threads, Precision::float32);
      check_conversations(report, variant, threads, Precision::bfloat16);
    }
    check_repeated(report, variant);
    check_changes(report, variant);
  }
  check_limits(report);
  check_many(report);
  check_pieces(report, Precision::float32);
  check_pieces(report, Precision::bfloat16);
}

}  // namespace troupe::test
