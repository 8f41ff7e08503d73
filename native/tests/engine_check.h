// Shared by the engine's tests: tiny models of every variant, random weights and data.
#pragma once
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "../engine/engine.h"
#include "kernels_check.h"

namespace troupe::test {

inline const std::atomic<bool> never{false};

struct Variant {
  const char* name;
  ModelConfig config;
};

inline ModelConfig tiny_config() {
  ModelConfig config;
  config.vocab = 23;
  config.hidden = 16;
  config.intermediate = 24;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 4;
  config.max_positions = 64;
  config.tied_embeddings = true;
  config.query_scalar = 4;
  config.ropes = {{{1.0f, 0.1f}}};
  config.layer_ropes = config.windows = {0, 0};
  return config;
}

// Every switch of the family in both positions at least once.
inline std::vector<Variant> variants() {
  std::vector<Variant> all{{"llama, tied", tiny_config()},
                           {"llama, untied", tiny_config()},
                           {"qwen2: bias", tiny_config()},
                           {"qwen3: query/key norm, wide heads", tiny_config()},
                           {"one key/value head, bias and norm", tiny_config()},
                           {"mistral: windows", tiny_config()},
                           {"smollm3: a layer without positions", tiny_config()},
                           {"phi3: fused projections, a part of the heads turned", tiny_config()},
                           {"gemma3", tiny_config()}};
  all[1].config.tied_embeddings = false;
  all[1].config.kv_heads = 4;
  all[2].config.qkv_bias = true;
  all[3].config.qk_norm = true;
  all[3].config.head_dim = 6;
  all[3].config.ropes = {{{1.0f, 0.3f, 0.05f}}};
  all[4].config.kv_heads = 1;
  all[4].config.qkv_bias = all[4].config.qk_norm = true;
  all[5].config.windows = {5, 3};
  all[6].config.layer_ropes = {0, -1};
  ModelConfig& phi = all[7].config;
  phi.fused = true;
  phi.head_dim = 6;
  phi.query_scalar = 6;
  phi.ropes[0].factor = 1.2f;
  phi.windows = {4, 4};
  ModelConfig& gemma = all[8].config;
  gemma.norm_offset = 0.125f;  // Gemma's is 1; weights are near 1 here, and steeper losses have no exact differences
  gemma.query_scalar = 7;
  gemma.embedding_scale = 2;
  gemma.activation = Activation::gelu_tanh;
  gemma.qk_norm = gemma.normed_outputs = true;
  gemma.ropes = {{{1.0f, 0.1f}}, {{1.0f, 0.02f}}};
  gemma.layer_ropes = {0, 1};
  gemma.windows = {6, 0};
  all[4].config.tied_embeddings = false;
  return all;
}

// Norm weights near 1, the rest uniform in ±size.
inline void fill_random(Engine& engine, const std::string& policy, uint64_t seed, double size = 0.3) {
  Random random(seed);
  for (const TensorInfo& info : engine.tensors(policy)) {
    size_t n = 1;
    for (int extent : info.shape) n *= extent;
    Floats values = random.floats(n, size);
    if (info.name.find("norm") != std::string::npos) {
      for (float& value : values) value += 1;
    }
    engine.write_tensor(policy, TensorKind::weight, info.name, values.data(), n);
  }
}

// The names of projections in a model that fuses them.
inline std::vector<std::string> targets_of(const ModelConfig& config, const std::vector<std::string>& names) {
  if (!config.fused) return names;
  std::vector<std::string> fused;
  for (const std::string& name : names) {
    const bool reads = name == "q_proj" || name == "k_proj" || name == "v_proj";
    fused.push_back(reads ? "qkv_proj" : name == "gate_proj" || name == "up_proj" ? "gate_up_proj" : name);
  }
  return fused;
}

inline size_t size_of(const TensorInfo& info) {
  size_t n = 1;
  for (int extent : info.shape) n *= extent;
  return n;
}

inline Floats read(const Engine& engine, const std::string& policy, TensorKind kind, const TensorInfo& info) {
  Floats values(size_of(info));
  engine.read_tensor(policy, kind, info.name, values.data(), values.size());
  return values;
}

// All tensors concatenated.
inline Floats read_all(const Engine& engine, const std::string& policy, TensorKind kind) {
  Floats all;
  for (const TensorInfo& info : engine.tensors(policy)) {
    const Floats values = read(engine, policy, kind, info);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

inline std::vector<int32_t> random_tokens(Random& random, int vocab, int count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>((random.uniform() + 1) / 2 * vocab);
  return tokens;
}

inline Datum random_datum(Random& random, const std::string& policy, int vocab, int prompt,
                          const std::vector<int>& lengths) {
  Datum datum{policy, random_tokens(random, vocab, prompt), {}};
  for (int length : lengths) {
    Continuation continuation;
    continuation.tokens = random_tokens(random, vocab, length);
    continuation.weights = random.floats(length);
    continuation.advantages = random.floats(length);
    for (int i = 0; i < length; i++) continuation.logprobs.push_back(static_cast<float>(-3 + random.uniform() * 0.4));
    for (int i = 0; i < length; i++) continuation.reference.push_back(static_cast<float>(-3 + random.uniform() * 0.4));
    continuation.penalties = random.floats(length, 0.5);
    continuation.targets = random.floats(length);
    continuation.values = random.floats(length);
    datum.continuations.push_back(std::move(continuation));
  }
  return datum;
}

// |a − b| ≤ tolerance × the largest |b|.
inline void near(Report& report, const std::string& what, const Floats& seen, const Floats& expected, double tolerance) {
  report.check(seen.size() == expected.size(), what + ": length", seen.size(), expected.size());
  report.close(what, seen, std::vector<double>(expected.begin(), expected.end()), tolerance);
}

inline void fails(Report& report, const std::string& what, const std::string& code, const std::string& words,
                  const std::function<void()>& call) {
  try {
    call();
    report.check(false, what + ": no error");
  } catch (const EngineError& error) {
    report.check(error.code == code, what + ": code " + error.code + ", expected " + code);
    const bool said = std::string(error.what()).find(words) != std::string::npos;
    report.check(said, what + ": \"" + error.what() + "\" does not say \"" + words + "\"");
  }
}

void check_gradients(Report&);
void check_losses(Report&);
void check_critics(Report&);
void check_training(Report&);
void check_adapters(Report&);
void check_sampling(Report&);
void check_prefixes(Report&);
void check_choice(Report&);
void check_errors(Report&);
void check_threads(Report&, bool print);

}  // namespace troupe::test
