#include "results.h"

namespace troupe {

Napi::Value to_javascript(Napi::Env env, const std::vector<TensorInfo>& tensors) {
  Napi::Array list = Napi::Array::New(env, tensors.size());
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    Napi::Array shape = Napi::Array::New(env, tensors[i].shape.size());
    for (uint32_t d = 0; d < tensors[i].shape.size(); ++d) shape.Set(d, tensors[i].shape[d]);
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", tensors[i].name);
    entry.Set("shape", shape);
    list.Set(i, entry);
  }
  return list;
}

Napi::Value to_javascript(Napi::Env env, const std::vector<SampledSequence>& sequences) {
  size_t total = 0;
  for (const SampledSequence& sequence : sequences) total += sequence.tokens.size();
  Napi::Int32Array tokens = Napi::Int32Array::New(env, total);
  Napi::Float32Array logprobs = Napi::Float32Array::New(env, total);
  Napi::Float32Array entropies = Napi::Float32Array::New(env, total);
  Napi::Int32Array lengths = Napi::Int32Array::New(env, sequences.size());
  Napi::Uint8Array stopped = Napi::Uint8Array::New(env, sequences.size());
  size_t at = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const SampledSequence& sequence = sequences[i];
    if (sequence.logprobs.size() != sequence.tokens.size() || sequence.entropies.size() != sequence.tokens.size()) {
      throw Napi::Error::New(env, "The engine returned a token without its log-probability or entropy.");
    }
    std::copy(sequence.tokens.begin(), sequence.tokens.end(), tokens.Data() + at);
    std::copy(sequence.logprobs.begin(), sequence.logprobs.end(), logprobs.Data() + at);
    std::copy(sequence.entropies.begin(), sequence.entropies.end(), entropies.Data() + at);
    lengths[i] = static_cast<int32_t>(sequence.tokens.size());
    stopped[i] = sequence.reason == StopReason::stop;
    at += sequence.tokens.size();
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("tokens", tokens);
  result.Set("logprobs", logprobs);
  result.Set("entropies", entropies);
  result.Set("lengths", lengths);
  result.Set("stopped", stopped);
  return result;
}

Napi::Value to_javascript(Napi::Env env, const LossResult& from) {
  std::vector<float> outputs;
  for (const std::vector<float>& continuation : from.outputs) {
    outputs.insert(outputs.end(), continuation.begin(), continuation.end());
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("loss", from.loss);
  result.Set("tokens", static_cast<double>(from.tokens));
  result.Set("entropy", from.entropy);
  result.Set("kl", from.kl);
  result.Set("referenceKl", from.reference_kl);
  result.Set("clipped", static_cast<double>(from.clipped));
  result.Set("outputs", to_javascript(env, outputs));
  if (from.top > 0) {
    std::vector<int32_t> tokens;
    std::vector<float> logprobs;
    for (const auto& part : from.top_tokens) tokens.insert(tokens.end(), part.begin(), part.end());
    for (const auto& part : from.top_logprobs) logprobs.insert(logprobs.end(), part.begin(), part.end());
    Napi::Int32Array array = Napi::Int32Array::New(env, tokens.size());
    std::copy(tokens.begin(), tokens.end(), array.Data());
    result.Set("topTokens", array);
    result.Set("topLogprobs", to_javascript(env, logprobs));
  }
  return result;
}

}  // namespace troupe
