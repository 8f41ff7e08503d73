// Attention of whole prompts and their continuations, forward and backward. Forward, a task is a few queries of one head,
// whose bits depend on no other query. Backward, it is one prompt group and the heads that share keys and values, so that
// tasks never race. Few groups would keep few threads busy: there a task is one head, and heads that share keys and values
// have gradients of their own for them, which are added in the order of the heads. Bits do not depend on the threads.
#pragma once
#include "batch.h"

namespace troupe {

class GroupAttention {
 public:
  // `batch` must outlive this and must not change its groups.
  GroupAttention(const Machine& machine, const Model& model, const std::vector<AttentionGroup>& groups,
                 const std::vector<Span>& continuations, int rows);
  // keep: log_sum_exp is written for the backward pass.
  void forward(int index, LayerActivations& layer, bool keep);
  void backward(int index, LayerActivations& layer, const float* d_attended, float* d_qkv);

 private:
  // Queries [first, first + count) of a prompt or continuation.
  struct Queries {
    int head;
    Span rows;
    const Span* prefix;
    int first, count;
  };
  void add_queries(int head, Span rows, const Span* prefix);
  AttentionBlock block(int index, LayerActivations& layer, int head, Span rows, const Span* prefix, bool keep) const;
  // Where a head's gradients of keys are, by row; those of values are `to_values` further.
  struct KeyGradients {
    float* first;
    ptrdiff_t stride, to_values;
  };
  // If they are split, only the first of the heads that share keys has them in d_qkv.
  KeyGradients key_gradients(int head, float* d_qkv);
  AttentionGradient gradient(int head, Span rows, const Span* prefix, const float* d_attended, float* d_qkv);
  void add_head_gradients(float* d_qkv);

  const Machine& machine_;
  const Model& model_;
  const std::vector<AttentionGroup>& groups_;
  const std::vector<Span>& continuations_;
  int rows_;
  int share_;      // heads that share keys and values
  bool is_split_;  // backward, each of them is a task of its own
  std::vector<Queries> queries_;
  std::vector<double> forward_costs_, backward_costs_;  // cumulated, of queries_ and of [group × heads of a task]
  size_t scratch_floats_ = 0;
  AlignedBuffer<float> scratch_, head_gradients_;
};

bool split_heads(const ModelConfig& config, size_t groups);
// Of the gradients that heads have apart for keys and values which they share.
size_t head_gradient_floats(const ModelConfig& config, size_t rows);

}  // namespace troupe
