// The transformer over a batch of rows (one row = one token at one position), forward and backward. The caller provides
// attention: training, prefill and decoding differ only in that.
#pragma once
#include <functional>
#include <vector>

#include "adapter.h"

namespace troupe {

// Consecutive rows of one policy: the model itself (null) or an adapter on it.
struct Segment {
  int begin, end;
  Adapter* adapter;
};

struct Rows {
  int count;
  const std::vector<Segment>& segments;
};

struct RowBatch {
  std::vector<int32_t> tokens, positions;
  std::vector<Segment> segments;  // cover all rows, in order
  // The rows whose output is needed, ascending. For all others the last layer computes only keys and values: a prompt's
  // rows except the last predict no token of interest.
  std::vector<int> kept;
  std::vector<Segment> kept_segments;  // counted in kept rows

  int rows() const { return static_cast<int>(tokens.size()); }
  int kept_rows() const { return static_cast<int>(kept.size()); }
  void clear();
  // Call once tokens, segments and kept are complete.
  void find_kept_segments();
  // The rows after attention in a layer.
  Rows after_attention(bool last_layer) const {
    return last_layer ? Rows{kept_rows(), kept_segments} : Rows{rows(), segments};
  }
};

// Activations of one layer that its backward pass needs. Row-major, [rows × width].
struct LayerActivations {
  AlignedBuffer<float> normed_input, input_rms;
  AlignedBuffer<float> raw_heads, head_rms;  // only with query/key norm: q and k before it
  AlignedBuffer<float> qkv;                  // after bias, norm and rotation
  AlignedBuffer<float> attended, log_sum_exp;
  AlignedBuffer<float> middle, normed_middle, middle_rms;
  AlignedBuffer<float> gate_up, activated;
  // Only with norms of outputs: what attention and MLP compute, before its norm.
  AlignedBuffer<float> attention_output, attention_output_rms, mlp_output, mlp_output_rms;
  AlignedBuffer<float> low[site_count];  // adapters' x·Aᵀ
  size_t bytes() const;
};

// What a forward pass keeps of each layer for a backward pass: nothing, its input alone, from which the layer is computed
// again, or everything. Without everything, layers share the memory of one.
enum class Keep : uint8_t { none, inputs, all };

class Activations {
 public:
  void prepare(const Model& model, const RowBatch& batch, Keep keep);
  LayerActivations& layer(int index) { return layers_[keep_ == Keep::all ? index : 0]; }
  // The residual stream into a layer, between attention and MLP, and out of the last layer.
  float* input(int index) { return keep_ == Keep::none ? output_.data() : inputs_[index].data(); }
  float* middle(int index) { return keep_ == Keep::none ? output_.data() : layer(index).middle.data(); }
  float* output(int index) { return keep_ != Keep::none && index + 1 < count_ ? inputs_[index + 1].data() : output_.data(); }
  // Whether a backward pass has to compute each layer again.
  bool recomputes() const { return keep_ == Keep::inputs; }
  // [kept rows × hidden]
  float* output() { return output_.data(); }
  float* kept_attended() { return kept_attended_.data(); }
  // [rows × hidden], only with norms of outputs: an output after its norm.
  float* normed_output() { return normed_output_.data(); }
  int low_stride(Site site) const { return low_stride_[static_cast<int>(site)]; }
  size_t bytes() const;
  // Floats per row of a forward pass that keeps all activations.
  static size_t floats_per_row(const Model& model);

 private:
  Keep keep_ = Keep::none;
  int count_ = 0;
  int low_stride_[site_count] = {};
  std::vector<LayerActivations> layers_;
  std::vector<AlignedBuffer<float>> inputs_;  // of each layer
  AlignedBuffer<float> output_, kept_attended_, normed_output_;
};

// Fills `attended` (and log_sum_exp if a backward pass follows) from qkv.
using Attend = std::function<void(int layer, LayerActivations&)>;
// Reads d_attended [rows × q], writes the q part of d_qkv and adds to its (zeroed) k and v parts.
using AttendBackward = std::function<void(int layer, LayerActivations&, const float* d_attended, float* d_qkv)>;

// Embeddings to the last layer's output of the kept rows. The model and the adapters must be packed.
void forward_layers(const Machine& machine, Model& model, const RowBatch& batch, Activations& activations,
                    const Attend& attend);

// Computes one layer again from its kept input.
void recompute_layer(const Machine& machine, Model& model, const RowBatch& batch, Activations& activations, int layer,
                     const Attend& attend);

// Buffers of a backward pass, reused between calls.
struct BackwardScratch {
  AlignedBuffer<float> d_stream, d_wide, d_narrow, d_output, d_low, thread_sums, head_rows, spare;
  // Allocates the gradient that backward_layers takes. As large as `spare`, because they swap.
  void reserve_stream(const Model& model, const RowBatch& batch);
  size_t bytes() const;
};

// Takes the gradient of the last layer's output [kept rows × hidden] in scratch.d_stream and adds to the gradients of
// every policy in the batch: the model's own rows train the model, an adapter's rows only that adapter.
// `again`: the attention of the forward pass, for activations that keep only inputs.
void backward_layers(const Machine& machine, Model& model, const RowBatch& batch, Activations& activations,
                     BackwardScratch& scratch, const Attend& again, const AttendBackward& attend);

// y = rms_norm(x)·w over rows, split between threads.
void norm_rows(const Machine& machine, const float* x, NormWeights w, float* y, float* inverse_rms, int rows,
               int width, float epsilon);

struct NormBackward {
  const float *dy, *x;
  NormWeights w;
  const float* inverse_rms;
  float* dx;  // added to
  float* dw;  // added to for the model's own rows
  int width;
};
void norm_rows_backward(const Machine& machine, const NormBackward& norm, const std::vector<Segment>& segments,
                        AlignedBuffer<float>& thread_sums);

}  // namespace troupe
