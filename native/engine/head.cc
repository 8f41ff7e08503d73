#include "head.h"

#include <cmath>
#include <cstring>

#include "losses.h"
#include "rows.h"

namespace troupe {

int logit_rows(const ModelConfig& config) {
  constexpr int floats = 1 << 22;  // 16 MiB; more where fewer than 64 rows would read a large head again and again
  return std::max(64, floats / config.vocab);
}

LossHead::RowSums LossHead::evaluate_row(const Kernels& kernels, const TrainingBatch& batch, const LossRow& row,
                                         const float* logits, int vocab, const Loss* loss, float& log_sum_exp) {
  const LogitSummary summary = kernels.summarize_logits(logits, vocab);
  log_sum_exp = summary.log_sum_exp;
  RowSums sums{0, summary.entropy * (row.last - row.first), 0, 0, 0, std::isfinite(summary.log_sum_exp)};
  for (int i = row.first; i < row.last; i++) {
    const Target& target = batch.targets[i];
    *target.logprob = logits[target.token] - summary.log_sum_exp;
    if (!loss) continue;
    const TokenLoss token = token_loss(*loss, target, *target.logprob);
    slopes_[i] = token.slope;
    sums.loss += token.loss;
    sums.kl += token.kl;
    sums.slope += token.slope;
    sums.clipped += token.clipped;
  }
  sums.finite = sums.finite && std::isfinite(sums.loss) && std::isfinite(sums.slope);
  return sums;
}

// Log-probabilities and losses of `rows` loss rows from `first`; with `gradient` the logits become their gradient.
void LossHead::evaluate(const Machine& machine, const TrainingBatch& batch, int first, int rows, int vocab,
                        const Loss* loss, bool gradient) {
  parallel_rows(machine.pool, rows, row_grain(vocab), [&](int begin, int end, int) {
    for (int i = begin; i < end; i++) {
      const LossRow& row = batch.loss_rows[first + i];
      float* logits = logits_.data() + static_cast<size_t>(i) * vocab;
      float log_sum_exp = 0;
      const RowSums sums = evaluate_row(machine.kernels, batch, row, logits, vocab, loss, log_sum_exp);
      sums_[first + i] = sums;
      if (!gradient || !sums.finite) continue;
      // dL/dlogits = Σ_j slope_j·(softmax − onehot_j): one softmax however many targets share the row.
      machine.kernels.softmax_scaled(logits, log_sum_exp, sums.slope, logits, vocab);
      for (int t = row.first; t < row.last; t++) logits[batch.targets[t].token] -= slopes_[t];
    }
  });
}

void LossHead::backward_chunk(const Machine& machine, Model& model, const TrainingBatch& batch, int first, int rows) {
  const int hidden = model.config.hidden, vocab = model.config.vocab;
  const size_t offset = static_cast<size_t>(first) * hidden;
  machine.multiply(logits_.data(), vocab, rows, model.backward_head(), d_normed_.data() + offset, hidden, false);
  for (const Segment& segment : batch.kept_segments) {
    const int begin = std::max(segment.begin, first), end = std::min(segment.end, first + rows);
    if (segment.adapter || begin >= end) continue;
    machine.weight_gradient(logits_.data() + static_cast<size_t>(begin - first) * vocab, vocab,
                            normed_.data() + static_cast<size_t>(begin) * hidden, hidden, end - begin, vocab, hidden,
                            model.parameters.gradient() + model.head);
  }
}

void LossHead::backward_norm(const Machine& machine, Model& model, const TrainingBatch& batch, const float* stream,
                             float* d_stream) {
  bool own = false;
  for (const Segment& segment : batch.kept_segments) own = own || !segment.adapter;
  std::memset(d_stream, 0, static_cast<size_t>(batch.kept_rows()) * model.config.hidden * sizeof(float));
  norm_rows_backward(machine,
                     {d_normed_.data(), stream, model.parameters.weights() + model.final_norm, inverse_rms_.data(),
                      d_stream, own ? model.parameters.gradient() + model.final_norm : nullptr, model.config.hidden},
                     batch.kept_segments, thread_sums_);
}

// In order of rows, so that sums repeat whatever thread computed them.
void LossHead::add_up(const TrainingBatch& batch, const Model& model, LossResult& result) const {
  for (size_t i = 0; i < sums_.size(); i++) {
    if (!sums_[i].finite) {
      std::string policy = model.name;
      for (const Segment& segment : batch.kept_segments) {
        if (segment.adapter && static_cast<int>(i) >= segment.begin && static_cast<int>(i) < segment.end) {
          policy = segment.adapter->name;
        }
      }
      throw EngineError("bad_model", "policy \"" + policy + "\": the loss of data[" +
                                         std::to_string(batch.loss_rows[i].datum) +
                                         "] is not finite; its weights have diverged, or its inputs are extreme. "
                                         "Lower the learning rate and go back to the last checkpoint");
    }
    result.loss += sums_[i].loss;
    result.entropy += sums_[i].entropy;
    result.kl += sums_[i].kl;
    result.clipped += sums_[i].clipped;
  }
  result.tokens += static_cast<int64_t>(batch.targets.size());
}

void LossHead::run(const Machine& machine, Model& model, const TrainingBatch& batch, const float* stream,
                   const Loss* loss, float* d_stream, LossResult& result) {
  const int hidden = model.config.hidden, vocab = model.config.vocab;
  const int rows = static_cast<int>(batch.loss_rows.size());
  const int most = std::min(rows, logit_rows(model.config));
  sums_.assign(rows, {});
  slopes_.resize(batch.targets.size());
  normed_.resize(static_cast<size_t>(rows) * hidden);
  inverse_rms_.resize(rows);
  norm_rows(machine, stream, model.parameters.weights() + model.final_norm, normed_.data(), inverse_rms_.data(), rows,
            hidden, model.config.rms_epsilon);
  logits_.resize(static_cast<size_t>(most) * vocab);
  if (d_stream) d_normed_.resize(static_cast<size_t>(rows) * hidden);
  for (int first = 0; first < rows; first += most) {
    const int count = std::min(most, rows - first);
    machine.multiply(normed_.data() + static_cast<size_t>(first) * hidden, hidden, count, model.forward_head(),
                     logits_.data(), vocab, false);
    evaluate(machine, batch, first, count, vocab, loss, d_stream != nullptr);
    if (d_stream) backward_chunk(machine, model, batch, first, count);
  }
  add_up(batch, model, result);
  if (d_stream) backward_norm(machine, model, batch, stream, d_stream);
}

size_t LossHead::bytes() const {
  size_t total = 0;
  for (const AlignedBuffer<float>* buffer :
       {&inverse_rms_, &normed_, &d_normed_, &logits_, &thread_sums_}) {
    total += buffer->size();
  }
  return total * sizeof(float);
}

}  // namespace troupe
