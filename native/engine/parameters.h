// The parameters of one policy: one flat array each for weights, gradient and the two moments; every tensor is a view.
// Tensors of one product (q, k and v; gate and up) are adjacent.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "../kernels/aligned.h"
#include "engine.h"
#include "machine.h"

namespace troupe {

struct TensorView {
  TensorInfo info;
  size_t offset = 0, size = 0;
};

class Parameters {
 public:
  // Appends a tensor and returns its offset. `aligned` starts a new block on a 64-byte boundary; pass false for a
  // tensor that continues the block before it.
  size_t add(std::string name, std::vector<int> shape, bool aligned = true);
  // Call once, after the last add: allocates the weights, all zero.
  void allocate();

  size_t size() const { return size_; }
  const std::vector<TensorView>& views() const { return views_; }
  // Throws bad_arguments with the nearest name if the policy has no such tensor.
  const TensorView& view(const std::string& policy, const std::string& name) const;

  const float* weights() const { return values_[0].data(); }
  float* weights() { return values_[0].data(); }
  // What a shard of the data adds to (trainer.h). `prepare_shards` allocates those after the first; `add_shards` adds them
  // to the first, in order, and empties them.
  float* gradient(int shard = 0) { return shard == 0 ? values(TensorKind::gradient) : shards_[shard - 1].data(); }
  void prepare_shards(int shards);
  void add_shards(const Machine& machine);
  // Allocates gradient or moments on first use; they start at zero.
  float* values(TensorKind kind);
  // Null if that kind was never used; it then reads as zeros.
  const float* existing(TensorKind kind) const;
  void zero_gradient();
  size_t bytes() const;
  // Of the gradients of `shards` and moments that are not allocated yet.
  size_t missing_bytes(int shards) const;

  int64_t steps = 0;     // AdamW's t
  // Of the weights: no two policies ever have the same one, and no policy has one twice. What was computed from weights,
  // packed copies or keys and values, compares its own.
  uint64_t version = new_version();
  // Call with every change of a weight.
  void changed() { version = new_version(); }

 private:
  static uint64_t new_version();
  size_t size_ = 0;
  std::vector<TensorView> views_;
  std::unordered_map<std::string, size_t> index_;
  AlignedBuffer<float> values_[4];  // by TensorKind
  std::vector<AlignedBuffer<float>> shards_;
};

}  // namespace troupe
