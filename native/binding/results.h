// Converts C++ values to JavaScript.
#pragma once
#include <cstring>

#include "arguments.h"

namespace troupe {

struct Nothing {};

inline Napi::Value to_javascript(Napi::Env env, const Nothing&) { return env.Undefined(); }
inline Napi::Value to_javascript(Napi::Env env, const int64_t& n) {
  return Napi::Number::New(env, static_cast<double>(n));
}

inline Napi::Value to_javascript(Napi::Env env, const std::vector<float>& from) {
  Napi::Float32Array array = Napi::Float32Array::New(env, from.size());
  if (!from.empty()) std::memcpy(array.Data(), from.data(), from.size() * sizeof(float));
  return array;
}

inline Napi::Value to_javascript(Napi::Env env, const StepResult& result) {
  return Napi::Number::New(env, result.gradient_norm);
}

// [{name, shape}]
Napi::Value to_javascript(Napi::Env env, const std::vector<TensorInfo>& tensors);
// {tokens: Int32Array, logprobs, entropies: Float32Array, lengths: Int32Array, stopped: Uint8Array (1: by a stop token or string)}
Napi::Value to_javascript(Napi::Env env, const std::vector<SampledSequence>& sequences);
// {loss, tokens, entropy, kl, referenceKl, clipped, outputs: Float32Array of all continuations}
Napi::Value to_javascript(Napi::Env env, const LossResult& result);

}  // namespace troupe
