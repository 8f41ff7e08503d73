#include "head.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "rows.h"

namespace troupe {

int logit_rows(const ModelConfig& config) {
  constexpr int floats = 1 << 22;  // 16 MiB; more if fewer than 64 rows would reread a large head repeatedly
  return std::max(64, floats / config.vocab);
}

void LossSums::add(const LossSums& other) {
  loss += other.loss;
  tokens += other.tokens;
  entropy += other.entropy;
  kl += other.kl;
  reference_kl += other.reference_kl;
  clipped += other.clipped;
}

void RowSums::add(const TokenLoss& token) {
  loss += token.loss;
  kl += token.kl;
  reference_kl += token.reference_kl;
  slope += token.slope;
  bonus += token.bonus;
  clipped += token.clipped;
}

void add_up(const std::vector<RowSums>& sums, const TrainingBatch& batch, const Model& model, LossSums& total) {
  for (size_t i = 0; i < sums.size(); i++) {
    if (!sums[i].finite || !std::isfinite(sums[i].loss) || !std::isfinite(sums[i].slope) ||
        !std::isfinite(sums[i].bonus)) {
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
    total.loss += sums[i].loss;
    total.entropy += sums[i].entropy;
    total.kl += sums[i].kl;
    total.reference_kl += sums[i].reference_kl;
    total.clipped += sums[i].clipped;
  }
  total.tokens += std::count_if(batch.targets.begin(), batch.targets.end(), counts);
}

void backward_final_norm(const Machine& machine, Model& model, const TrainingBatch& batch, const FinalNorm& norm,
                         float* d_stream, AlignedBuffer<float>& thread_sums) {
  bool own = false;
  for (const Segment& segment : batch.kept_segments) own = own || !segment.adapter;
  std::memset(d_stream, 0, static_cast<size_t>(batch.kept_rows()) * model.config.hidden * sizeof(float));
  norm_rows_backward(machine,
                     {norm.d_normed, norm.stream, model.norm(model.final_norm), norm.inverse_rms, d_stream,
                      own ? model.parameters.gradient(machine.shard) + model.final_norm : nullptr, model.config.hidden},
                     batch.kept_segments, thread_sums);
}

void LossHead::multiply(const Machine& machine, Model& model, Chunk chunk) {
  const int hidden = model.config.hidden, vocab = model.config.vocab;
  machine.multiply(normed_.data() + static_cast<size_t>(chunk.first) * hidden, hidden, chunk.rows,
                   model.forward_head(), logits_.data(), vocab, false);
}

namespace {

// Writes the most probable tokens of a row to all its targets.
void write_top(const TrainingBatch& batch, const LossRow& targets, const float* logits, float log_sum_exp, int vocab) {
  std::vector<int32_t> ids(vocab);
  std::iota(ids.begin(), ids.end(), 0);
  std::partial_sort(ids.begin(), ids.begin() + batch.top, ids.end(), [&](int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  });
  for (int i = targets.first; i < targets.last; i++) {
    for (int j = 0; j < batch.top; j++) {
      batch.targets[i].top_tokens[j] = ids[j];
      batch.targets[i].top_logprobs[j] = logits[ids[j]] - log_sum_exp;
    }
  }
}

}  // namespace

// Log-probabilities of the row's targets.
void LossHead::summarize_row(const Kernels& kernels, const TrainingBatch& batch, int row, const float* logits,
                             int vocab) {
  const LossRow& targets = batch.loss_rows[row];
  const LogitSummary summary = kernels.summarize_logits(logits, vocab);
  log_sum_exps_[row] = summary.log_sum_exp;
  entropies_[row] = summary.entropy;
  sums_[row].finite = std::isfinite(summary.log_sum_exp);
  int counted = 0;
  for (int i = targets.first; i < targets.last; i++) {
    *batch.targets[i].output = logits[batch.targets[i].token()] - summary.log_sum_exp;
    counted += counts(batch.targets[i]);
  }
  sums_[row].entropy = summary.entropy * counted;
  if (batch.top > 0 && sums_[row].finite) write_top(batch, targets, logits, summary.log_sum_exp, vocab);
}

// Losses of the row's targets; the logits become their gradient:
// dL/dlogits = Σ_j slope_j·(softmax − onehot_j): one softmax for all targets that share the row. A bonus B for the row's
// entropy H adds B·softmax·(log softmax + H).
void LossHead::differentiate_row(const Kernels& kernels, const TrainingBatch& batch, int row, float* logits, int vocab,
                                 const Loss& loss) {
  const LossRow& targets = batch.loss_rows[row];
  RowSums& sums = sums_[row];
  for (int i = targets.first; i < targets.last; i++) {
    const Target& target = batch.targets[i];
    const SequenceRatio* sequence = sequences_.empty() ? nullptr : &sequences_[target.sequence];
    const TokenLoss token = policy_loss(loss, target, *target.output, sequence);
    slopes_[i] = token.slope;
    sums.add(token);
  }
  if (!sums.finite || !std::isfinite(sums.slope) || !std::isfinite(sums.bonus)) return;
  if (sums.bonus == 0) {
    kernels.softmax_scaled(logits, log_sum_exps_[row], sums.slope, logits, vocab);
  } else {
    const float entropy = entropies_[row];
    sums.loss -= static_cast<double>(sums.bonus) * entropy;
    kernels.softmax_sloped(logits, log_sum_exps_[row], sums.slope + sums.bonus * entropy, sums.bonus, logits, vocab);
  }
  for (int i = targets.first; i < targets.last; i++) logits[batch.targets[i].token()] -= slopes_[i];
}

// body(row, its logits)
template <typename Body>
void LossHead::each_row(const Machine& machine, Chunk chunk, int vocab, Body body) {
  parallel_rows(machine.pool, chunk.rows, row_grain(vocab), [&](int begin, int end, int) {
    for (int i = begin; i < end; i++) body(chunk.first + i, logits_.data() + static_cast<size_t>(i) * vocab);
  });
}

// The ratios of whole continuations, once all log-probabilities are known.
void LossHead::find_sequences(const TrainingBatch& batch, const Loss& loss) {
  sequences_.resize(batch.continuations.size());
  for (const Target& target : batch.targets) {
    if (target.index > 0) continue;
    sequences_[target.sequence] = sequence_ratio(loss, *target.continuation, target.output);
  }
}

void LossHead::backward_chunk(const Machine& machine, Model& model, const TrainingBatch& batch, Chunk chunk) {
  const int hidden = model.config.hidden, vocab = model.config.vocab;
  const size_t offset = static_cast<size_t>(chunk.first) * hidden;
  machine.multiply(logits_.data(), vocab, chunk.rows, model.backward_head(), d_normed_.data() + offset, hidden, false);
  for (const Segment& segment : batch.kept_segments) {
    const int begin = std::max(segment.begin, chunk.first), end = std::min(segment.end, chunk.first + chunk.rows);
    if (segment.adapter || begin >= end) continue;
    machine.weight_gradient(logits_.data() + static_cast<size_t>(begin - chunk.first) * vocab, vocab,
                            normed_.data() + static_cast<size_t>(begin) * hidden, hidden, end - begin, vocab, hidden,
                            model.parameters.gradient(machine.shard) + model.head);
  }
}

void LossHead::run(const Machine& machine, Model& model, const TrainingBatch& batch, const float* stream,
                   const Loss* loss, float* d_stream, LossSums& total) {
  const int hidden = model.config.hidden, vocab = model.config.vocab;
  const int rows = static_cast<int>(batch.loss_rows.size());
  const int most = std::min(rows, logit_rows(model.config));
  sums_.assign(rows, {});
  sequences_.clear();
  log_sum_exps_.resize(rows);
  entropies_.resize(rows);
  slopes_.resize(batch.targets.size());
  normed_.resize(static_cast<size_t>(rows) * hidden);
  inverse_rms_.resize(rows);
  norm_rows(machine, stream, model.norm(model.final_norm), normed_.data(), inverse_rms_.data(), rows, hidden,
            model.config.rms_epsilon);
  logits_.resize(static_cast<size_t>(most) * vocab);
  if (loss) d_normed_.resize(static_cast<size_t>(rows) * hidden);
  auto each_chunk = [&](auto body) {
    for (int first = 0; first < rows; first += most) body(Chunk{first, std::min(most, rows - first)});
  };
  // A ratio of whole continuations needs all log-probabilities before the first gradient: two passes over the rows.
  const bool twice = loss && loss->sequence_ratio;
  each_chunk([&](Chunk chunk) {
    multiply(machine, model, chunk);
    each_row(machine, chunk, vocab, [&](int row, float* logits) {
      summarize_row(machine.kernels, batch, row, logits, vocab);
      if (loss && !twice) differentiate_row(machine.kernels, batch, row, logits, vocab, *loss);
    });
    if (loss && !twice) backward_chunk(machine, model, batch, chunk);
  });
  if (twice) {
    find_sequences(batch, *loss);
    each_chunk([&](Chunk chunk) {
      if (most < rows) multiply(machine, model, chunk);  // otherwise the logits are still available
      each_row(machine, chunk, vocab, [&](int row, float* logits) {
        differentiate_row(machine.kernels, batch, row, logits, vocab, *loss);
      });
      backward_chunk(machine, model, batch, chunk);
    });
  }
  add_up(sums_, batch, model, total);
  if (!loss) return;
  backward_final_norm(machine, model, batch, {stream, d_normed_.data(), inverse_rms_.data()}, d_stream, thread_sums_);
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
