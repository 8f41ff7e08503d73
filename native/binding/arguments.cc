#include "arguments.h"

#include <cmath>

namespace troupe {

void Argument::refuse(const char* expected) const {
  throw EngineError("bad_arguments", name + " must be " + expected + ".");
}

Argument Argument::operator[](const char* field) const {
  if (!value.IsObject()) refuse("an object");
  return {value.As<Napi::Object>().Get(field), name + "." + field};
}

std::string Argument::text() const {
  if (!value.IsString()) refuse("a string");
  return value.As<Napi::String>().Utf8Value();
}

bool Argument::flag() const {
  if (!value.IsBoolean()) refuse("a boolean");
  return value.As<Napi::Boolean>().Value();
}

double Argument::number() const {
  if (!value.IsNumber()) refuse("a number");
  double number = value.As<Napi::Number>().DoubleValue();
  if (!std::isfinite(number)) refuse("a finite number");
  return number;
}

float Argument::real() const {
  float real = static_cast<float>(number());
  if (!std::isfinite(real)) refuse("a finite number");
  return real;
}

int64_t Argument::integer(int64_t low, int64_t high) const {
  double n = number();
  if (n != std::floor(n) || n < static_cast<double>(low) || n > static_cast<double>(high)) {
    refuse(("an integer from " + std::to_string(low) + " to " + std::to_string(high)).c_str());
  }
  return static_cast<int64_t>(n);
}

std::vector<std::string> Argument::texts() const {
  if (!value.IsArray()) refuse("an array of strings");
  Napi::Array array = value.As<Napi::Array>();
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < array.Length(); ++i) texts.push_back(Argument{array.Get(i), name + " entry"}.text());
  return texts;
}

Napi::Int32Array Argument::int32s() const {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) {
    refuse("an Int32Array");
  }
  return value.As<Napi::Int32Array>();
}

Napi::Float32Array Argument::floats() const {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float32_array) {
    refuse("a Float32Array");
  }
  return value.As<Napi::Float32Array>();
}

std::vector<float> Argument::float_vector() const {
  Napi::Float32Array array = floats();
  return std::vector<float>(array.Data(), array.Data() + array.ElementLength());
}

std::vector<int32_t> Argument::int_vector() const {
  Napi::Int32Array array = int32s();
  return std::vector<int32_t>(array.Data(), array.Data() + array.ElementLength());
}

static Activation activation(const Argument& from) {
  if (from.text() == "silu") return Activation::silu;
  if (from.text() == "gelu_tanh") return Activation::gelu_tanh;
  from.refuse("\"silu\" or \"gelu_tanh\"");
}

ModelConfig model_config(const Argument& from) {
  ModelConfig config;
  config.vocab = from["vocabularySize"].count();
  config.hidden = from["hiddenSize"].count();
  config.intermediate = from["intermediateSize"].count();
  config.layers = from["layers"].count();
  config.heads = from["heads"].count();
  config.kv_heads = from["keyValueHeads"].count();
  config.head_dim = from["headSize"].count();
  config.max_positions = from["maxLength"].count();
  config.rms_epsilon = from["rmsEpsilon"].real();
  config.norm_offset = from["normOffset"].real();
  config.query_scalar = from["queryScalar"].real();
  config.embedding_scale = from["embeddingScale"].real();
  config.activation = activation(from["activation"]);
  config.qkv_bias = from["queryKeyValueBias"].flag();
  config.qk_norm = from["queryKeyNorm"].flag();
  config.tied_embeddings = from["tiedEmbeddings"].flag();
  config.value_head = from["valueHead"].flag();
  config.fused = from["fusedProjections"].flag();
  config.normed_outputs = from["normedOutputs"].flag();
  config.layer_ropes = from["layerRopes"].int_vector();
  config.windows = from["windows"].int_vector();
  const std::vector<float> factors = from["ropeFactors"].float_vector();
  const Argument frequencies = from["inverseFrequencies"];
  for (size_t i = 0; i < factors.size(); i++) {
    config.ropes.push_back({frequencies[std::to_string(i).c_str()].float_vector(), factors[i]});
  }
  return config;
}

namespace {

StoredFormat stored_format(const Argument& from) {
  const std::string name = from.text();
  if (name == "F32") return StoredFormat::float32;
  if (name == "BF16") return StoredFormat::bfloat16;
  if (name == "F16") return StoredFormat::float16;
  from.refuse("F32, BF16 or F16");
}

}  // namespace

std::vector<StoredTensor> stored_tensors(const Argument& from) {
  if (!from.value.IsArray()) from.refuse("an array of tensors");
  Napi::Array array = from.value.As<Napi::Array>();
  std::vector<StoredTensor> tensors;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Argument each{array.Get(i), from.name + " entry"};
    tensors.push_back({each["name"].text(), each["path"].text(),
                       static_cast<size_t>(each["begin"].integer(0, int64_t{1} << 53)), stored_format(each["format"])});
  }
  return tensors;
}

AdapterConfig adapter_config(const Argument& from) {
  AdapterConfig config;
  config.rank = from["rank"].count();
  config.alpha = from["alpha"].real();
  config.targets = from["targetModules"].texts();
  config.value_head = from["valueHead"].flag();
  return config;
}

AdamParameters adam_parameters(const Argument& from) {
  AdamParameters adam;
  adam.learning_rate = from["learningRate"].real();
  adam.beta1 = from["beta1"].real();
  adam.beta2 = from["beta2"].real();
  adam.epsilon = from["epsilon"].real();
  adam.weight_decay = from["weightDecay"].real();
  adam.clip_norm = from["clipNorm"].real();
  return adam;
}

SampleRequest sample_request(const Argument& from) {
  SampleRequest request;
  request.policy = from["policy"].text();
  request.prompt = from["prompt"].int_vector();
  request.count = from["count"].count();
  request.max_tokens = from["maxTokens"].count();
  request.temperature = from["temperature"].real();
  request.top_k = from["topK"].count();
  request.top_p = from["topP"].real();
  request.seed = static_cast<uint64_t>(from["seed"].integer(0, (int64_t{1} << 53) - 1));
  request.stop_tokens = from["stopTokens"].int_vector();
  request.stop_strings = from["stopStrings"].texts();
  request.continued = from["continued"].flag();
  return request;
}

namespace {

LossKind loss_kind(const Argument& from) {
  const std::string type = from.text();
  if (type == "cross_entropy") return LossKind::cross_entropy;
  if (type == "importance_sampling") return LossKind::importance_sampling;
  if (type == "ppo") return LossKind::ppo;
  if (type == "cispo") return LossKind::cispo;
  if (type == "value") return LossKind::value;
  from.refuse("cross_entropy, importance_sampling, ppo or value");
}

KlEstimator kl_estimator(const Argument& from) {
  if (from.absent()) return KlEstimator::none;
  const std::string name = from.text();
  if (name == "k1") return KlEstimator::k1;
  if (name == "k2") return KlEstimator::k2;
  if (name == "k3") return KlEstimator::k3;
  from.refuse("k1, k2 or k3");
}

bool is_sequence(const Argument& from) {
  if (from.absent()) return false;
  const std::string name = from.text();
  if (name != "token" && name != "sequence") from.refuse("token or sequence");
  return name == "sequence";
}

// Zero means off, so it cannot be passed.
float optional_clip(const Argument& from) {
  if (from.absent()) return 0;
  const float clip = from.real();
  if (clip <= 0) from.refuse("above 0");
  return clip;
}

}  // namespace

Loss loss(const Argument& from) {
  Loss loss;
  loss.kind = loss_kind(from["type"]);
  if (loss.kind == LossKind::ppo || loss.kind == LossKind::cispo) {
    loss.clip_low = from["clipLow"].real();
    loss.clip_high = from["clipHigh"].real();
  }
  if (loss.kind == LossKind::ppo) {
    loss.dual_clip = optional_clip(from["dualClip"]);
    loss.sequence_ratio = is_sequence(from["ratio"]);
  }
  if (loss.kind == LossKind::value) {
    loss.value_clip = optional_clip(from["clip"]);
  } else if (loss.kind != LossKind::cross_entropy) {
    loss.kl = kl_estimator(from["kl"]);
    if (!from["entropy"].absent()) loss.entropy = from["entropy"].real();
  }
  return loss;
}

TensorKind tensor_kind(const Argument& from) {
  std::string kind = from.text();
  if (kind == "weight") return TensorKind::weight;
  if (kind == "gradient") return TensorKind::gradient;
  if (kind == "moment1") return TensorKind::moment1;
  if (kind == "moment2") return TensorKind::moment2;
  from.refuse("weight, gradient, moment1 or moment2");
}

Precision precision(const Argument& from) {
  std::string name = from.text();
  if (name == "float32") return Precision::float32;
  if (name == "bfloat16") return Precision::bfloat16;
  from.refuse("float32 or bfloat16");
}

namespace {

// A flat array to be cut into consecutive pieces.
template <typename Array, typename T>
class Pieces {
 public:
  Pieces(Array array, std::string name) : array_(array), name_(std::move(name)) {}
  const T* skip(int64_t n) {
    if (n < 0 || static_cast<uint64_t>(n) > array_.ElementLength() - used_) {
      throw EngineError("bad_arguments", name_ + " is shorter than the lengths say.");
    }
    const T* begin = array_.Data() + used_;
    used_ += static_cast<size_t>(n);
    return begin;
  }
  std::vector<T> take(int64_t n) {
    const T* begin = skip(n);
    return std::vector<T>(begin, begin + n);
  }
  void finished() const {
    if (used_ != array_.ElementLength()) {
      throw EngineError("bad_arguments", name_ + " is longer than the lengths say.");
    }
  }

 private:
  Array array_;
  std::string name_;
  size_t used_ = 0;
};
using Integers = Pieces<Napi::Int32Array, int32_t>;

class Numbers {  // of the continuations' tokens; absent gives empty vectors
 public:
  explicit Numbers(const Argument& from)
      : absent_(from.absent()),
        pieces_(absent_ ? Napi::Float32Array::New(from.value.Env(), 0) : from.floats(), from.name) {}
  std::vector<float> take(int64_t n) { return absent_ ? std::vector<float>() : pieces_.take(n); }
  void finished() const { pieces_.finished(); }

 private:
  bool absent_;
  Pieces<Napi::Float32Array, float> pieces_;
};

struct FlatBatch {
  std::vector<std::string> policies;
  Integers policy_of, prompt_lengths, counts, lengths, tokens;
  Numbers weights, advantages, logprobs, reference, penalties, targets, values, mask;

  explicit FlatBatch(const Argument& from)
      : policies(from["policies"].texts()),
        policy_of(pieces(from["policyOf"])),
        prompt_lengths(pieces(from["promptLengths"])),
        counts(pieces(from["continuationCounts"])),
        lengths(pieces(from["continuationLengths"])),
        tokens(pieces(from["tokens"])),
        weights(from["weights"]),
        advantages(from["advantages"]),
        logprobs(from["logprobs"]),
        reference(from["reference"]),
        penalties(from["penalties"]),
        targets(from["targets"]),
        values(from["values"]),
        mask(from["mask"]) {}

  static Integers pieces(const Argument& from) { return Integers(from.int32s(), from.name); }

  Datum datum() {
    Datum datum;
    size_t policy = static_cast<size_t>(policy_of.take(1)[0]);
    if (policy >= policies.size()) throw EngineError("bad_arguments", "data.policyOf must point into data.policies.");
    datum.policy = policies[policy];
    datum.prompt = tokens.take(prompt_lengths.take(1)[0]);
    int32_t count = counts.take(1)[0];
    for (int32_t i = 0; i < count; ++i) datum.continuations.push_back(continuation());
    return datum;
  }

  Continuation continuation() {
    int32_t length = lengths.take(1)[0];
    Continuation continuation;
    continuation.tokens = tokens.take(length);
    continuation.weights = weights.take(length);
    continuation.advantages = advantages.take(length);
    continuation.logprobs = logprobs.take(length);
    continuation.reference = reference.take(length);
    continuation.penalties = penalties.take(length);
    continuation.targets = targets.take(length);
    continuation.values = values.take(length);
    continuation.mask = mask.take(length);
    return continuation;
  }

  void finished() const {
    for (const Integers* array : {&policy_of, &prompt_lengths, &counts, &lengths, &tokens}) array->finished();
    for (const Numbers* array : {&weights, &advantages, &logprobs, &reference, &penalties, &targets, &values, &mask}) {
      array->finished();
    }
  }
};

}  // namespace

std::vector<Datum> training_data(const Argument& from) {
  FlatBatch flat(from);
  size_t count = from["policyOf"].int32s().ElementLength();
  std::vector<Datum> data;
  data.reserve(count);
  for (size_t i = 0; i < count; ++i) data.push_back(flat.datum());
  flat.finished();
  return data;
}

TokenBytes token_bytes(const Argument& from) {
  Argument bytes = from["bytes"];
  if (!bytes.value.IsTypedArray() || bytes.value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    bytes.refuse("a Uint8Array");
  }
  auto array = bytes.value.As<Napi::Uint8Array>();
  const std::vector<int32_t> lengths = from["lengths"].int_vector();
  Pieces<Napi::Uint8Array, uint8_t> pieces(array, bytes.name);
  for (int32_t length : lengths) pieces.skip(length);
  pieces.finished();
  return TokenBytes(std::string(array.Data(), array.Data() + array.ElementLength()), lengths);
}

}  // namespace troupe
