#include "decoder.h"

#include <cmath>
#include <cstring>

#include "head.h"
#include "rows.h"

namespace troupe {

void Decoder::start(Model& model) {
  model.pack_forward(machine_);
  batch_.clear();
  choices_.clear();
}

void Decoder::add_row(int32_t token, int position, Adapter* adapter) {
  if (batch_.segments.empty() || batch_.segments.back().adapter != adapter) {
    if (adapter) adapter->pack(machine_);
    batch_.segments.push_back({batch_.rows(), batch_.rows(), adapter});
  }
  batch_.tokens.push_back(token);
  batch_.positions.push_back(position);
  batch_.segments.back().end = batch_.rows();
}

void Decoder::run(Model& model, const Attend& attend) {
  batch_.find_kept_segments();
  activations_.prepare(model, batch_, false);
  forward_layers(machine_, model, batch_, activations_, attend);
  choose(model);
}

std::vector<Choice>& Decoder::prefill(Model& model, const std::vector<Sequence*>& sequences) {
  start(model);
  groups_.clear();
  prompts_.clear();
  for (Sequence* sequence : sequences) {
    if (prompts_.empty() || prompts_.back() != sequence->prompt.get()) {
      const std::vector<int32_t>& tokens = sequence->job->request.prompt;
      groups_.push_back({{batch_.rows(), static_cast<int>(tokens.size())}, 0, 0});
      prompts_.push_back(sequence->prompt.get());
      for (size_t i = 0; i < tokens.size(); i++) add_row(tokens[i], static_cast<int>(i), sequence->job->policy.adapter);
      batch_.kept.push_back(batch_.rows() - 1);
    }
    choices_.push_back({sequence, batch_.kept_rows() - 1, {}});
  }
  const std::vector<Span> no_continuations;
  GroupAttention attention(machine_, model, groups_, no_continuations, batch_.rows());
  run(model, [&](int layer, LayerActivations& activations) {
    attention.forward(activations, false);
    store_prompts(model, layer, activations);
  });
  return choices_;
}

void Decoder::store_prompts(const Model& model, int layer, const LayerActivations& activations) {
  const Shape& shape = model.shape;
  const int heads = model.config.kv_heads, head_dim = model.config.head_dim;
  parallel_rows(machine_.pool, static_cast<int>(groups_.size()), 4, [&](int begin, int end, int) {
    for (int i = begin; i < end; i++) {
      const Span span = groups_[i].prompt;
      for (int head = 0; head < heads; head++) {
        for (int position = 0; position < span.rows; position++) {
          const float* k = activations.qkv.data() + static_cast<size_t>(span.row + position) * shape.qkv + shape.q;
          k += head * head_dim;
          prompts_[i]->cache.write(layer, head, position, k, k + shape.kv);
        }
      }
    }
  });
}

std::vector<Choice>& Decoder::decode(Model& model, const std::vector<Sequence*>& sequences) {
  start(model);
  int keys = 1;
  for (Sequence* sequence : sequences) {
    choices_.push_back({sequence, batch_.rows(), {}});
    batch_.kept.push_back(batch_.rows());
    add_row(sequence->result().tokens.back(), sequence->position(), sequence->job->policy.adapter);
    keys = std::max(keys, sequence->position() + 1);
  }
  scratch_.resize((machine_.kernels.attention_scratch(1, keys, model.config.head_dim) + 16) * machine_.pool.threads());
  run(model, [&](int layer, LayerActivations& activations) { attend_sequences(model, sequences, layer, activations); });
  for (Sequence* sequence : sequences) sequence->cached++;
  return choices_;
}

void Decoder::attend_sequences(const Model& model, const std::vector<Sequence*>& sequences, int layer,
                               LayerActivations& activations) {
  const Shape& shape = model.shape;
  const int heads = model.config.kv_heads;
  const size_t scratch = scratch_.size() / machine_.pool.threads();
  const int tasks = static_cast<int>(sequences.size()) * heads;
  parallel_rows(machine_.pool, tasks, 4, [&](int begin, int end, int thread) {
    for (int task = begin; task < end; task++) {
      const size_t row = task / heads;
      attend_sequence(model, *sequences[row], layer, task % heads, activations.qkv.data() + row * shape.qkv,
                      activations.attended.data() + row * shape.q, scratch_.data() + thread * scratch);
    }
  });
}

void Decoder::attend_sequence(const Model& model, Sequence& sequence, int layer, int kv_head, const float* qkv,
                              float* out, float* scratch) {
  const ModelConfig& config = model.config;
  const float* k = qkv + model.shape.q + kv_head * config.head_dim;
  sequence.own->write(layer, kv_head, sequence.cached, k, k + model.shape.kv);
  AttentionBlock block;
  block.queries = 1;
  block.head_dim = config.head_dim;
  block.scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  block.prefix = sequence.prompt->cache.span(layer, kv_head, sequence.prompt->positions);
  block.own = sequence.own->span(layer, kv_head, sequence.cached + 1);
  block.q_stride = block.out_stride = config.head_dim;
  const int share = config.heads / config.kv_heads;
  for (int head = kv_head * share; head < (kv_head + 1) * share; head++) {
    block.q = qkv + head * config.head_dim;
    block.out = out + head * config.head_dim;
    machine_.kernels.attention(block, scratch);
  }
}

// Logits a chunk of rows at a time; several choices may ask for one row.
void Decoder::choose(Model& model) {
  const size_t hidden = model.config.hidden;
  const int count = batch_.kept_rows();
  normed_.resize(count * hidden);
  inverse_rms_.resize(count);
  norm_rows(machine_, activations_.output(), model.parameters.weights() + model.final_norm, normed_.data(),
            inverse_rms_.data(), count, model.config.hidden, model.config.rms_epsilon);
  const int most = std::min(count, logit_rows(model.config));
  logits_.resize(static_cast<size_t>(most) * model.config.vocab);
  size_t next = 0;
  for (int first = 0; first < count; first += most) {
    const int part = std::min(most, count - first);
    machine_.multiply(normed_.data() + first * hidden, model.config.hidden, part, model.forward_head(), logits_.data(),
                      model.config.vocab, false);
    const size_t begin = next;
    while (next < choices_.size() && choices_[next].row < first + part) next++;
    choose_rows(model.config, begin, next, first);
  }
}

void Decoder::choose_rows(const ModelConfig& config, size_t first, size_t last, int first_row) {
  parallel_rows(machine_.pool, static_cast<int>(last - first), row_grain(4 * config.vocab), [&](int begin, int end, int thread) {
    TokenChooser& chooser = choosers_[thread];
    int loaded = -1;
    for (size_t i = first + begin; i < first + end; i++) {
      Choice& choice = choices_[i];
      if (choice.row != loaded) {
        chooser.load(machine_.kernels, logits_.data() + static_cast<size_t>(choice.row - first_row) * config.vocab,
                     config.vocab);
      }
      loaded = choice.row;
      const Sequence& sequence = *choice.sequence;
      const SampleRequest& request = sequence.job->request;
      choice.chosen = chooser.choose(request, uniform(request.seed, sequence.index, sequence.result().tokens.size()));
    }
  });
}

size_t Decoder::bytes() const {
  size_t total = activations_.bytes();
  for (const AlignedBuffer<float>* buffer : {&normed_, &inverse_rms_, &logits_, &scratch_}) {
    total += buffer->size() * sizeof(float);
  }
  return total;
}

}  // namespace troupe
