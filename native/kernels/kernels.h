// The engine's arithmetic, compiled once per instruction set and selected at run time.
//
// Contract that all callers rely on:
//  * Row independence: row i of an output depends only on row i of the row-wise inputs, never on the number of rows
//    or their split between threads. Sampling one prompt alone and in a batch of 300 therefore gives the same bits.
//  * Determinism: the same inputs and thread count give the same bits.
//  * All activations, gradients and master weights are float32 in memory; Precision only affects products, and keys
//    and values, which are rounded to bfloat16 before anything reads them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "aligned.h"
#include "thread_pool.h"

namespace troupe {

// bfloat16: operands rounded to bfloat16, sums kept in float32.
enum class Precision : uint8_t { float32, bfloat16 };

// The right operand of a product, B[k × n], in the layout of the selected kernels.
struct PackedMatrix {
  int k = 0, n = 0;
  Precision precision = Precision::float32;
  bool narrow = false;  // stored as bfloat16, of a frozen model: the kernels widen it and multiply in float32
  AlignedBuffer<uint8_t> data;
};

// Copies rows first .. first + count of a matrix that is stored as bfloat16. Several threads call it at once.
using ReadRows = std::function<void(int first, int count, uint16_t* to)>;

// Keys and values of consecutive positions of one head: row r starts at element r·stride.
struct KeySpan {
  const void* k = nullptr;  // float, or bfloat16 in a block that is `narrow`
  const void* v = nullptr;
  ptrdiff_t stride = 0;
  int count = 0;
};

// One head of one run of queries. Query i sees the whole prefix and own keys 0 .. own.count - queries + i; with a window,
// only the last `window` of these keys.
//   training: prompt  → prefix empty, own = the prompt's rows
//             continuation → prefix = the prompt's rows (one copy for all K), own = the continuation's rows
//   decoding: queries = 1, prefix = the shared prompt's cache, own = the sequence's cache
struct AttentionBlock {
  const float* q = nullptr;
  ptrdiff_t q_stride = 0;
  int queries = 0, head_dim = 0;
  float scale = 1.0f;
  int window = 0;  // 0: all
  bool narrow = false;  // not for attention_backward
  KeySpan prefix, own;
  float* out = nullptr;  // [queries × head_dim], rows out_stride apart
  ptrdiff_t out_stride = 0;
  float* log_sum_exp = nullptr;  // [queries] or null
};

// Gradients of an AttentionBlock. dq is written; the key and value gradients are added to.
struct AttentionGradient {
  const float* d_out = nullptr;  // strides as `out`
  float* dq = nullptr;           // strides as `q`
  float *dk_prefix = nullptr, *dv_prefix = nullptr, *dk_own = nullptr, *dv_own = nullptr;
  ptrdiff_t stride = 0;  // of these four
};

// A norm multiplies by offset + values[i].
struct NormWeights {
  const float* values;
  float offset;
};

struct AdamStep {
  float learning_rate, beta1, beta2, epsilon, weight_decay;
  float bias_correction1, bias_correction2;  // 1 - beta^t
  float gradient_scale;                      // from gradient clipping
};

// One row of logits reduced: log Σ exp(logit), and the entropy of the distribution in nats.
struct LogitSummary {
  float max, log_sum_exp, entropy;
};

struct Kernels {
  const char* name;  // "amx-bf16", "avx512-bf16", "avx512", "avx2", "neon-bf16", "neon", "scalar"
  bool bfloat16;     // whether Precision::bfloat16 is supported (otherwise float32 is used)

  // --- matrix products (threaded inside) ---------------------------------------------------------------------
  // Packs W [rows × cols], row-major. transpose = true: B = Wᵀ (k = cols, n = rows), the operand of y = x·Wᵀ, W in
  // the Hugging Face layout [out × in]. transpose = false: B = W (k = rows, n = cols), the operand of dx = dy·W.
  void (*pack)(PackedMatrix& to, const float* w, int rows, int cols, bool transpose, Precision, ThreadPool&);
  // Frozen weights that are bfloat16 stay so in memory, whatever the processor. Packs Wᵀ (k = cols, n = rows) from W's
  // rows, read a few at a time; a product has the same bits as with these weights packed from float32.
  void (*pack_rows)(PackedMatrix& to, const ReadRows& read, int rows, int cols, Precision, ThreadPool&);
  // Packs B = W from a Wᵀ that pack_rows made.
  void (*pack_turned)(PackedMatrix& to, const PackedMatrix& from, ThreadPool&);
  // Widens row r of the W that pack_rows read: column r of the packed matrix.
  void (*read_row)(const PackedMatrix& from, int row, float* to);
  // C[m × n] = A[m × k]·B, or C += when accumulate. lda, ldc: floats between rows.
  void (*multiply)(const float* a, ptrdiff_t lda, int m, const PackedMatrix& b, float* c, ptrdiff_t ldc,
                   bool accumulate, ThreadPool&);
  // dW[n_out × k_in] += Σ_t dY[t]ᵀ X[t], the gradient of y = x·Wᵀ over `tokens` rows.
  void (*weight_gradient)(const float* dy, ptrdiff_t ld_dy, const float* x, ptrdiff_t ld_x, int tokens, int n_out,
                          int k_in, float* dw, Precision, ThreadPool&);

  // --- row-wise pieces (single-threaded; callers split the rows) ------------------------------------------------
  // y = x / rms(x) · w; inverse_rms[rows] is kept for the backward pass.
  void (*rms_norm)(const float* x, NormWeights w, float* y, float* inverse_rms, int rows, int width, float epsilon);
  // dx += …, dw += … (dw may be null for frozen weights).
  void (*rms_norm_backward)(const float* dy, const float* x, NormWeights w, const float* inverse_rms, float* dx,
                            float* dw, int rows, int width);
  // out = silu(gate)·up with gate_up [rows × 2·width] = [gate | up].
  void (*swiglu)(const float* gate_up, float* out, int rows, int width);
  void (*swiglu_backward)(const float* gate_up, const float* d_out, float* d_gate_up, int rows, int width);
  // out = gelu(gate)·up, with the gelu that is approximated by tanh.
  void (*geglu)(const float* gate_up, float* out, int rows, int width);
  void (*geglu_backward)(const float* gate_up, const float* d_out, float* d_gate_up, int rows, int width);
  // Rotates the first `turned` dimensions of heads in place, Hugging Face pairing (i, i + turned/2). cosine, sine:
  // [positions × turned/2]. sign = +1 forward, -1 for the gradient. Row r holds `heads` heads and starts at x + r·stride.
  void (*rotate)(float* x, ptrdiff_t stride, const int32_t* positions, const float* cosine, const float* sine,
                 int rows, int heads, int head_dim, int turned, float sign);
  size_t (*attention_scratch)(int queries, int keys, int head_dim);  // floats needed by the three functions below
  void (*attention)(const AttentionBlock&, float* scratch);
  // Blocks of one query each that share head_dim, window, prefix and its type: decoding a group with one prompt. `scratch` as for `count`
  // queries and the most keys of any block. Each gets the same bits as from `attention`.
  void (*attention_group)(const AttentionBlock* blocks, int count, float* scratch);
  void (*attention_backward)(const AttentionBlock&, const AttentionGradient&, float* scratch);
  void (*round_to_bfloat16)(float* x, size_t n);                      // to the nearest, of two the even one
  void (*add)(float* y, const float* x, size_t n);                    // y += x
  void (*add_scaled)(float* y, const float* x, float a, size_t n);    // y += a·x
  double (*sum_of_squares)(const float* x, size_t n);
  LogitSummary (*summarize_logits)(const float* logits, int n);
  // d[i] = a·softmax(logits)[i], given the row's log-sum-exp.
  void (*softmax_scaled)(const float* logits, float log_sum_exp, float a, float* d, int n);
  // d[i] = p[i]·(a + b·log p[i]) with p = softmax(logits): with b, the gradient of an entropy too.
  void (*softmax_sloped)(const float* logits, float log_sum_exp, float a, float b, float* d, int n);
  void (*adam)(float* w, const float* g, float* m, float* v, size_t n, const AdamStep&);
};

// The best set that this processor supports (TROUPE_KERNELS=avx2 etc. forces another; unknown names are ignored).
const Kernels& best_kernels();
// A named set, or null if this processor or this build lacks it.
const Kernels* find_kernels(const char* name);

}  // namespace troupe
