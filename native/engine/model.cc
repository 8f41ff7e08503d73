#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "stored.h"

namespace troupe {

Shape::Shape(const ModelConfig& config)
    : q(config.heads * config.head_dim),
      kv(config.kv_heads * config.head_dim),
      qkv(q + 2 * kv),
      gate_up(2 * config.intermediate),
      input{config.hidden, q, config.hidden, config.intermediate},
      output{qkv, config.hidden, gate_up, config.hidden},
      projections(config.fused ? std::vector<Projection>{{"qkv_proj", Site::qkv, 0, qkv},
                                                         {"o_proj", Site::output, 0, config.hidden},
                                                         {"gate_up_proj", Site::gate_up, 0, gate_up},
                                                         {"down_proj", Site::down, 0, config.hidden}}
                               : std::vector<Projection>{{"q_proj", Site::qkv, 0, q},
                                                         {"k_proj", Site::qkv, q, kv},
                                                         {"v_proj", Site::qkv, q + kv, kv},
                                                         {"o_proj", Site::output, 0, config.hidden},
                                                         {"gate_proj", Site::gate_up, 0, config.intermediate},
                                                         {"up_proj", Site::gate_up, config.intermediate, config.intermediate},
                                                         {"down_proj", Site::down, 0, config.hidden}}) {}

namespace {

void require(bool holds, const char* field, double value, const std::string& expected) {
  if (holds) return;
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  throw EngineError("bad_shape", std::string("model configuration: ") + field + " is " + text + ", expected " + expected);
}

void validate_layers(const ModelConfig& config) {
  require(static_cast<int>(config.windows.size()) == config.layers, "windows' length",
          static_cast<double>(config.windows.size()), std::to_string(config.layers) + " (num_hidden_layers)");
  require(static_cast<int>(config.layer_ropes.size()) == config.layers, "layer_ropes' length",
          static_cast<double>(config.layer_ropes.size()), std::to_string(config.layers) + " (num_hidden_layers)");
  const int ropes = static_cast<int>(config.ropes.size());
  for (int window : config.windows) require(window >= 0, "a window", window, "at least 0");
  for (int rope : config.layer_ropes) {
    require(rope >= -1 && rope < ropes, "a layer's rope", rope, "-1 or one of " + std::to_string(ropes));
  }
  for (const Rope& rope : config.ropes) {
    const int turned = 2 * static_cast<int>(rope.inverse_frequencies.size());
    require(turned <= config.head_dim, "inverse_frequencies' length", turned / 2,
            "at most " + std::to_string(config.head_dim / 2) + " (head_dim / 2)");
    require(rope.factor > 0 && std::isfinite(rope.factor), "a rope's factor", rope.factor, "a positive number");
  }
}

}  // namespace

void validate(const ModelConfig& config) {
  constexpr int most = 1 << 24;
  auto positive = [](const char* field, int value) {
    require(value >= 1 && value <= most, field, value, "a whole number from 1 to " + std::to_string(most));
  };
  positive("vocab_size", config.vocab);
  positive("hidden_size", config.hidden);
  positive("intermediate_size", config.intermediate);
  require(config.layers >= 1 && config.layers <= 4096, "num_hidden_layers", config.layers,
          "a whole number from 1 to 4096");
  positive("num_attention_heads", config.heads);
  positive("num_key_value_heads", config.kv_heads);
  positive("head_dim", config.head_dim);
  positive("max_position_embeddings", config.max_positions);
  require(config.heads % config.kv_heads == 0, "num_key_value_heads", config.kv_heads,
          "a divisor of num_attention_heads (" + std::to_string(config.heads) + ")");
  require(config.head_dim % 2 == 0, "head_dim", config.head_dim, "an even number");
  require(static_cast<int64_t>(config.heads) * config.head_dim <= most, "head_dim", config.head_dim,
          "heads × head_dim of at most " + std::to_string(most));
  require(config.rms_epsilon > 0 && std::isfinite(config.rms_epsilon), "rms_norm_eps", config.rms_epsilon,
          "a positive number");
  require(config.query_scalar > 0 && std::isfinite(config.query_scalar), "query_scalar", config.query_scalar,
          "a positive number");
  validate_layers(config);
}

void ValueHeadOffsets::add(Parameters& parameters, const std::string& prefix, int hidden) {
  weight = parameters.add(prefix + "score.weight", {1, hidden});
  bias = parameters.add(prefix + "score.bias", {1});
}

void RopeTable::ensure(int positions, const Rope& rope) {
  if (positions <= positions_) return;
  const int wanted = std::max(positions, std::max(256, 2 * positions_));
  const size_t half = rope.inverse_frequencies.size();
  turned_ = static_cast<int>(2 * half);
  cosine_.resize(wanted * half);
  sine_.resize(wanted * half);
  for (int position = positions_; position < wanted; position++) {
    for (size_t i = 0; i < half; i++) {
      // The angle is rounded to float32 first, as in the reference implementation; far positions depend on it.
      const double angle = static_cast<float>(position) * rope.inverse_frequencies[i];
      cosine_[position * half + i] = static_cast<float>(std::cos(angle)) * rope.factor;
      sine_[position * half + i] = static_cast<float>(std::sin(angle)) * rope.factor;
    }
  }
  positions_ = wanted;
}

Model::Model(std::string name_, const ModelConfig& config_)
    : name(std::move(name_)), config((validate(config_), config_)), shape(config_), ropes(config_.ropes.size()) {
  add_parameters(true);
}

Model::Model(std::string name_, const ModelConfig& config_, const std::vector<StoredTensor>& tensors,
             const Machine& machine)
    : name(std::move(name_)), config((validate(config_), config_)), shape(config_), ropes(config_.ropes.size()) {
  add_parameters(false);
  pack_frozen(tensors, machine);
}

void Model::add_parameters(bool with_matrices) {
  if (with_matrices) embedding = parameters.add("model.embed_tokens.weight", {config.vocab, config.hidden});
  for (int layer = 0; layer < config.layers; layer++) add_layer(layer, with_matrices);
  final_norm = parameters.add("model.norm.weight", {config.hidden});
  if (config.value_head) {
    value_head.add(parameters, "", config.hidden);
  } else if (with_matrices) {
    head = config.tied_embeddings ? embedding : parameters.add("lm_head.weight", {config.vocab, config.hidden});
  }
  parameters.allocate();
}

namespace {

std::string matrix_name(int layer, const Projection& projection) {
  const bool attention = projection.site == Site::qkv || projection.site == Site::output;
  return "model.layers." + std::to_string(layer) + (attention ? ".self_attn." : ".mlp.") + projection.name + ".weight";
}

}  // namespace

void Model::add_layer(int layer, bool with_matrices) {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  LayerOffsets at;
  at.input_norm = parameters.add(prefix + "input_layernorm.weight", {config.hidden});
  for (const Projection& projection : shape.projections) {
    if (!with_matrices) break;
    const int site = static_cast<int>(projection.site);
    const bool first = projection.offset == 0;
    const ptrdiff_t offset =
        parameters.add(matrix_name(layer, projection), {projection.width, shape.input[site]}, first);
    if (first) at.product[site] = offset;
  }
  if (config.qkv_bias) {
    at.qkv_bias = parameters.add(prefix + "self_attn.q_proj.bias", {shape.q});
    parameters.add(prefix + "self_attn.k_proj.bias", {shape.kv}, false);
    parameters.add(prefix + "self_attn.v_proj.bias", {shape.kv}, false);
  }
  if (config.qk_norm) {
    at.q_norm = parameters.add(prefix + "self_attn.q_norm.weight", {config.head_dim});
    at.k_norm = parameters.add(prefix + "self_attn.k_norm.weight", {config.head_dim});
  }
  const auto norm = [&](const char* name) { return parameters.add(prefix + name + ".weight", {config.hidden}); };
  if (config.normed_outputs) {
    at.attention_output_norm = norm("post_attention_layernorm");
    at.middle_norm = norm("pre_feedforward_layernorm");
    at.mlp_output_norm = norm("post_feedforward_layernorm");
  } else {
    at.middle_norm = norm("post_attention_layernorm");
  }
  layers.push_back(at);
}

// A site's matrices are packed as they are read: they are in memory once.
void Model::pack_frozen(const std::vector<StoredTensor>& tensors, const Machine& machine) {
  const StoredFiles files(tensors);
  std::map<std::string, const StoredTensor*> named;
  for (const StoredTensor& tensor : tensors) named[tensor.name] = &tensor;
  auto find = [&](const std::string& wanted) -> const StoredTensor& {
    auto found = named.find(wanted);
    if (found == named.end()) throw EngineError("bad_model", "model \"" + name + "\" has no tensor \"" + wanted + "\"");
    return *found->second;
  };
  auto find_matrix = [&](const std::string& wanted) -> const StoredTensor& {
    const StoredTensor& tensor = find(wanted);
    if (tensor.format == StoredFormat::bfloat16) return tensor;
    throw EngineError("internal", "model \"" + name + "\": tensor \"" + wanted + "\" cannot be packed as bfloat16");
  };
  struct Part {
    const StoredTensor& tensor;
    int begin, end;  // rows
  };
  auto pack = [&](PackedMatrix& to, const std::vector<std::pair<std::string, int>>& names, int cols) {
    std::vector<Part> parts;
    int rows = 0;
    for (const auto& [part, count] : names) {
      parts.push_back({find_matrix(part), rows, rows + count});
      matrices_.push_back({{part, {count, cols}}, &to, rows});
      rows += count;
    }
    const auto read = [&](int first, int count, uint16_t* into) {
      for (const Part& part : parts) {
        const int begin = std::max(first, part.begin), end = std::min(first + count, part.end);
        if (begin >= end) continue;
        files.read(part.tensor, static_cast<size_t>(begin - part.begin) * cols, static_cast<size_t>(end - begin) * cols,
                   into + static_cast<size_t>(begin - first) * cols);
      }
    };
    machine.pack_rows(to, read, rows, cols);
  };
  const std::string embedded = "model.embed_tokens.weight";
  if (!config.value_head) pack(forward_.head, {{config.tied_embeddings ? embedded : "lm_head.weight", config.vocab}}, config.hidden);
  if (config.value_head || !config.tied_embeddings) {
    const StoredTensor& tensor = find_matrix(embedded);
    frozen_embedding_.resize(static_cast<size_t>(config.vocab) * config.hidden);
    parallel_blocks(machine.pool, frozen_embedding_.size(), [&](size_t first, size_t count) {
      files.read(tensor, first, count, frozen_embedding_.data() + first);
    });
    matrices_.push_back({{embedded, {config.vocab, config.hidden}}, nullptr, 0});
  }
  forward_.sites.resize(static_cast<size_t>(config.layers) * site_count);
  for (int layer = 0; layer < config.layers; layer++) {
    for (int site = 0; site < site_count; site++) {
      std::vector<std::pair<std::string, int>> names;
      for (const Projection& projection : shape.projections) {
        if (static_cast<int>(projection.site) == site) names.push_back({matrix_name(layer, projection), projection.width});
      }
      pack(forward_.sites[index(layer, static_cast<Site>(site))], names, shape.input[site]);
    }
  }
  for (const TensorView& view : parameters.views()) {
    auto found = named.find(view.info.name);
    if (found == named.end()) continue;  // a head that the files do not have starts at zero
    files.read_widened(*found->second, view.size, parameters.weights() + view.offset, machine.pool);
  }
}

void Model::read_frozen(const FrozenMatrix& matrix, const Machine& machine, float* to) const {
  const size_t rows = matrix.info.shape[0], cols = matrix.info.shape[1];
  if (!matrix.packed) {
    widen(StoredFormat::bfloat16, frozen_embedding_.data(), rows * cols, to);
    return;
  }
  for (size_t row = 0; row < rows; row++) {
    machine.kernels.read_row(*matrix.packed, matrix.first_row + static_cast<int>(row), to + row * cols);
  }
}

void Model::embed(int32_t token, const Machine& machine, float* to) const {
  const size_t hidden = config.hidden, first = static_cast<size_t>(token) * hidden;
  if (!frozen()) {
    std::memcpy(to, parameters.weights() + embedding + first, hidden * sizeof(float));
  } else if (frozen_embedding_.size() > 0) {
    widen(StoredFormat::bfloat16, frozen_embedding_.data() + first, hidden, to);
  } else {
    machine.kernels.read_row(forward_.head, token, to);
  }
}

void Model::prepare_positions(int count) {
  for (size_t i = 0; i < ropes.size(); i++) ropes[i].ensure(count, config.ropes[i]);
}

size_t Model::parameter_count() const {
  size_t total = parameters.size();
  for (const FrozenMatrix& matrix : matrices_) total += matrix.size();
  return total;
}

void Model::pack_forward(const Machine& machine) {
  if (!frozen()) pack(forward_, true, machine);
}

void Model::pack_backward(const Machine& machine) {
  if (frozen()) {
    turn(machine);
  } else {
    pack(backward_, false, machine);
  }
}

// Once, because the weights do not change.
void Model::turn(const Machine& machine) {
  if (backward_.version > 0) return;
  backward_.sites.resize(forward_.sites.size());
  for (size_t i = 0; i < forward_.sites.size(); i++) {
    machine.kernels.pack_turned(backward_.sites[i], forward_.sites[i], machine.pool);
  }
  if (!config.value_head) machine.kernels.pack_turned(backward_.head, forward_.head, machine.pool);
  backward_.version = 1;
}

void Model::pack(PackedWeights& to, bool transpose, const Machine& machine) {
  if (to.version == parameters.version) return;
  to.version = 0;
  const float* weights = parameters.weights();
  to.sites.resize(static_cast<size_t>(config.layers) * site_count);
  for (int layer = 0; layer < config.layers; layer++) {
    for (int site = 0; site < site_count; site++) {
      machine.pack(to.sites[index(layer, static_cast<Site>(site))], weights + layers[layer].product[site],
                   shape.output[site], shape.input[site], transpose);
    }
  }
  if (head >= 0) machine.pack(to.head, weights + head, config.vocab, config.hidden, transpose);
  to.version = parameters.version;
}

size_t Model::unpacked_bytes() const {
  const size_t each = parameter_count() * (frozen() ? sizeof(uint16_t) : sizeof(float));
  return (forward_.sites.empty() ? each : 0) + (backward_.sites.empty() ? each : 0);
}

size_t Model::bytes() const {
  size_t total = parameters.bytes() + frozen_embedding_.size() * sizeof(uint16_t);
  for (const PackedWeights* packed : {&forward_, &backward_}) {
    total += packed->head.data.size();
    for (const PackedMatrix& matrix : packed->sites) total += matrix.data.size();
  }
  return total;
}

}  // namespace troupe
