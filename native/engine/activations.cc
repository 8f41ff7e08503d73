#include "transformer.h"

namespace troupe {

void RowBatch::clear() {
  tokens.clear();
  positions.clear();
  segments.clear();
  kept.clear();
  kept_segments.clear();
}

void RowBatch::find_kept_segments() {
  kept_segments.clear();
  int at = 0;
  for (const Segment& segment : segments) {
    const int begin = at;
    while (at < kept_rows() && kept[at] < segment.end) at++;
    if (begin < at) kept_segments.push_back({begin, at, segment.adapter});
  }
}

size_t LayerActivations::bytes() const {
  size_t total = 0;
  for (const AlignedBuffer<float>* buffer : {&normed_input, &input_rms, &raw_heads, &head_rms, &qkv, &attended,
                                             &log_sum_exp, &middle, &normed_middle, &middle_rms, &gate_up, &activated,
                                             &attention_output, &attention_output_rms, &mlp_output, &mlp_output_rms}) {
    total += buffer->size();
  }
  for (const AlignedBuffer<float>& buffer : low) total += buffer.size();
  return total * sizeof(float);
}

void Activations::prepare(const Model& model, const RowBatch& batch, Keep keep) {
  const ModelConfig& config = model.config;
  const Shape& shape = model.shape;
  const size_t rows = batch.rows();
  keep_ = keep;
  count_ = config.layers;
  for (int site = 0; site < site_count; site++) {
    low_stride_[site] = 0;
    for (const Segment& segment : batch.segments) {
      if (!segment.adapter) continue;
      low_stride_[site] = std::max(low_stride_[site], segment.adapter->low_width(static_cast<Site>(site)));
    }
  }
  output_.resize(rows * config.hidden);
  kept_attended_.resize(batch.kept.size() * shape.q);
  if (config.normed_outputs) normed_output_.resize(rows * config.hidden);
  const size_t held = keep == Keep::all ? config.layers : 1, inputs = keep == Keep::none ? 0 : config.layers;
  if (inputs_.size() < inputs) inputs_.resize(inputs);
  for (size_t i = 0; i < inputs; i++) inputs_[i].resize(rows * config.hidden);
  if (layers_.size() < held) layers_.resize(held);
  for (size_t i = 0; i < held; i++) {
    LayerActivations& layer = layers_[i];
    layer.normed_input.resize(rows * config.hidden);
    layer.input_rms.resize(rows);
    layer.qkv.resize(rows * shape.qkv);
    layer.attended.resize(rows * shape.q);
    layer.normed_middle.resize(rows * config.hidden);
    layer.middle_rms.resize(rows);
    layer.gate_up.resize(rows * shape.gate_up);
    layer.activated.resize(rows * config.intermediate);
    if (config.qk_norm) {
      layer.raw_heads.resize(rows * (shape.q + shape.kv));
      layer.head_rms.resize(rows * (config.heads + config.kv_heads));
    }
    if (config.normed_outputs) {
      layer.attention_output.resize(rows * config.hidden);
      layer.attention_output_rms.resize(rows);
      layer.mlp_output.resize(rows * config.hidden);
      layer.mlp_output_rms.resize(rows);
    }
    if (keep != Keep::none) {
      layer.middle.resize(rows * config.hidden);
      layer.log_sum_exp.resize(rows * config.heads);
    }
    for (int site = 0; site < site_count; site++) layer.low[site].resize(rows * low_stride_[site]);
  }
}

size_t Activations::bytes() const {
  size_t total = (output_.size() + kept_attended_.size() + normed_output_.size()) * sizeof(float);
  for (const AlignedBuffer<float>& input : inputs_) total += input.size() * sizeof(float);
  for (const LayerActivations& layer : layers_) total += layer.bytes();
  return total;
}

size_t Activations::floats_per_row(const Model& model) {
  const ModelConfig& config = model.config;
  const Shape& shape = model.shape;
  size_t layer = 4 * static_cast<size_t>(config.hidden) + shape.qkv + shape.q + shape.gate_up + config.intermediate;
  if (config.qk_norm) layer += shape.q + shape.kv;
  if (config.normed_outputs) layer += 2 * static_cast<size_t>(config.hidden);
  // d_stream, d_wide and d_narrow of the backward pass and the row's share of logits are about one layer more.
  return layer * (config.layers + 1);
}

}  // namespace troupe
