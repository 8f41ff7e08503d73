#include <cstring>

#include "rows.h"
#include "transformer.h"

namespace troupe {

namespace {

struct BackwardPass {
  const Machine& machine;
  Model& model;
  const RowBatch& batch;
  Activations& activations;
  BackwardScratch& scratch;
  float* gradient;  // the model's own; null if no row trains it
  bool last(int layer) const { return layer + 1 == model.config.layers; }
};

// dx = dy·W, dW += dyᵀ·x, and the adapters' contributions.
void product_backward(const BackwardPass& pass, const Rows& rows, int index, Site site, const float* dy, const float* x,
                      float* dx) {
  const int in = pass.model.shape.input[static_cast<int>(site)], out = pass.model.shape.output[static_cast<int>(site)];
  pass.machine.multiply(dy, out, rows.count, pass.model.backward_matrix(index, site), dx, in, false);
  float* low = pass.activations.layer(index).low[static_cast<int>(site)].data();
  const int stride = pass.activations.low_stride(site);
  for (const Segment& segment : rows.segments) {
    const size_t row = segment.begin;
    const int count = segment.end - segment.begin;
    if (segment.adapter) {
      segment.adapter->backward({index, site, count, x + row * in, in, low + row * stride, stride},
                                dy + row * out, out, dx + row * in, in, pass.scratch.d_low.data(), pass.machine);
    } else {
      float* dw = pass.gradient + pass.model.layers[index].product[static_cast<int>(site)];
      pass.machine.weight_gradient(dy + row * out, out, x + row * in, in, count, out, in, dw);
    }
  }
}

void norm_backward(const BackwardPass& pass, const Rows& rows, ptrdiff_t weight, const float* x, const float* inverse_rms) {
  const NormBackward norm{pass.scratch.d_narrow.data(),
                          x,
                          pass.model.norm(weight),
                          inverse_rms,
                          pass.scratch.d_stream.data(),
                          pass.gradient ? pass.gradient + weight : nullptr,
                          pass.model.config.hidden};
  norm_rows_backward(pass.machine, norm, rows.segments, pass.scratch.thread_sums);
}

// The gradient of what attention or MLP adds to the residual stream, before its norm if it has one.
const float* output_gradient(const BackwardPass& pass, const Rows& rows, ptrdiff_t weight, const AlignedBuffer<float>& output,
                             const AlignedBuffer<float>& rms) {
  BackwardScratch& scratch = pass.scratch;
  if (weight < 0) return scratch.d_stream.data();
  const int hidden = pass.model.config.hidden;
  std::memset(scratch.d_output.data(), 0, static_cast<size_t>(rows.count) * hidden * sizeof(float));
  norm_rows_backward(pass.machine,
                     {scratch.d_stream.data(), output.data(), pass.model.norm(weight), rms.data(),
                      scratch.d_output.data(), pass.gradient ? pass.gradient + weight : nullptr, hidden},
                     rows.segments, scratch.thread_sums);
  return scratch.d_output.data();
}

void mlp_backward(const BackwardPass& pass, int index) {
  const LayerOffsets& at = pass.model.layers[index];
  LayerActivations& layer = pass.activations.layer(index);
  BackwardScratch& scratch = pass.scratch;
  const Rows rows = pass.batch.after_attention(pass.last(index));
  const float* d_output = output_gradient(pass, rows, at.mlp_output_norm, layer.mlp_output, layer.mlp_output_rms);
  product_backward(pass, rows, index, Site::down, d_output, layer.activated.data(), scratch.d_narrow.data());
  const int width = pass.model.config.intermediate;
  const Kernels& kernels = pass.machine.kernels;
  const auto differentiate =
      pass.model.config.activation == Activation::silu ? kernels.swiglu_backward : kernels.geglu_backward;
  parallel_rows(pass.machine.pool, rows.count, row_grain(width), [&](int begin, int end, int) {
    const size_t first = static_cast<size_t>(begin) * width;
    differentiate(layer.gate_up.data() + 2 * first, scratch.d_narrow.data() + first, scratch.d_wide.data() + 2 * first,
                  end - begin, width);
  });
  product_backward(pass, rows, index, Site::gate_up, scratch.d_wide.data(), layer.normed_middle.data(),
                   scratch.d_narrow.data());
  norm_backward(pass, rows, at.middle_norm, pass.activations.middle(index), layer.middle_rms.data());
}

// The gradient of one row's q and k before their norm, from that after it, in place.
void norm_heads_backward(const BackwardPass& pass, int index, int row, int thread, bool own) {
  const ModelConfig& config = pass.model.config;
  const Shape& shape = pass.model.shape;
  const LayerOffsets& at = pass.model.layers[index];
  LayerActivations& layer = pass.activations.layer(index);
  const int width = shape.q + shape.kv;
  const float* raw = layer.raw_heads.data() + static_cast<size_t>(row) * width;
  const float* rms = layer.head_rms.data() + static_cast<size_t>(row) * (config.heads + config.kv_heads);
  float* dx = pass.scratch.d_wide.data() + static_cast<size_t>(row) * shape.qkv;
  float* dy = pass.scratch.head_rows.data() + static_cast<size_t>(thread) * width;
  float* dw = own ? pass.scratch.thread_sums.data() + static_cast<size_t>(thread) * 2 * config.head_dim : nullptr;
  std::memcpy(dy, dx, width * sizeof(float));
  std::memset(dx, 0, width * sizeof(float));
  pass.machine.kernels.rms_norm_backward(dy, raw, pass.model.norm(at.q_norm), rms, dx, dw, config.heads,
                                         config.head_dim);
  pass.machine.kernels.rms_norm_backward(dy + shape.q, raw + shape.q, pass.model.norm(at.k_norm), rms + config.heads,
                                         dx + shape.q, dw ? dw + config.head_dim : nullptr, config.kv_heads,
                                         config.head_dim);
}

// Undoes rotation and query/key norm in d_qkv for one segment.
void heads_backward(const BackwardPass& pass, int index, const Segment& segment) {
  const ModelConfig& config = pass.model.config;
  const Shape& shape = pass.model.shape;
  const LayerOffsets& at = pass.model.layers[index];
  const bool own = !segment.adapter;
  const size_t threads = pass.machine.pool.threads();
  if (at.q_norm >= 0) {
    pass.scratch.head_rows.resize(threads * (shape.q + shape.kv));
    pass.scratch.thread_sums.resize(threads * 2 * config.head_dim);
    pass.scratch.thread_sums.zero();
  }
  const int rows = segment.end - segment.begin, rope = config.layer_ropes[index];
  parallel_rows(pass.machine.pool, rows, row_grain(shape.qkv), [&](int begin, int end, int thread) {
    const int first = segment.begin + begin;
    if (rope >= 0) {
      const RopeTable& table = pass.model.ropes[rope];
      pass.machine.kernels.rotate(pass.scratch.d_wide.data() + static_cast<size_t>(first) * shape.qkv, shape.qkv,
                                  pass.batch.positions.data() + first, table.cosine(), table.sine(), end - begin,
                                  config.heads + config.kv_heads, config.head_dim, table.turned(), -1.0f);
    }
    if (at.q_norm < 0) return;
    for (int row = begin; row < end; row++) norm_heads_backward(pass, index, segment.begin + row, thread, own);
  });
  if (at.q_norm < 0 || !own) return;
  for (size_t thread = 0; thread < threads; thread++) {
    const float* sums = pass.scratch.thread_sums.data() + thread * 2 * config.head_dim;
    pass.machine.kernels.add(pass.gradient + at.q_norm, sums, config.head_dim);
    pass.machine.kernels.add(pass.gradient + at.k_norm, sums + config.head_dim, config.head_dim);
  }
}

// bias gradient += column sums over the model's own rows; each thread owns columns, so the order of rows is fixed.
void bias_backward(const BackwardPass& pass, int index, const Segment& segment) {
  const int width = pass.model.shape.qkv;
  float* gradient = pass.gradient + pass.model.layers[index].qkv_bias;
  parallel_rows(pass.machine.pool, width, 64, [&](int begin, int end, int) {
    for (int row = segment.begin; row < segment.end; row++) {
      const float* d_qkv = pass.scratch.d_wide.data() + static_cast<size_t>(row) * width;
      pass.machine.kernels.add(gradient + begin, d_qkv + begin, end - begin);
    }
  });
}

// Expands kept rows to all rows; the others are zero.
void spread(const BackwardPass& pass, AlignedBuffer<float>& values, size_t width) {
  AlignedBuffer<float>& spare = pass.scratch.spare;
  std::memset(spare.data(), 0, pass.batch.rows() * width * sizeof(float));
  for (size_t i = 0; i < pass.batch.kept.size(); i++) {
    std::memcpy(spare.data() + pass.batch.kept[i] * width, values.data() + i * width, width * sizeof(float));
  }
  std::swap(values, spare);
}

void attention_backward(const BackwardPass& pass, int index, const AttendBackward& attend) {
  LayerActivations& layer = pass.activations.layer(index);
  BackwardScratch& scratch = pass.scratch;
  const bool last = pass.last(index);
  const Rows kept = pass.batch.after_attention(last);
  const float* d_output = output_gradient(pass, kept, pass.model.layers[index].attention_output_norm,
                                          layer.attention_output, layer.attention_output_rms);
  product_backward(pass, kept, index, Site::output, d_output,
                   last ? pass.activations.kept_attended() : layer.attended.data(), scratch.d_narrow.data());
  if (last) {
    spread(pass, scratch.d_narrow, pass.model.shape.q);
    spread(pass, scratch.d_stream, pass.model.config.hidden);
  }
  const size_t width = pass.model.shape.qkv;
  parallel_rows(pass.machine.pool, pass.batch.rows(), row_grain(pass.model.shape.qkv), [&](int begin, int end, int) {
    std::memset(scratch.d_wide.data() + begin * width, 0, (end - begin) * width * sizeof(float));
  });
  attend(index, layer, scratch.d_narrow.data(), scratch.d_wide.data());
  for (const Segment& segment : pass.batch.segments) {
    heads_backward(pass, index, segment);
    if (!segment.adapter && pass.model.config.qkv_bias) bias_backward(pass, index, segment);
  }
  const Rows rows{pass.batch.rows(), pass.batch.segments};
  product_backward(pass, rows, index, Site::qkv, scratch.d_wide.data(), layer.normed_input.data(),
                   scratch.d_narrow.data());
  norm_backward(pass, rows, pass.model.layers[index].input_norm, pass.activations.input(index), layer.input_rms.data());
}

// Each thread owns columns of the table, so rows of the same token never race and are added in a fixed order.
void embedding_backward(const BackwardPass& pass) {
  const int hidden = pass.model.config.hidden;
  const float scale = pass.model.config.embedding_scale;
  for (const Segment& segment : pass.batch.segments) {
    if (segment.adapter) continue;
    parallel_rows(pass.machine.pool, hidden, 64, [&](int begin, int end, int) {
      for (int row = segment.begin; row < segment.end; row++) {
        float* to = pass.gradient + pass.model.embedding + static_cast<size_t>(pass.batch.tokens[row]) * hidden;
        const float* from = pass.scratch.d_stream.data() + static_cast<size_t>(row) * hidden;
        pass.machine.kernels.add_scaled(to + begin, from + begin, scale, end - begin);
      }
    });
  }
}

size_t narrow_width(const Model& model) {
  return std::max({model.config.intermediate, model.config.hidden, model.shape.q});
}

void prepare(BackwardScratch& scratch, const Model& model, const RowBatch& batch, const Activations& activations) {
  const size_t rows = batch.rows();
  const Shape& shape = model.shape;
  scratch.d_wide.resize(rows * std::max(shape.gate_up, shape.qkv));
  // These three swap when the last layer's kept rows are expanded to all rows.
  const size_t narrow = rows * narrow_width(model);
  scratch.d_narrow.resize(narrow);
  scratch.spare.resize(narrow);
  if (model.config.normed_outputs) scratch.d_output.resize(rows * model.config.hidden);
  int low = 0;
  for (int site = 0; site < site_count; site++) low = std::max(low, activations.low_stride(static_cast<Site>(site)));
  scratch.d_low.resize(rows * low);
}

}  // namespace

void BackwardScratch::reserve_stream(const Model& model, const RowBatch& batch) {
  d_stream.resize(batch.rows() * narrow_width(model));
}

size_t BackwardScratch::bytes() const {
  size_t total = 0;
  for (const AlignedBuffer<float>* buffer : {&d_stream, &d_wide, &d_narrow, &d_output, &d_low, &thread_sums, &head_rows, &spare}) {
    total += buffer->size();
  }
  return total * sizeof(float);
}

void norm_rows_backward(const Machine& machine, const NormBackward& norm, const std::vector<Segment>& segments,
                        AlignedBuffer<float>& thread_sums) {
  const size_t width = norm.width, threads = machine.pool.threads();
  thread_sums.resize(threads * width);
  for (const Segment& segment : segments) {
    const bool own = !segment.adapter;
    if (own) thread_sums.zero();
    const int rows = segment.end - segment.begin;
    parallel_rows(machine.pool, rows, row_grain(norm.width), [&](int begin, int end, int thread) {
      const size_t row = segment.begin + begin;
      machine.kernels.rms_norm_backward(norm.dy + row * width, norm.x + row * width, norm.w, norm.inverse_rms + row,
                                        norm.dx + row * width, own ? thread_sums.data() + thread * width : nullptr,
                                        end - begin, norm.width);
    });
    if (!own) continue;
    for (size_t thread = 0; thread < threads; thread++) {
      machine.kernels.add(norm.dw, thread_sums.data() + thread * width, width);
    }
  }
}

void backward_layers(const Machine& machine, Model& model, const RowBatch& batch, Activations& activations,
                     BackwardScratch& scratch, const Attend& again, const AttendBackward& attend) {
  if (batch.rows() == 0) return;
  prepare(scratch, model, batch, activations);
  bool own = false;
  for (const Segment& segment : batch.segments) own = own || !segment.adapter;
  const BackwardPass pass{machine, model, batch, activations, scratch, own ? model.parameters.gradient(machine.shard) : nullptr};
  for (int layer = model.config.layers - 1; layer >= 0; layer--) {
    if (activations.recomputes()) recompute_layer(machine, model, batch, activations, layer, again);
    mlp_backward(pass, layer);
    attention_backward(pass, layer, attend);
  }
  embedding_backward(pass);
}

}  // namespace troupe
