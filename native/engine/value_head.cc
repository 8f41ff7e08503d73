#include "value_head.h"

#include <cmath>
#include <cstring>

#include "rows.h"

namespace troupe {

namespace {

// Summed in order and in double precision, so that a row's value depends only on the row.
float value_of(const float* x, const float* weights, float bias, int width) {
  double sum = bias;
  for (int i = 0; i < width; i++) sum += static_cast<double>(x[i]) * weights[i];
  return static_cast<float>(sum);
}

}  // namespace

void ValueHead::evaluate(const Machine& machine, Model& model, const TrainingBatch& batch, const Segment& segment,
                         const Loss* loss) {
  const Policy policy{&model, segment.adapter};
  const float* weights = policy.parameters().weights();
  const ValueHeadOffsets& at = policy.value_head();
  const int width = model.config.hidden;
  parallel_rows(machine.pool, segment.end - segment.begin, row_grain(width), [&](int begin, int end, int) {
    for (int row = segment.begin + begin; row < segment.begin + end; row++) {
      const float* x = normed_.data() + static_cast<size_t>(row) * width;
      const float value = value_of(x, weights + at.weight, weights[at.bias], width);
      const LossRow& targets = batch.loss_rows[row];
      sums_[row].finite = std::isfinite(value);
      for (int i = targets.first; i < targets.last; i++) {
        *batch.targets[i].output = value;
        if (loss) sums_[row].add(value_loss(*loss, batch.targets[i], value));
      }
    }
  });
}

// Each thread owns columns, so the order in which rows are added is fixed.
void ValueHead::backward_segment(const Machine& machine, Model& model, const Segment& segment) {
  const Policy policy{&model, segment.adapter};
  const ValueHeadOffsets& at = policy.value_head();
  const float* weights = policy.parameters().weights() + at.weight;
  float* gradient = policy.parameters().gradient(machine.shard);
  const int width = model.config.hidden;
  parallel_rows(machine.pool, width, 64, [&](int begin, int end, int) {
    const size_t columns = end - begin;
    for (int row = segment.begin; row < segment.end; row++) {
      const float d_value = -sums_[row].slope;
      const size_t first = static_cast<size_t>(row) * width + begin;
      std::memset(d_normed_.data() + first, 0, columns * sizeof(float));
      machine.kernels.add_scaled(d_normed_.data() + first, weights + begin, d_value, columns);
      machine.kernels.add_scaled(gradient + at.weight + begin, normed_.data() + first, d_value, columns);
    }
  });
  for (int row = segment.begin; row < segment.end; row++) gradient[at.bias] -= sums_[row].slope;
}

void ValueHead::run(const Machine& machine, Model& model, const TrainingBatch& batch, const float* stream,
                    const Loss* loss, float* d_stream, LossSums& total) {
  const int hidden = model.config.hidden;
  const int rows = batch.kept_rows();
  sums_.assign(rows, {});
  normed_.resize(static_cast<size_t>(rows) * hidden);
  inverse_rms_.resize(rows);
  norm_rows(machine, stream, model.norm(model.final_norm), normed_.data(), inverse_rms_.data(), rows,
            hidden, model.config.rms_epsilon);
  for (const Segment& segment : batch.kept_segments) evaluate(machine, model, batch, segment, loss);
  add_up(sums_, batch, model, total);
  if (!loss) return;
  d_normed_.resize(static_cast<size_t>(rows) * hidden);
  for (const Segment& segment : batch.kept_segments) backward_segment(machine, model, segment);
  backward_final_norm(machine, model, batch, {stream, d_normed_.data(), inverse_rms_.data()}, d_stream, thread_sums_);
}

size_t ValueHead::bytes() const {
  size_t total = 0;
  for (const AlignedBuffer<float>* buffer : {&inverse_rms_, &normed_, &d_normed_, &thread_sums_}) total += buffer->size();
  return total * sizeof(float);
}

}  // namespace troupe
