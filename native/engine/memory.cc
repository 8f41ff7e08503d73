#include "memory.h"

#include <algorithm>

#include "attention.h"
#include "head.h"
#include "sampler.h"

namespace troupe {

namespace {

size_t low_width(const std::vector<const Adapter*>& adapters, int site) {
  int width = 0;
  for (const Adapter* adapter : adapters) width = std::max(width, adapter->low_width(static_cast<Site>(site)));
  return width;
}

// Floats per row of one layer, without the stream into it.
size_t layer_floats(const Model& model) {
  const ModelConfig& config = model.config;
  const Shape& shape = model.shape;
  size_t floats = 2 * static_cast<size_t>(config.hidden) + shape.qkv + shape.q + shape.gate_up + config.intermediate + 2;
  if (config.qk_norm) floats += shape.q + shape.kv + config.heads + config.kv_heads;
  if (config.normed_outputs) floats += 2 * static_cast<size_t>(config.hidden) + 2;
  return floats;
}

size_t attention_bytes(const Machine& machine, const Model& model, int queries, int keys) {
  const size_t floats = machine.kernels.attention_scratch(queries, keys, model.config.head_dim) + 16;
  return floats * machine.pool.threads() * sizeof(float);
}

size_t logit_bytes(const ModelConfig& config, size_t rows) {
  return config.value_head ? 0 : std::min<size_t>(rows, logit_rows(config)) * config.vocab * sizeof(float);
}

struct Division {
  int shards;
  size_t rows;  // of a chunk of each shard
};

// As the trainer divides prompts with all their continuations, if all have the same lengths.
Division divide(const Machine& machine, const Model& model, const WorkSize& work) {
  const size_t most = chunk_rows(model, true);
  const size_t reply = (work.tokens - work.prompts) / std::max<size_t>(1, work.sequences);
  const size_t prompt = work.longest - std::min(work.longest, reply);
  const size_t data = std::max<size_t>(1, work.prompts / std::max<size_t>(1, prompt));
  const size_t of_datum = work.tokens / data;
  const int shards = training_shards(machine, model, work.tokens);
  if (shards == 1 || data * (of_datum / most + 1) < static_cast<size_t>(shards)) {
    return {1, std::max(work.longest, std::min(work.tokens, most))};
  }
  const size_t of_chunk = std::max(shard_rows, std::min(of_datum, most));
  return {shards, std::max(work.longest, std::min(work.tokens / shards, of_chunk))};
}

}  // namespace

size_t bytes_of_training(const Machine& machine, const Model& model, const std::vector<const Adapter*>& adapters,
                         bool is_policy, const WorkSize& work) {
  const int shards = divide(machine, model, work).shards;
  size_t total = model.unpacked_bytes();
  if (is_policy) total += model.parameters.missing_bytes(shards);
  for (const Adapter* adapter : adapters) {
    total += adapter->parameters.missing_bytes(shards) + adapter->unpacked_bytes();
  }
  return total;
}

size_t bytes_of_batch(const Machine& machine, const Model& model, const std::vector<const Adapter*>& adapters,
                      const WorkSize& work) {
  const ModelConfig& config = model.config;
  const Shape& shape = model.shape;
  const Division division = divide(machine, model, work);
  const size_t shards = division.shards, hidden = config.hidden, rows = shards * division.rows;
  const bool all = kept_of_layers(model, static_cast<int>(division.rows), true) == Keep::all;
  size_t layer = layer_floats(model) + hidden + config.heads, low = 0;
  for (int site = 0; site < site_count; site++) {
    layer += low_width(adapters, site);
    low = std::max(low, low_width(adapters, site));
  }
  const size_t narrow = std::max({config.intermediate, config.hidden, shape.q});
  const size_t normed = config.normed_outputs ? hidden : 0;
  const size_t streams = (config.layers + 1) * hidden + shape.q + normed;
  const size_t backward = std::max(shape.gate_up, shape.qkv) + 3 * narrow + normed + low;
  const size_t floats = (all ? config.layers : 1) * layer + streams + backward;
  const double with_loss = static_cast<double>(work.tokens - work.prompts) / std::max<size_t>(1, work.tokens);
  const size_t losses = static_cast<size_t>(rows * with_loss);
  const size_t gradients = head_gradient_floats(config, rows) + losses * 2 * hidden;
  return (rows * floats + gradients) * sizeof(float) + shards * logit_bytes(config, losses / shards) +
         attention_bytes(machine, model, static_cast<int>(work.longest), static_cast<int>(work.longest));
}

size_t bytes_of_sampling(const Machine& machine, const Model& model, const WorkSize& work, size_t cache_limit) {
  if (model.config.value_head || work.sequences == 0) return 0;
  const size_t rows = std::min<size_t>(work.prompts, prefill_rows);
  const size_t floats = layer_floats(model) + model.config.hidden + model.shape.q;
  // A prompt's keys and values exist once, and each sequence has its own, in blocks that are half empty on average.
  const size_t positions = work.tokens + 16 * work.sequences;
  const bool narrow = machine.narrow_keys();
  const size_t cache = std::max(KvCache::bytes(model.config, static_cast<int>(work.longest), narrow),
                                std::min(cache_limit, KvCache::bytes(model.config, static_cast<int>(positions), narrow)));
  return rows * floats * sizeof(float) + logit_bytes(model.config, work.sequences) + cache +
         attention_bytes(machine, model, static_cast<int>(rows), static_cast<int>(work.longest));
}

}  // namespace troupe
