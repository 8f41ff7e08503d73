// Converts JavaScript values to C++. Everything is copied; invalid values throw EngineError("bad_arguments") with the
// field's name. The TypeScript side checks first, with better messages: this keeps garbage from causing a crash.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../engine/engine.h"
#include "javascript.h"

namespace troupe {

// A value and its name in messages.
struct Argument {
  Napi::Value value;
  std::string name;

  Argument operator[](const char* field) const;  // of an object
  bool absent() const { return value.IsUndefined() || value.IsNull(); }

  std::string text() const;
  bool flag() const;
  double number() const;  // finite
  float real() const;     // finite as float32
  int64_t integer(int64_t low, int64_t high) const;
  int count() const { return static_cast<int>(integer(0, INT32_MAX)); }
  std::vector<std::string> texts() const;
  Napi::Int32Array int32s() const;
  Napi::Float32Array floats() const;
  std::vector<float> float_vector() const;
  std::vector<int32_t> int_vector() const;

  [[noreturn]] void refuse(const char* expected) const;
};

ModelConfig model_config(const Argument&);
AdapterConfig adapter_config(const Argument&);
std::vector<StoredTensor> stored_tensors(const Argument&);
AdamParameters adam_parameters(const Argument&);
SampleRequest sample_request(const Argument&);
Loss loss(const Argument&);
TensorKind tensor_kind(const Argument&);
Precision precision(const Argument&);

// Many sequences in one flat call. With d data and c continuations in total:
//   policies: string[]; policyOf, promptLengths, continuationCounts: Int32Array(d); continuationLengths: Int32Array(c);
//   tokens: Int32Array, datum by datum: its prompt, then its continuations;
//   weights, advantages, logprobs, reference, penalties, targets, values, mask: Float32Array with a number for each
//   continuation token, or absent.
std::vector<Datum> training_data(const Argument&);
// The bytes of each vocabulary entry: bytes: Uint8Array, lengths: Int32Array.
TokenBytes token_bytes(const Argument&);

}  // namespace troupe
