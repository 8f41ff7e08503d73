#include "attention.h"

#include <algorithm>
#include <cmath>

#include "rows.h"

namespace troupe {

GroupAttention::GroupAttention(const Machine& machine, const Model& model, const std::vector<AttentionGroup>& groups,
                               const std::vector<Span>& continuations, int rows)
    : machine_(machine), model_(model), groups_(groups), continuations_(continuations), rows_(rows) {
  double total = 0;
  int queries = 1, keys = 1;
  backward_costs_.reserve(groups.size() * model.config.kv_heads);
  for (const AttentionGroup& group : groups) {
    double cost = 64 + 0.5 * group.prompt.rows * group.prompt.rows;
    queries = std::max(queries, group.prompt.rows);
    keys = std::max(keys, group.prompt.rows);
    for (int j = group.first; j < group.last; j++) {
      const int own = continuations[j].rows;
      cost += own * (group.prompt.rows + 0.5 * own);
      queries = std::max(queries, own);
      keys = std::max(keys, group.prompt.rows + own);
    }
    for (int head = 0; head < model.config.kv_heads; head++) backward_costs_.push_back(total += cost);
    for (int head = 0; head < model.config.heads; head++) {
      add_queries(head, group.prompt, nullptr);
      for (int j = group.first; j < group.last; j++) add_queries(head, continuations[j], &group.prompt);
    }
  }
  // A cache line of space between threads.
  scratch_floats_ = machine.kernels.attention_scratch(queries, keys, model.config.head_dim) + 16;
  scratch_.resize(scratch_floats_ * machine.pool.threads());
}

// In blocks, so that one long sequence gives work to all threads; not in smaller ones, as each packs all its keys.
void GroupAttention::add_queries(int head, Span rows, const Span* prefix) {
  constexpr int block = 128;
  for (int first = 0; first < rows.rows; first += block) {
    const int count = std::min(block, rows.rows - first);
    queries_.push_back({head, rows, prefix, first, count});
    const double keys = (prefix ? prefix->rows : 0) + first + 0.5 * count;
    forward_costs_.push_back((forward_costs_.empty() ? 0 : forward_costs_.back()) + 8 + count * keys);
  }
}

GroupAttention::Task GroupAttention::task(int index) const {
  const int heads = model_.config.kv_heads;
  return {groups_[index / heads], index % heads};
}

AttentionBlock GroupAttention::block(int index, LayerActivations& layer, int head, Span rows, const Span* prefix,
                                     bool keep) const {
  const ModelConfig& config = model_.config;
  const Shape& shape = model_.shape;
  const int kv_head = head / (config.heads / config.kv_heads);
  float* qkv = layer.qkv.data();
  auto keys = [&](Span span) {
    const float* k = qkv + static_cast<size_t>(span.row) * shape.qkv + shape.q + kv_head * config.head_dim;
    return KeySpan{k, k + shape.kv, shape.qkv, span.rows};
  };
  AttentionBlock block;
  block.q = qkv + static_cast<size_t>(rows.row) * shape.qkv + head * config.head_dim;
  block.q_stride = shape.qkv;
  block.queries = rows.rows;
  block.head_dim = config.head_dim;
  block.scale = 1.0f / std::sqrt(config.query_scalar);
  block.window = config.windows[index];
  if (prefix) block.prefix = keys(*prefix);
  block.own = keys(rows);
  block.out = layer.attended.data() + static_cast<size_t>(rows.row) * shape.q + head * config.head_dim;
  block.out_stride = shape.q;
  if (keep) block.log_sum_exp = layer.log_sum_exp.data() + static_cast<size_t>(head) * rows_ + rows.row;
  return block;
}

AttentionGradient GroupAttention::gradient(int head, Span rows, const Span* prefix, const float* d_attended,
                                           float* d_qkv) const {
  const ModelConfig& config = model_.config;
  const Shape& shape = model_.shape;
  const int kv_head = head / (config.heads / config.kv_heads);
  auto keys = [&](Span span) {
    return d_qkv + static_cast<size_t>(span.row) * shape.qkv + shape.q + kv_head * config.head_dim;
  };
  AttentionGradient gradient;
  gradient.d_out = d_attended + static_cast<size_t>(rows.row) * shape.q + head * config.head_dim;
  gradient.dq = d_qkv + static_cast<size_t>(rows.row) * shape.qkv + head * config.head_dim;
  gradient.dk_own = keys(rows);
  gradient.dv_own = gradient.dk_own + shape.kv;
  if (prefix) {
    gradient.dk_prefix = keys(*prefix);
    gradient.dv_prefix = gradient.dk_prefix + shape.kv;
  }
  return gradient;
}

template <typename Each>
void GroupAttention::each_block(const Task& task, Each&& each) const {
  const int share = model_.config.heads / model_.config.kv_heads;
  for (int head = task.kv_head * share; head < (task.kv_head + 1) * share; head++) {
    each(head, task.group.prompt, nullptr);
    for (int j = task.group.first; j < task.group.last; j++) {
      if (continuations_[j].rows > 0) each(head, continuations_[j], &task.group.prompt);
    }
  }
}

void GroupAttention::forward(int index, LayerActivations& layer, bool keep) {
  parallel_tasks(machine_.pool, forward_costs_, [&](int at, int thread) {
    const Queries& part = queries_[at];
    AttentionBlock own = block(index, layer, part.head, part.rows, part.prefix, keep);
    own.q += part.first * own.q_stride;
    own.out += part.first * own.out_stride;
    if (keep) own.log_sum_exp += part.first;
    own.queries = part.count;
    own.own.count = part.first + part.count;
    machine_.kernels.attention(own, scratch_.data() + thread * scratch_floats_);
  });
}

void GroupAttention::backward(int index, LayerActivations& layer, const float* d_attended, float* d_qkv) {
  parallel_tasks(machine_.pool, backward_costs_, [&](int at, int thread) {
    each_block(task(at), [&](int head, Span rows, const Span* prefix) {
      machine_.kernels.attention_backward(block(index, layer, head, rows, prefix, true),
                                          gradient(head, rows, prefix, d_attended, d_qkv),
                                          scratch_.data() + thread * scratch_floats_);
    });
  });
}

}  // namespace troupe
