// Forward and forward_backward over any amount of data, chunk by chunk.
#pragma once
#include <atomic>

#include "attention.h"
#include "value_head.h"

namespace troupe {

// Rows of a chunk: enough for efficient products, few enough for activations to stay near the processor's caches and,
// in large models, within half a gigabyte.
size_t chunk_rows(const Model& model, bool backward);

// Of a model that is not large, each thread computes a shard of the data alone: its activations stay in its core's cache,
// and no thread waits for another until gradients are added. Into how many shards `rows` rows are split: one, or one for
// each thread.
int training_shards(const Machine& machine, const Model& model, size_t rows);
constexpr size_t shard_rows = 512;  // of a chunk of a shard, unless one piece has more

// Everything, unless one sequence is so long that it would take several times a chunk's memory: then each layer is
// computed again from its input, which gives the same bits and takes a third more time.
Keep kept_of_layers(const Model& model, int rows, bool backward);

// Computes chunks one after the other, in buffers of its own.
class ChunkRunner {
 public:
  explicit ChunkRunner(const Machine& machine) : machine_(machine) {}
  // The policies must be packed. `loss` null: no backward pass. Sums are added to `total`.
  void run(const std::vector<Piece>& chunk, const Loss* loss, LossSums& total);
  size_t bytes() const;

 private:
  const Machine& machine_;
  TrainingBatch batch_;
  Activations activations_;
  BackwardScratch scratch_;
  LossHead head_;
  ValueHead value_head_;
};

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
  // `parts`: the pieces of each shard.
  void run_shards(const std::vector<Piece>& pieces, const std::vector<std::vector<Piece>>& parts, const Loss* loss,
                  LossSums& total, const std::function<void()>& check);
  void run_whole(const std::vector<Piece>& pieces, const Loss* loss, LossSums& total, const std::function<void()>& check);

  const Machine& machine_;
  // Only those that were used last have buffers.
  std::unique_ptr<ChunkRunner> whole_;
  std::vector<std::unique_ptr<Shard<ChunkRunner>>> shards_;
};

}  // namespace troupe
