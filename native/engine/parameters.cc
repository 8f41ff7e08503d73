#include "parameters.h"

#include <atomic>

#include "rows.h"

namespace troupe {

uint64_t Parameters::new_version() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

size_t Parameters::add(std::string name, std::vector<int> shape, bool aligned) {
  constexpr size_t line = 64 / sizeof(float);
  if (aligned) size_ = (size_ + line - 1) / line * line;
  TensorView view;
  view.offset = size_;
  view.size = 1;
  for (int extent : shape) view.size *= static_cast<size_t>(extent);
  view.info = {name, std::move(shape)};
  index_[std::move(name)] = views_.size();
  size_ += view.size;
  views_.push_back(std::move(view));
  return views_.back().offset;
}

void Parameters::allocate() { values_[0].resize(size_); }

const TensorView& Parameters::view(const std::string& policy, const std::string& name) const {
  auto found = index_.find(name);
  if (found == index_.end()) {
    throw EngineError("bad_arguments", "policy \"" + policy + "\" has no tensor \"" + name + "\"; its " +
                                           std::to_string(views_.size()) + " tensors are named like \"" +
                                           views_.front().info.name + "\" and \"" + views_.back().info.name + "\"");
  }
  return views_[found->second];
}

float* Parameters::values(TensorKind kind) {
  AlignedBuffer<float>& buffer = values_[static_cast<int>(kind)];
  if (buffer.size() != size_) buffer.resize(size_);
  return buffer.data();
}

void Parameters::prepare_shards(int shards) {
  gradient();
  if (static_cast<int>(shards_.size()) < shards - 1) shards_.resize(shards - 1);
  for (AlignedBuffer<float>& shard : shards_) {
    if (shard.size() != size_) shard.resize(size_);
  }
}

void Parameters::add_shards(const Machine& machine) {
  parallel_rows(machine.pool, static_cast<int>(size_), row_grain(1), [&](int begin, int end, int) {
    for (AlignedBuffer<float>& shard : shards_) {
      machine.kernels.add(gradient() + begin, shard.data() + begin, end - begin);
      std::fill(shard.data() + begin, shard.data() + end, 0.0f);
    }
  });
}

void Parameters::zero_gradient() {
  values_[1].zero();
  for (AlignedBuffer<float>& shard : shards_) shard.zero();
}

const float* Parameters::existing(TensorKind kind) const {
  const AlignedBuffer<float>& buffer = values_[static_cast<int>(kind)];
  return buffer.size() ? buffer.data() : nullptr;
}

size_t Parameters::bytes() const {
  size_t total = 0;
  for (const AlignedBuffer<float>& buffer : values_) total += buffer.size() * sizeof(float);
  for (const AlignedBuffer<float>& shard : shards_) total += shard.size() * sizeof(float);
  return total;
}

size_t Parameters::missing_bytes(int shards) const {
  size_t total = 0;
  for (int shard = static_cast<int>(shards_.size()); shard < shards - 1; shard++) total += size_ * sizeof(float);
  for (const AlignedBuffer<float>& buffer : values_) total += buffer.size() == size_ ? 0 : size_ * sizeof(float);
  return total;
}

}  // namespace troupe
