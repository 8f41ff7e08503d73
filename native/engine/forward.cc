#include <cstring>

#include "rows.h"
#include "transformer.h"

namespace troupe {

namespace {

struct Pass {
  const Machine& machine;
  Model& model;
  const RowBatch& batch;
  Activations& activations;
  bool last(int layer) const { return layer + 1 == model.config.layers; }
};

void embed(const Pass& pass, float* to) {
  const int hidden = pass.model.config.hidden;
  const float scale = pass.model.config.embedding_scale;
  parallel_rows(pass.machine.pool, pass.batch.rows(), row_grain(hidden), [&](int begin, int end, int) {
    for (int row = begin; row < end; row++) {
      pass.model.embed(pass.batch.tokens[row], pass.machine, to + static_cast<size_t>(row) * hidden);
    }
    if (scale == 1) return;
    for (size_t i = static_cast<size_t>(begin) * hidden; i < static_cast<size_t>(end) * hidden; i++) to[i] *= scale;
  });
}

// y = x·Wᵀ plus the adapters' parts; y += when `residual`.
void product(const Pass& pass, const Rows& rows, int layer, Site site, const float* x, float* y, bool residual) {
  const int in = pass.model.shape.input[static_cast<int>(site)], out = pass.model.shape.output[static_cast<int>(site)];
  pass.machine.multiply(x, in, rows.count, pass.model.forward_matrix(layer, site), y, out, residual);
  float* low = pass.activations.layer(layer).low[static_cast<int>(site)].data();
  const int stride = pass.activations.low_stride(site);
  for (const Segment& segment : rows.segments) {
    if (!segment.adapter) continue;
    const size_t row = segment.begin;
    segment.adapter->forward(
        {layer, site, segment.end - segment.begin, x + row * in, in, low + row * stride, stride}, y + row * out, out,
        pass.machine);
  }
}

void norm_heads(const Pass& pass, const LayerOffsets& at, LayerActivations& layer, int row) {
  const ModelConfig& config = pass.model.config;
  const Shape& shape = pass.model.shape;
  float* qkv = layer.qkv.data() + static_cast<size_t>(row) * shape.qkv;
  float* raw = layer.raw_heads.data() + static_cast<size_t>(row) * (shape.q + shape.kv);
  float* rms = layer.head_rms.data() + static_cast<size_t>(row) * (config.heads + config.kv_heads);
  std::memcpy(raw, qkv, (shape.q + shape.kv) * sizeof(float));
  pass.machine.kernels.rms_norm(raw, pass.model.norm(at.q_norm), qkv, rms, config.heads, config.head_dim,
                                config.rms_epsilon);
  pass.machine.kernels.rms_norm(raw + shape.q, pass.model.norm(at.k_norm), qkv + shape.q, rms + config.heads,
                                config.kv_heads, config.head_dim, config.rms_epsilon);
}

// Bias, query/key norm and rotation of the rows' heads. k directly follows q, so both rotate in one call; v follows k.
void prepare_heads(const Pass& pass, int index) {
  const ModelConfig& config = pass.model.config;
  const Shape& shape = pass.model.shape;
  const LayerOffsets& at = pass.model.layers[index];
  LayerActivations& layer = pass.activations.layer(index);
  const int rope = config.layer_ropes[index];
  parallel_rows(pass.machine.pool, pass.batch.rows(), row_grain(shape.qkv), [&](int begin, int end, int) {
    for (int row = begin; row < end; row++) {
      float* qkv = layer.qkv.data() + static_cast<size_t>(row) * shape.qkv;
      if (at.qkv_bias >= 0) pass.machine.kernels.add(qkv, pass.model.parameters.weights() + at.qkv_bias, shape.qkv);
      if (at.q_norm >= 0) norm_heads(pass, at, layer, row);
    }
    float* first = layer.qkv.data() + static_cast<size_t>(begin) * shape.qkv;
    if (rope >= 0) {
      const RopeTable& table = pass.model.ropes[rope];
      pass.machine.kernels.rotate(first, shape.qkv, pass.batch.positions.data() + begin, table.cosine(), table.sine(),
                                  end - begin, config.heads + config.kv_heads, config.head_dim, table.turned(), 1.0f);
    }
    if (!pass.machine.narrow_keys()) return;
    for (int row = begin; row < end; row++, first += shape.qkv) {
      pass.machine.kernels.round_to_bfloat16(first + shape.q, 2 * shape.kv);
    }
  });
}

void copy_stream(const Pass& pass, int rows, const float* from, float* to) {
  if (from == to) return;
  const int hidden = pass.model.config.hidden;
  parallel_rows(pass.machine.pool, rows, row_grain(hidden), [&](int begin, int end, int) {
    const size_t first = static_cast<size_t>(begin) * hidden;
    std::memcpy(to + first, from + first, static_cast<size_t>(end - begin) * hidden * sizeof(float));
  });
}

// to = the kept rows of from; to may equal from, because no row is overwritten before it is read.
void gather(const RowBatch& batch, const float* from, float* to, size_t width) {
  if (from == to && batch.kept_rows() == batch.rows()) return;
  for (size_t i = 0; i < batch.kept.size(); i++) {
    std::memmove(to + i * width, from + batch.kept[i] * width, width * sizeof(float));
  }
}

// stream += the product, after its norm if it has one. `output` and `rms` are kept for the norm's backward pass.
void add_product(const Pass& pass, const Rows& rows, int index, Site site, const float* x, ptrdiff_t norm,
                 AlignedBuffer<float>& output, AlignedBuffer<float>& rms, float* stream) {
  if (norm < 0) return product(pass, rows, index, site, x, stream, true);
  product(pass, rows, index, site, x, output.data(), false);
  const int hidden = pass.model.config.hidden;
  float* normed = pass.activations.normed_output();
  norm_rows(pass.machine, output.data(), pass.model.norm(norm), normed, rms.data(), rows.count, hidden,
            pass.model.config.rms_epsilon);
  parallel_rows(pass.machine.pool, rows.count, row_grain(hidden), [&](int begin, int end, int) {
    const size_t first = static_cast<size_t>(begin) * hidden;
    pass.machine.kernels.add(stream + first, normed + first, static_cast<size_t>(end - begin) * hidden);
  });
}

void attention_half(const Pass& pass, int index, const Attend& attend) {
  const ModelConfig& config = pass.model.config;
  const LayerOffsets& at = pass.model.layers[index];
  LayerActivations& layer = pass.activations.layer(index);
  float *input = pass.activations.input(index), *middle = pass.activations.middle(index);
  norm_rows(pass.machine, input, pass.model.norm(at.input_norm), layer.normed_input.data(), layer.input_rms.data(), pass.batch.rows(),
            config.hidden, config.rms_epsilon);
  product(pass, {pass.batch.rows(), pass.batch.segments}, index, Site::qkv, layer.normed_input.data(), layer.qkv.data(),
          false);
  prepare_heads(pass, index);
  attend(index, layer);
  const float* attended = layer.attended.data();
  if (pass.last(index)) {
    gather(pass.batch, input, middle, config.hidden);
    gather(pass.batch, attended, pass.activations.kept_attended(), pass.model.shape.q);
    attended = pass.activations.kept_attended();
  } else {
    copy_stream(pass, pass.batch.rows(), input, middle);
  }
  add_product(pass, pass.batch.after_attention(pass.last(index)), index, Site::output, attended,
              at.attention_output_norm, layer.attention_output, layer.attention_output_rms, middle);
}

void mlp_half(const Pass& pass, int index) {
  const ModelConfig& config = pass.model.config;
  const LayerOffsets& at = pass.model.layers[index];
  LayerActivations& layer = pass.activations.layer(index);
  const Rows rows = pass.batch.after_attention(pass.last(index));
  float *middle = pass.activations.middle(index), *output = pass.activations.output(index);
  norm_rows(pass.machine, middle, pass.model.norm(at.middle_norm), layer.normed_middle.data(), layer.middle_rms.data(),
            rows.count, config.hidden, config.rms_epsilon);
  product(pass, rows, index, Site::gate_up, layer.normed_middle.data(), layer.gate_up.data(), false);
  const size_t width = config.intermediate;
  const Kernels& kernels = pass.machine.kernels;
  const auto activate = config.activation == Activation::silu ? kernels.swiglu : kernels.geglu;
  parallel_rows(pass.machine.pool, rows.count, row_grain(config.intermediate), [&](int begin, int end, int) {
    activate(layer.gate_up.data() + 2 * begin * width, layer.activated.data() + begin * width, end - begin,
             config.intermediate);
  });
  copy_stream(pass, rows.count, middle, output);
  add_product(pass, rows, index, Site::down, layer.activated.data(), at.mlp_output_norm, layer.mlp_output,
              layer.mlp_output_rms, output);
}

}  // namespace

void norm_rows(const Machine& machine, const float* x, NormWeights w, float* y, float* inverse_rms, int rows,
               int width, float epsilon) {
  parallel_rows(machine.pool, rows, row_grain(width), [&](int begin, int end, int) {
    const size_t first = static_cast<size_t>(begin) * width;
    machine.kernels.rms_norm(x + first, w, y + first, inverse_rms + begin, end - begin, width, epsilon);
  });
}

void recompute_layer(const Machine& machine, Model& model, const RowBatch& batch, Activations& activations, int layer,
                     const Attend& attend) {
  const Pass pass{machine, model, batch, activations};
  attention_half(pass, layer, attend);
  mlp_half(pass, layer);
}

void forward_layers(const Machine& machine, Model& model, const RowBatch& batch, Activations& activations,
                    const Attend& attend) {
  if (batch.rows() == 0) return;
  const Pass pass{machine, model, batch, activations};
  model.prepare_positions(1 + *std::max_element(batch.positions.begin(), batch.positions.end()));
  embed(pass, activations.input(0));
  for (int layer = 0; layer < model.config.layers; layer++) {
    attention_half(pass, layer, attend);
    mlp_half(pass, layer);
  }
}

}  // namespace troupe
