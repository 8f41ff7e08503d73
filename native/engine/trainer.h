// Forward and forward_backward over any amount of data, chunk by chunk.
#pragma once
#include <atomic>

#include "attention.h"
#include "value_head.h"

namespace troupe {

// Rows of a chunk: enough for efficient products, few enough for activations to stay near the processor's caches and,
// in large models, within half a gigabyte.
size_t chunk_rows(const Model& model, bool backward);

// Everything, unless one sequence is so long that it would take several times a chunk's memory: then each layer is
// computed again from its input, which gives the same bits and takes a third more time.
Keep kept_of_layers(const Model& model, int rows, bool backward);

class Trainer {
 public:
  explicit Trainer(const Machine& machine) : machine_(machine) {}
  // `policies`: one for each datum. Data must be validated.
  // `top`: of how many of the most probable tokens to give the log-probabilities, besides those of the data.
  LossResult forward(const std::vector<Datum>& data, const std::vector<Policy>& policies, int top,
                     const std::atomic<bool>& cancel);
  // If it fails, the gradients of the policies named are zero afterwards, and the error says so.
  LossResult forward_backward(const std::vector<Datum>& data, const std::vector<Policy>& policies, const Loss& loss,
                              const std::atomic<bool>& cancel);
  size_t bytes() const;

 private:
  LossResult run(const std::vector<Datum>& data, const std::vector<Policy>& policies, const Loss* loss, int top,
                 const std::atomic<bool>& cancel);
  void run_chunk(const std::vector<Piece>& chunk, const Loss* loss, LossResult& result);

  const Machine& machine_;
  TrainingBatch batch_;
  Activations activations_;
  BackwardScratch scratch_;
  LossHead head_;
  ValueHead value_head_;
};

}  // namespace troupe
