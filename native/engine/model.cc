#include "model.h"

#include <cmath>

namespace troupe {

Shape::Shape(const ModelConfig& config)
    : q(config.heads * config.head_dim),
      kv(config.kv_heads * config.head_dim),
      qkv(q + 2 * kv),
      gate_up(2 * config.intermediate),
      input{config.hidden, q, config.hidden, config.intermediate},
      output{qkv, config.hidden, gate_up, config.hidden},
      projections{{"q_proj", Site::qkv, 0, q},
                  {"k_proj", Site::qkv, q, kv},
                  {"v_proj", Site::qkv, q + kv, kv},
                  {"o_proj", Site::output, 0, config.hidden},
                  {"gate_proj", Site::gate_up, 0, config.intermediate},
                  {"up_proj", Site::gate_up, config.intermediate, config.intermediate},
                  {"down_proj", Site::down, 0, config.hidden}} {}

namespace {

void require(bool holds, const char* field, double value, const std::string& expected) {
  if (holds) return;
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  throw EngineError("bad_shape", std::string("model configuration: ") + field + " is " + text + ", expected " + expected);
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
  require(static_cast<int>(config.inverse_frequencies.size()) == config.head_dim / 2, "inverse_frequencies' length",
          static_cast<double>(config.inverse_frequencies.size()), std::to_string(config.head_dim / 2) + " (head_dim / 2)");
}

void ValueHeadOffsets::add(Parameters& parameters, const std::string& prefix, int hidden) {
  weight = parameters.add(prefix + "score.weight", {1, hidden});
  bias = parameters.add(prefix + "score.bias", {1});
}

void RopeTable::ensure(int positions, const std::vector<float>& inverse_frequencies) {
  if (positions <= positions_) return;
  const int wanted = std::max(positions, std::max(256, 2 * positions_));
  const size_t half = inverse_frequencies.size();
  cosine_.resize(wanted * half);
  sine_.resize(wanted * half);
  for (int position = positions_; position < wanted; position++) {
    for (size_t i = 0; i < half; i++) {
      // The angle is rounded to float32 first, as in the reference implementation; far positions depend on it.
      const double angle = static_cast<float>(position) * inverse_frequencies[i];
      cosine_[position * half + i] = static_cast<float>(std::cos(angle));
      sine_[position * half + i] = static_cast<float>(std::sin(angle));
    }
  }
  positions_ = wanted;
}

Model::Model(std::string name_, const ModelConfig& config_)
    : name(std::move(name_)), config((validate(config_), config_)), shape(config_) {
  embedding = parameters.add("model.embed_tokens.weight", {config.vocab, config.hidden});
  for (int layer = 0; layer < config.layers; layer++) add_layer(layer);
  final_norm = parameters.add("model.norm.weight", {config.hidden});
  if (config.value_head) {
    value_head.add(parameters, "", config.hidden);
  } else {
    head = config.tied_embeddings ? embedding : parameters.add("lm_head.weight", {config.vocab, config.hidden});
  }
  parameters.allocate();
}

void Model::add_layer(int layer) {
  const std::string prefix = "model.layers." + std::to_string(layer) + ".";
  LayerOffsets at;
  at.input_norm = parameters.add(prefix + "input_layernorm.weight", {config.hidden});
  for (const Projection& projection : shape.projections) {
    const int site = static_cast<int>(projection.site);
    const bool attention = projection.site == Site::qkv || projection.site == Site::output;
    const std::string name = prefix + (attention ? "self_attn." : "mlp.") + projection.name + ".weight";
    const bool first = projection.offset == 0;
    const ptrdiff_t offset = parameters.add(name, {projection.width, shape.input[site]}, first);
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
  at.post_norm = parameters.add(prefix + "post_attention_layernorm.weight", {config.hidden});
  layers.push_back(at);
}

void Model::pack_forward(const Machine& machine) {
  pack(forward_, true, machine);
}

void Model::pack_backward(const Machine& machine) {
  pack(backward_, false, machine);
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

size_t Model::bytes() const {
  size_t total = parameters.bytes();
  for (const PackedWeights* packed : {&forward_, &backward_}) {
    total += packed->head.data.size();
    for (const PackedMatrix& matrix : packed->sites) total += matrix.data.size();
  }
  return total;
}

}  // namespace troupe
