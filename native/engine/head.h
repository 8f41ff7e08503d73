// From the last layer's output to log-probabilities, losses and back. Runs on the rows that predict something, a chunk
// of them at a time, so that rows × vocabulary stays small.
#pragma once
#include "batch.h"

namespace troupe {

// How many rows of logits are held at once.
int logit_rows(const ModelConfig& config);

class LossHead {
 public:
  // Adds to `result`; writes the targets' log-probabilities. With `d_stream` [rows × hidden] the gradient of `stream`
  // is written there and the policies' head gradients are added to; `loss` null: log-probabilities only.
  // Throws bad_model when a log-probability or a loss is not finite.
  void run(const Machine& machine, Model& model, const TrainingBatch& batch, const float* stream, const Loss* loss,
           float* d_stream, LossResult& result);
  size_t bytes() const;

 private:
  struct RowSums {
    double loss, entropy, kl;
    float slope;  // sum over the row's targets
    int clipped;
    bool finite;
  };
  void gather(const Machine& machine, const Model& model, const TrainingBatch& batch, const float* stream);
  void evaluate(const Machine& machine, const TrainingBatch& batch, int first, int rows, int vocab, const Loss* loss,
                bool gradient);
  RowSums evaluate_row(const Kernels& kernels, const TrainingBatch& batch, const LossRow& row, const float* logits,
                       int vocab, const Loss* loss, float& log_sum_exp);
  void backward_chunk(const Machine& machine, Model& model, int first, int rows);
  void scatter(const Machine& machine, Model& model, const TrainingBatch& batch, float* d_stream);
  void add_up(const TrainingBatch& batch, const Model& model, LossResult& result) const;

  AlignedBuffer<float> gathered_, inverse_rms_, normed_, d_normed_, d_gathered_, logits_, thread_sums_;
  std::vector<RowSums> sums_;
  std::vector<float> slopes_;  // of the targets
  std::vector<Segment> segments_;  // of the batch, in loss rows
};

}  // namespace troupe
