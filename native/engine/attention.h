// Attention of whole prompts and their continuations, forward and backward. Forward, a task is a few queries of one head,
// whose bits depend on no other query. Backward, it is one prompt group and one key/value head: only this task writes the
// gradients of that head's keys and values, so tasks never race.
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
  struct Task {
    const AttentionGroup& group;
    int kv_head;
  };
  Task task(int index) const;
  void add_queries(int head, Span rows, const Span* prefix);
  AttentionBlock block(int index, LayerActivations& layer, int head, Span rows, const Span* prefix, bool keep) const;
  AttentionGradient gradient(int head, Span rows, const Span* prefix, const float* d_attended, float* d_qkv) const;
  template <typename Each>
  void each_block(const Task& task, Each&& each) const;

  const Machine& machine_;
  const Model& model_;
  const std::vector<AttentionGroup>& groups_;
  const std::vector<Span>& continuations_;
  int rows_;
  std::vector<Queries> queries_;
  std::vector<double> forward_costs_, backward_costs_;  // cumulated, of queries_ and [group × kv head]
  size_t scratch_floats_ = 0;
  AlignedBuffer<float> scratch_;
};

}  // namespace troupe
