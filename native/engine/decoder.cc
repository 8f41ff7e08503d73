#include "decoder.h"

#include <cmath>

#include "head.h"
#include "rows.h"

namespace troupe {

namespace {

// What blocks of a layer have in common.
AttentionBlock attention_block(const Machine& machine, const ModelConfig& config, int layer) {
  AttentionBlock block;
  block.narrow = machine.narrow_keys();
  block.head_dim = config.head_dim;
  block.scale = 1.0f / std::sqrt(config.query_scalar);
  block.window = config.windows[layer];
  return block;
}

}  // namespace

void Decoder::start(Model& model) {
  model.pack_forward(machine_);
  batch_.clear();
  prompts_.clear();
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
  activations_.prepare(model, batch_, Keep::none);
  forward_layers(machine_, model, batch_, activations_, attend);
  choose(model);
}

// A long prompt is computed in pieces: what its rows need at a time is bounded.
std::vector<Choice>& Decoder::prefill(Model& model, const std::vector<Sequence*>& sequences) {
  for (const Sequence* sequence : sequences) {
    while (sequence->prompt->missing() > prefill_rows) {
      start(model);
      add_prompt(*sequence, prefill_rows);
      run_prompts(model);
    }
  }
  start(model);
  for (Sequence* sequence : sequences) {
    if (prompts_.empty() || prompts_.back().prompt != sequence->prompt.get()) {
      add_prompt(*sequence, sequence->prompt->missing());
      batch_.kept.push_back(batch_.rows() - 1);
    }
    choices_.push_back({sequence, batch_.kept_rows() - 1, {}});
  }
  run_prompts(model);
  return choices_;
}

void Decoder::add_prompt(const Sequence& sequence, int rows) {
  const SampleJob& job = *sequence.job;
  const int first = sequence.prompt->next();
  prompts_.push_back({sequence.prompt.get(), {batch_.rows(), rows}});
  for (int i = first; i < first + rows; i++) add_row(job.request.prompt[i], i, job.policy.adapter);
}

void Decoder::run_prompts(Model& model) {
  const int heads = model.config.kv_heads;
  int queries = 1, keys = 1;
  double cost = 0;
  costs_.clear();
  for (const auto& [prompt, span] : prompts_) {
    queries = std::max(queries, span.rows);
    keys = std::max(keys, prompt->next() + span.rows);
    const double of_head = 64 + span.rows * (prompt->next() + 0.5 * span.rows);
    for (int head = 0; head < heads; head++) costs_.push_back(cost += of_head);
  }
  reserve_scratch(queries, keys, model.config.head_dim);
  run(model, [&](int layer, LayerActivations& activations) {
    parallel_tasks(machine_.pool, costs_, [&](int task, int thread) {
      attend_prompt(model, prompts_[task / heads], layer, task % heads, activations, thread);
    });
  });
  for (const auto& [prompt, span] : prompts_) prompt->computed = prompt->next() + span.rows;
}

// Stores the rows' keys and values of one head; its queries attend to these and to those before them.
void Decoder::attend_prompt(const Model& model, const PromptRows& rows, int layer, int kv_head,
                            LayerActivations& activations, int thread) {
  const ModelConfig& config = model.config;
  const Shape& shape = model.shape;
  const int share = config.heads / config.kv_heads, head_dim = config.head_dim, first = rows.prompt->next();
  const float* qkv = activations.qkv.data() + static_cast<size_t>(rows.span.row) * shape.qkv;
  for (int row = 0; row < rows.span.rows; row++) {
    const float* k = qkv + static_cast<size_t>(row) * shape.qkv + shape.q + kv_head * head_dim;
    rows.prompt->cache.write(layer, kv_head, first + row, k, k + shape.kv);
  }
  AttentionBlock block = attention_block(machine_, config, layer);
  block.queries = rows.span.rows;
  block.q_stride = shape.qkv;
  block.out_stride = shape.q;
  block.own = rows.prompt->cache.span(layer, kv_head, first + rows.span.rows);
  block.q = qkv + kv_head * share * head_dim;
  block.out = activations.attended.data() + static_cast<size_t>(rows.span.row) * shape.q + kv_head * share * head_dim;
  for (int head = 0; head < share; head++, block.q += head_dim, block.out += head_dim) {
    machine_.kernels.attention(block, scratch_of(thread));
  }
}

std::vector<Choice>& Decoder::decode(Model& model, const std::vector<Sequence*>& sequences) {
  start(model);
  for (Sequence* sequence : sequences) {
    choices_.push_back({sequence, batch_.rows(), {}});
    batch_.kept.push_back(batch_.rows());
    add_row(sequence->result().tokens.back(), sequence->position(), sequence->job->policy.adapter);
  }
  group_by_prompt(model, sequences);
  const int heads = model.config.kv_heads;
  run(model, [&](int layer, LayerActivations& activations) {
    parallel_tasks(machine_.pool, costs_, [&](int task, int thread) {
      attend_group(model, sequences, decoding_[task / heads], layer, task % heads, activations, thread);
    });
  });
  for (Sequence* sequence : sequences) sequence->cached++;
  return choices_;
}

// Groups are bounded, so that all threads are busy even if many sequences share a prompt.
void Decoder::group_by_prompt(const Model& model, const std::vector<Sequence*>& sequences) {
  constexpr int most = 16;
  decoding_.clear();
  costs_.clear();
  int keys = 1;
  double cost = 0;
  for (int row = 0; row < static_cast<int>(sequences.size()); row++) {
    keys = std::max(keys, sequences[row]->position() + 1);
    const bool same = row > 0 && sequences[row]->prompt == sequences[row - 1]->prompt && decoding_.back().rows < most;
    if (!same) decoding_.push_back({row, 0});
    decoding_.back().rows++;
  }
  for (const Span& group : decoding_) {
    const Sequence& first = *sequences[group.row];
    const double of_head = first.prompt->positions + group.rows * (32.0 + first.position());
    for (int head = 0; head < model.config.kv_heads; head++) costs_.push_back(cost += of_head);
  }
  const int queries = most * (model.config.heads / model.config.kv_heads);
  reserve_scratch(queries, keys, model.config.head_dim);
}

// A cache line of space between threads.
void Decoder::reserve_scratch(int queries, int keys, int head_dim) {
  const size_t floats = machine_.kernels.attention_scratch(queries, keys, head_dim) + 16;
  scratch_.resize(floats * machine_.pool.threads());
}

float* Decoder::scratch_of(int thread) {
  return scratch_.data() + thread * (scratch_.size() / machine_.pool.threads());
}

// All queries of the group on one key/value head: they share the prompt's keys.
void Decoder::attend_group(const Model& model, const std::vector<Sequence*>& sequences, Span group, int layer,
                           int kv_head, LayerActivations& activations, int thread) {
  const ModelConfig& config = model.config;
  const int share = config.heads / config.kv_heads, head_dim = config.head_dim;
  std::vector<AttentionBlock>& blocks = blocks_[thread];
  blocks.clear();
  for (int row = group.row; row < group.row + group.rows; row++) {
    Sequence& sequence = *sequences[row];
    float* qkv = activations.qkv.data() + static_cast<size_t>(row) * model.shape.qkv;
    const float* k = qkv + model.shape.q + kv_head * head_dim;
    sequence.own->write(layer, kv_head, sequence.cached, k, k + model.shape.kv);
    AttentionBlock block = attention_block(machine_, config, layer);
    block.queries = 1;
    block.q_stride = block.out_stride = head_dim;
    block.prefix = sequence.prompt->cache.span(layer, kv_head, sequence.prompt->positions);
    block.own = sequence.own->span(layer, kv_head, sequence.cached + 1);
    block.q = qkv + kv_head * share * head_dim;
    block.out = activations.attended.data() + static_cast<size_t>(row) * model.shape.q + kv_head * share * head_dim;
    for (int head = 0; head < share; head++, block.q += head_dim, block.out += head_dim) blocks.push_back(block);
  }
  machine_.kernels.attention_group(blocks.data(), static_cast<int>(blocks.size()), scratch_of(thread));
}

// Computes logits a chunk of rows at a time; several choices may need the same row.
void Decoder::choose(Model& model) {
  const size_t hidden = model.config.hidden;
  const int count = batch_.kept_rows();
  normed_.resize(count * hidden);
  inverse_rms_.resize(count);
  norm_rows(machine_, activations_.output(), model.norm(model.final_norm), normed_.data(), inverse_rms_.data(), count, model.config.hidden, model.config.rms_epsilon);
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
  const int count = static_cast<int>(last - first);
  parallel_rows(machine_.pool, count, row_grain(4 * config.vocab), [&](int begin, int end, int thread) {
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
