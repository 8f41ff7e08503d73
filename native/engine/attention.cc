#include "attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rows.h"

namespace troupe {

GroupAttention::GroupAttention(const Machine& machine, const Model& model, const std::vector<AttentionGroup>& groups,
                               const std::vector<Span>& continuations, int rows)
    : machine_(machine), model_(model), groups_(groups), continuations_(continuations), rows_(rows),
      share_(model.config.heads / model.config.kv_heads), is_split_(split_heads(model.config, groups.size())) {
  double total = 0;
  int queries = 1, keys = 1;
  const int tasks = is_split_ ? model.config.heads : model.config.kv_heads;
  backward_costs_.reserve(groups.size() * tasks);
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
    for (int task = 0; task < tasks; task++) backward_costs_.push_back(total += cost);
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

AttentionBlock GroupAttention::block(int index, LayerActivations& layer, int head, Span rows, const Span* prefix,
                                     bool keep) const {
  const ModelConfig& config = model_.config;
  const Shape& shape = model_.shape;
  const int kv_head = head / share_;
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

GroupAttention::KeyGradients GroupAttention::key_gradients(int head, float* d_qkv) {
  const Shape& shape = model_.shape;
  const int size = model_.config.head_dim, kv_head = head / share_, member = head % share_;
  if (!is_split_ || member == 0) return {d_qkv + shape.q + kv_head * size, shape.qkv, shape.kv};
  const size_t index = static_cast<size_t>(kv_head) * (share_ - 1) + member - 1;
  return {head_gradients_.data() + index * rows_ * 2 * size, 2 * size, size};
}

AttentionGradient GroupAttention::gradient(int head, Span rows, const Span* prefix, const float* d_attended,
                                           float* d_qkv) {
  const ModelConfig& config = model_.config;
  const Shape& shape = model_.shape;
  const KeyGradients keys = key_gradients(head, d_qkv);
  AttentionGradient gradient;
  gradient.d_out = d_attended + static_cast<size_t>(rows.row) * shape.q + head * config.head_dim;
  gradient.dq = d_qkv + static_cast<size_t>(rows.row) * shape.qkv + head * config.head_dim;
  gradient.dk_own = keys.first + rows.row * keys.stride;
  gradient.dv_own = gradient.dk_own + keys.to_values;
  if (prefix) {
    gradient.dk_prefix = keys.first + prefix->row * keys.stride;
    gradient.dv_prefix = gradient.dk_prefix + keys.to_values;
  }
  gradient.stride = keys.stride;
  return gradient;
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
  const int of_task = is_split_ ? 1 : share_, tasks = model_.config.heads / of_task;
  if (is_split_) head_gradients_.resize(head_gradient_floats(model_.config, rows_));
  parallel_tasks(machine_.pool, backward_costs_, [&](int at, int thread) {
    const AttentionGroup& group = groups_[at / tasks];
    auto each = [&](int head, Span rows, const Span* prefix) {
      if (is_split_ && head % share_ > 0) {
        const KeyGradients own = key_gradients(head, d_qkv);
        std::memset(own.first + rows.row * own.stride, 0, rows.rows * own.stride * sizeof(float));
      }
      machine_.kernels.attention_backward(block(index, layer, head, rows, prefix, true),
                                          gradient(head, rows, prefix, d_attended, d_qkv),
                                          scratch_.data() + thread * scratch_floats_);
    };
    for (int head = at % tasks * of_task, last = head + of_task; head < last; head++) {
      each(head, group.prompt, nullptr);
      for (int j = group.first; j < group.last; j++) {
        if (continuations_[j].rows > 0) each(head, continuations_[j], &group.prompt);
      }
    }
  });
  if (is_split_) add_head_gradients(d_qkv);
}

void GroupAttention::add_head_gradients(float* d_qkv) {
  const int heads = model_.config.heads, size = model_.config.head_dim;
  parallel_rows(machine_.pool, rows_, row_grain(model_.shape.qkv), [&](int begin, int end, int) {
    for (int head = 0; head < heads; head++) {
      if (head % share_ == 0) continue;
      const KeyGradients from = key_gradients(head, d_qkv), to = key_gradients(head - head % share_, d_qkv);
      for (ptrdiff_t row = begin; row < end; row++) {
        machine_.kernels.add(to.first + row * to.stride, from.first + row * from.stride, size);
        machine_.kernels.add(to.first + row * to.stride + to.to_values, from.first + row * from.stride + from.to_values, size);
      }
    }
  });
}

bool split_heads(const ModelConfig& config, size_t groups) {
  constexpr size_t busy = 8;
  return config.heads > config.kv_heads && groups * config.kv_heads < busy;
}

size_t head_gradient_floats(const ModelConfig& config, size_t rows) {
  return static_cast<size_t>(config.heads - config.kv_heads) * rows * 2 * config.head_dim;
}

}  // namespace troupe
