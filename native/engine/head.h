// From the last layer's output to log-probabilities, losses and back, a chunk of rows at a time to keep rows ×
// vocabulary small.
#pragma once
#include "losses.h"

namespace troupe {

// One loss row's contribution to the result.
struct RowSums {
  double loss = 0, entropy = 0, kl = 0, reference_kl = 0;
  float slope = 0, bonus = 0;
  int clipped = 0;
  bool finite = true;
  void add(const TokenLoss& token);
};

// In order of rows, so that sums do not depend on threads. Throws bad_model if one is not finite.
void add_up(const std::vector<RowSums>& sums, const TrainingBatch& batch, const Model& model, LossSums& total);

struct FinalNorm {
  const float *stream, *d_normed, *inverse_rms;
};

// Writes the gradient of the last layer's output [kept rows × hidden] and adds that of the final norm's weights.
void backward_final_norm(const Machine& machine, Model& model, const TrainingBatch& batch, const FinalNorm& norm,
                         float* d_stream, AlignedBuffer<float>& thread_sums);

// Most rows of logits in memory at once.
int logit_rows(const ModelConfig& config);

class LossHead {
 public:
  // `stream`: the output of the batch's kept rows, which are its loss rows. Adds to `total` and writes the targets'
  // log-probabilities; `loss` null: nothing more. With `d_stream` [kept rows × hidden], the gradient of `stream` is
  // written there and added to the gradients of head and final norm. Throws bad_model when a loss is not finite.
  void run(const Machine& machine, Model& model, const TrainingBatch& batch, const float* stream, const Loss* loss,
           float* d_stream, LossSums& total);
  size_t bytes() const;

 private:
  struct Chunk {
    int first, rows;  // of the loss rows; their logits are in logits_
  };
  void multiply(const Machine& machine, Model& model, Chunk chunk);
  void summarize_row(const Kernels& kernels, const TrainingBatch& batch, int row, const float* logits, int vocab);
  void differentiate_row(const Kernels& kernels, const TrainingBatch& batch, int row, float* logits, int vocab,
                         const Loss& loss);
  template <typename Body>
  void each_row(const Machine& machine, Chunk chunk, int vocab, Body body);
  void find_sequences(const TrainingBatch& batch, const Loss& loss);
  void backward_chunk(const Machine& machine, Model& model, const TrainingBatch& batch, Chunk chunk);
  AlignedBuffer<float> inverse_rms_, normed_, d_normed_, logits_, thread_sums_;
  std::vector<RowSums> sums_;
  std::vector<float> log_sum_exps_;       // of the rows
  std::vector<float> entropies_;          // of the rows
  std::vector<float> slopes_;             // of the targets
  std::vector<SequenceRatio> sequences_;  // of the continuations; empty if each token has its own ratio
};

}  // namespace troupe
