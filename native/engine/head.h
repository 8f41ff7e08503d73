// From the last layer's output to log-probabilities, losses and back, a chunk of rows at a time so that rows ×
// vocabulary stays small.
#pragma once
#include "batch.h"

namespace troupe {

// How many rows of logits are held at once.
int logit_rows(const ModelConfig& config);

class LossHead {
 public:
  // `stream`: the output of the batch's kept rows, which are its loss rows. Adds to `result` and writes the targets'
  // log-probabilities; `loss` null: nothing more. With `d_stream` [kept rows × hidden], the gradient of `stream` is
  // written there and added to the gradients of head and final norm. Throws bad_model when a loss is not finite.
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
  void evaluate(const Machine& machine, const TrainingBatch& batch, int first, int rows, int vocab, const Loss* loss,
                bool gradient);
  RowSums evaluate_row(const Kernels& kernels, const TrainingBatch& batch, const LossRow& row, const float* logits,
                       int vocab, const Loss* loss, float& log_sum_exp);
  void backward_chunk(const Machine& machine, Model& model, const TrainingBatch& batch, int first, int rows);
  void backward_norm(const Machine& machine, Model& model, const TrainingBatch& batch, const float* stream,
                     float* d_stream);
  void add_up(const TrainingBatch& batch, const Model& model, LossResult& result) const;

  AlignedBuffer<float> inverse_rms_, normed_, d_normed_, logits_, thread_sums_;
  std::vector<RowSums> sums_;
  std::vector<float> slopes_;  // of the targets
};

}  // namespace troupe
