#include "cache.h"

#include <cstring>

namespace troupe {

AlignedBuffer<float> CachePool::take(size_t floats) {
  const size_t bytes = floats * sizeof(float);
  auto found = spares_.find(floats);
  AlignedBuffer<float> buffer;
  if (found != spares_.end() && !found->second.empty()) {
    buffer = std::move(found->second.back());
    found->second.pop_back();
    spare_ -= bytes;
  } else {
    if (used_ + spare_ + bytes > limit_) drop_spare();
    buffer.resize(floats);
  }
  used_ += bytes;
  return buffer;
}

void CachePool::give_back(AlignedBuffer<float>&& buffer) noexcept {
  const size_t floats = buffer.size();
  used_ -= floats * sizeof(float);
  try {
    spares_[floats].push_back(std::move(buffer));
    spare_ += floats * sizeof(float);
  } catch (const std::bad_alloc&) {
    // No space in the list: it is freed instead.
  }
}

void CachePool::drop_spare() {
  spares_.clear();
  spare_ = 0;
}

size_t KvCache::bytes(const ModelConfig& config, int capacity) {
  return sizeof(float) * config.layers * config.kv_heads * round_up(capacity) * 2 * config.head_dim;
}

KvCache::KvCache(CachePool& pool, const ModelConfig& config, int capacity)
    : pool_(pool), layers_(config.layers), kv_heads_(config.kv_heads), head_dim_(config.head_dim), capacity_(round_up(capacity)),
      data_(pool.take(bytes(config, capacity) / sizeof(float))) {}

KvCache::~KvCache() { pool_.give_back(std::move(data_)); }

float* KvCache::at(int layer, int kv_head, int position) {
  return data_.data() + ((static_cast<size_t>(layer) * kv_heads_ + kv_head) * capacity_ + position) * 2 * head_dim_;
}

void KvCache::write(int layer, int kv_head, int position, const float* k, const float* v) {
  float* to = at(layer, kv_head, position);
  std::memcpy(to, k, head_dim_ * sizeof(float));
  std::memcpy(to + head_dim_, v, head_dim_ * sizeof(float));
}

void KvCache::copy(const KvCache& from, int count, int position) {
  for (int layer = 0; layer < layers_; layer++) {
    for (int head = 0; head < kv_heads_; head++) {
      const size_t floats = static_cast<size_t>(count) * 2 * head_dim_;
      std::memcpy(at(layer, head, position), from.span(layer, head, count).k, floats * sizeof(float));
    }
  }
}

KeySpan KvCache::span(int layer, int kv_head, int count) const {
  const float* k = const_cast<KvCache*>(this)->at(layer, kv_head, 0);
  return {k, k + head_dim_, 2 * head_dim_, count};
}

}  // namespace troupe
