// The engine's interface to the binding: models, adapters, and the verbs. Tokens in, tokens out. No JavaScript here.
//
// Threading: every function below is called from ONE engine thread (the binding's), which is not the JavaScript one,
// except `cancel`-flags, which any thread may set. Errors are EngineError with a code the TypeScript side maps to
// TroupeError; std::bad_alloc means no memory.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../kernels/kernels.h"
#include "token_bytes.h"

namespace troupe {

class EngineError : public std::runtime_error {
 public:
  EngineError(std::string code_, const std::string& message) : std::runtime_error(message), code(std::move(code_)) {}
  std::string code;  // an ErrorCode of src/errors.ts: bad_shape, bad_token, too_long, bad_arguments, cancelled, …
};

// How positions turn the first 2·size dimensions of queries and keys.
struct Rope {
  std::vector<float> inverse_frequencies;  // includes scaling for long contexts
  float factor = 1;                        // of cosine and sine
};

enum class Activation : uint8_t { silu, gelu_tanh };

// Dense decoders: Llama, Mistral, Qwen2, Qwen3, SmolLM3, Phi-3, Gemma 3.
struct ModelConfig {
  int vocab = 0, hidden = 0, intermediate = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, max_positions = 0;
  float rms_epsilon = 1e-6f;
  float norm_offset = 0;      // norms multiply by offset + weight
  float query_scalar = 0;     // scores are divided by its root
  float embedding_scale = 1;  // of what a token puts into the residual stream
  Activation activation = Activation::silu;
  bool qkv_bias = false, qk_norm = false, tied_embeddings = false;
  bool fused = false;           // q, k and v are one tensor, gate and up another
  bool normed_outputs = false;  // a norm between attention or MLP and the residual stream
  bool value_head = false;      // a critic: hidden → 1 instead of hidden → vocabulary
  std::vector<Rope> ropes;
  // Of each layer: the index of its rope, or -1, and how many positions it sees, its own included, or 0 for all.
  std::vector<int> layer_ropes, windows;
};

struct TensorInfo {
  std::string name;        // Hugging Face name, or PEFT name for an adapter
  std::vector<int> shape;  // Hugging Face shape, e.g. [out, in]
};

// A tensor in a safetensors file.
enum class StoredFormat : uint8_t { float32, bfloat16, float16 };
struct StoredTensor {
  std::string name, path;
  size_t begin = 0;  // its first byte in the file
  StoredFormat format = StoredFormat::float32;
};

// Weights, their gradient, and AdamW's first and second moment.
enum class TensorKind : uint8_t { weight, gradient, moment1, moment2 };

struct AdapterConfig {
  int rank = 8;
  float alpha = 16;
  std::vector<std::string> targets;  // q_proj k_proj v_proj or qkv_proj, o_proj, gate_proj up_proj or gate_up_proj, down_proj
  bool value_head = false;           // a critic: its own head, trained with the matrices
};

// --- training data ------------------------------------------------------------------------------------------------
// Continuations of one prompt. The prompt is computed once, forward and backward, and every continuation attends to
// that copy. Loss terms are the continuation's tokens (the first is predicted by the prompt's last position).
struct Continuation {
  std::vector<int32_t> tokens;
  std::vector<float> weights;    // of each token: cross_entropy, value; with Loss::entropy of its entropy (empty: ones)
  std::vector<float> advantages; // importance_sampling, ppo, cispo
  std::vector<float> logprobs;   // importance_sampling, ppo, cispo: log-probabilities when sampled
  std::vector<float> reference;  // importance_sampling, ppo, cispo: under a reference policy (empty: none)
  std::vector<float> penalties;  // with Loss::kl: coefficient of each token's divergence from the reference
  std::vector<float> targets;    // value
  std::vector<float> values;     // value with a clip: the critic's values when the tokens were sampled
  std::vector<float> mask;       // 0: the token is read, and is in no sum, mean or gradient (empty: ones)
};
struct Datum {
  std::string policy;
  std::vector<int32_t> prompt;  // at least one token
  std::vector<Continuation> continuations;
};

// All losses are SUMS over tokens (the Tinker protocol's convention).
enum class LossKind : uint8_t { cross_entropy, importance_sampling, ppo, cispo, value };
enum class KlEstimator : uint8_t { none, k1, k2, k3 };
struct Loss {
  LossKind kind = LossKind::cross_entropy;
  float clip_low = 0.2f, clip_high = 0.2f;  // ppo, cispo: ratio kept within [1 − clip_low, 1 + clip_high]
  float dual_clip = 0;                      // ppo: the bound for negative advantages, above 1; 0 = off
  bool sequence_ratio = false;              // ppo: one ratio for all tokens of a continuation
  KlEstimator kl = KlEstimator::none;       // importance_sampling, ppo, cispo: of the penalty added
  float entropy = 0;                        // importance_sampling, ppo, cispo: bonus for each token's entropy
  float value_clip = 0;                     // value: distance to which the old value is clipped; 0 = off
};

// Over tokens.
struct LossSums {
  double loss = 0;
  int64_t tokens = 0;          // loss terms
  double entropy = 0;          // of the full distribution, nats
  double kl = 0;               // ratio − 1 − log ratio, the k3 estimate of KL(old ‖ new); 0 for cross_entropy
  double reference_kl = 0;     // k3 to the references, if there are any
  int64_t clipped = 0;         // ppo, value: tokens whose gradient the clip removed; cispo: whose ratio it changed
  void add(const LossSums& other);
};

struct LossResult : LossSums {
  // [all continuations, in order of data][token]: the new log-probabilities; of a critic, the values before the tokens.
  std::vector<std::vector<float>> outputs;
  // Of forward, if asked for: for each of these tokens the `top` most probable ones in its place, and their
  // log-probabilities, the most probable first; of equal ones the lower id.
  int top = 0;
  std::vector<std::vector<int32_t>> top_tokens;
  std::vector<std::vector<float>> top_logprobs;
};

struct AdamParameters {
  float learning_rate = 1e-4f, beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f, weight_decay = 0.0f;
  float clip_norm = 0.0f;  // of the policy's whole gradient; 0 = none
};
// Of the largest batch of a run.
struct WorkSize {
  size_t tokens = 0;     // trained on together, a prompt's once
  size_t prompts = 0;    // how many of them are prompts'
  size_t longest = 0;    // tokens of the longest sequence
  size_t sequences = 0;  // sampled together
};
struct StepResult {
  double gradient_norm = 0;  // before clipping
};

// --- sampling -----------------------------------------------------------------------------------------------------
struct SampleRequest {
  std::string policy;
  std::vector<int32_t> prompt;
  int count = 1;               // sequences from this prompt, which is computed once
  int max_tokens = 16;
  float temperature = 1.0f;    // 0 = greedy
  int top_k = 0;               // 0 = off
  float top_p = 1.0f;
  uint64_t seed = 0;           // token t of sequence i depends only on (seed, i, t)
  std::vector<int32_t> stop_tokens;      // generation ends with the stop token, which is kept
  std::vector<std::string> stop_strings; // needs token_bytes; generation ends once the text contains one (tokens kept)
  bool continued = false;      // later prompts may begin with this one and a sequence from it, whose keys and values are kept
};
enum class StopReason : uint8_t { stop, length };
struct SampledSequence {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;  // of exactly these tokens, at temperature 1, without top-k/top-p (as training needs)
  std::vector<float> entropies; // of the distributions that these are of, nats
  StopReason reason = StopReason::length;
};

// Tokens of prompts since the engine started: computed, and found among keys and values that were kept.
struct PromptTokens {
  uint64_t computed = 0, reused = 0;
};

class Engine {
 public:
  // threads ≤ 0: one per processor. cache_limit: bytes of keys and values; it decides how many sequences are decoded
  // together and how many that ended are kept, and so only the speed.
  Engine(int threads, Precision precision, size_t cache_limit = size_t{1} << 30);
  ~Engine();

  const char* kernels() const;
  int threads() const;
  Precision precision() const;

  // A model of zeros, to be filled by write_tensor. Gradients and moments are allocated on first use.
  void add_model(const std::string& name, const ModelConfig&);
  // The base of adapters, whose matrices in the files are bfloat16 and stay so: two bytes for each number, packed once,
  // never trained. `tensors` are all of the model's.
  void add_frozen_model(const std::string& name, const ModelConfig&, const std::vector<StoredTensor>& tensors);
  // An adapter is a policy; B is zero, A is filled by write_tensor. Its base's weights stay frozen for it.
  void add_adapter(const std::string& name, const std::string& model, const AdapterConfig&);
  void remove(const std::string& policy);
  std::vector<TensorInfo> tensors(const std::string& policy) const;
  void read_tensor(const std::string& policy, TensorKind, const std::string& name, float* to, size_t n) const;
  void write_tensor(const std::string& policy, TensorKind, const std::string& name, const float* from, size_t n);
  // Weights from files: some or all of the policy's tensors.
  void load_tensors(const std::string& policy, const std::vector<StoredTensor>& tensors);
  int64_t step_count(const std::string& policy) const;  // optimizer steps taken (AdamW's t)
  void set_step_count(const std::string& policy, int64_t);
  // Bytes of each vocabulary entry, for stop strings.
  void set_token_bytes(const std::string& model, TokenBytes bytes);

  // Log-probabilities of the continuations' tokens, or a critic's values before them; no gradient. `cancel` is checked
  // between chunks.
  LossResult forward(const std::vector<Datum>&, const std::atomic<bool>& cancel, int top = 0);
  // Adds to the gradients of the policies named. A cancelled or failed call leaves the gradients as they were before it
  // or zero, and the error says which. Data may mix adapters of one base, and several bases. A loss that is not finite
  // is bad_model, naming the policy.
  LossResult forward_backward(const std::vector<Datum>&, const Loss&, const std::atomic<bool>& cancel);
  // AdamW, then zeroes the gradients. A gradient that is not finite is bad_model; weights, moments and the step count
  // are unchanged, and the gradient is zero. `internal` while sequences of the policy are in progress.
  StepResult optimizer_step(const std::string& policy, const AdamParameters&);
  void zero_gradients(const std::string& policy);

  // Continuous batching: submit any number at any time, then call sample_step until idle(). Each call advances every
  // active sequence of all policies by one token (and admits waiting prompts).
  using SampleDone = std::function<void(std::vector<SampledSequence>&&)>;
  using SampleFailed = std::function<void(const EngineError&)>;
  // Validates at once (throws), runs later. `cancel` (null: never) is checked at every step. `done` and `failed` are
  // called at the end of a sample_step, and may submit. Logits that are not finite fail the request with bad_model.
  void submit(SampleRequest, std::shared_ptr<std::atomic<bool>> cancel, SampleDone, SampleFailed);
  void sample_step();
  bool idle() const;
  PromptTokens prompt_tokens() const;

  // Bytes that such work will take beside memory_bytes().
  size_t predict_bytes(const WorkSize&) const;
  // Bytes of weights, gradients, moments and caches.
  size_t memory_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
