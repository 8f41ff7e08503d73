#include "cache.h"

#include <cstring>

namespace troupe {

AlignedBuffer<uint8_t> CachePool::take(size_t bytes) {
  auto found = spares_.find(bytes);
  AlignedBuffer<uint8_t> buffer;
  if (found != spares_.end() && !found->second.empty()) {
    buffer = std::move(found->second.back());
    found->second.pop_back();
    spare_ -= bytes;
  } else {
    if (used_ + spare_ + bytes > limit_) drop_spare();
    buffer.resize_unset(bytes);
  }
  used_ += bytes;
  return buffer;
}

void CachePool::give_back(AlignedBuffer<uint8_t>&& buffer) noexcept {
  const size_t bytes = buffer.size();
  used_ -= bytes;
  try {
    spares_[bytes].push_back(std::move(buffer));
    spare_ += bytes;
  } catch (const std::bad_alloc&) {
    // No space in the list: it is freed instead.
  }
}

void CachePool::drop_spare() {
  spares_.clear();
  spare_ = 0;
}

size_t KvCache::bytes(const ModelConfig& config, int capacity, bool narrow) {
  const size_t positions = static_cast<size_t>(config.layers) * config.kv_heads * round_up(capacity);
  return positions * 2 * config.head_dim * (narrow ? sizeof(uint16_t) : sizeof(float));
}

KvCache::KvCache(CachePool& pool, const ModelConfig& config, int capacity)
    : pool_(pool), layers_(config.layers), kv_heads_(config.kv_heads), head_dim_(config.head_dim), capacity_(round_up(capacity)),
      data_(pool.take(bytes(config, capacity, pool.narrow()))) {}

KvCache::~KvCache() { pool_.give_back(std::move(data_)); }

uint8_t* KvCache::at(int layer, int kv_head, int position) const {
  const size_t row = (static_cast<size_t>(layer) * kv_heads_ + kv_head) * capacity_ + position;
  return const_cast<uint8_t*>(data_.data()) + row * position_bytes();
}

void KvCache::write(int layer, int kv_head, int position, const float* k, const float* v) {
  uint8_t* to = at(layer, kv_head, position);
  if (!pool_.narrow()) {
    std::memcpy(to, k, head_dim_ * sizeof(float));
    std::memcpy(to + head_dim_ * sizeof(float), v, head_dim_ * sizeof(float));
    return;
  }
  uint16_t* halves = reinterpret_cast<uint16_t*>(to);
  for (const float* from : {k, v}) {
    for (int i = 0; i < head_dim_; i++) {
      uint32_t bits;
      std::memcpy(&bits, from + i, sizeof(bits));
      *halves++ = static_cast<uint16_t>(bits >> 16);
    }
  }
}

void KvCache::copy(const KvCache& from, int count, int position) {
  for (int layer = 0; layer < layers_; layer++) {
    for (int head = 0; head < kv_heads_; head++) {
      std::memcpy(at(layer, head, position), from.at(layer, head, 0), count * position_bytes());
    }
  }
}

KeySpan KvCache::span(int layer, int kv_head, int count) const {
  const uint8_t* k = at(layer, kv_head, 0);
  return {k, k + position_bytes() / 2, 2 * head_dim_, count};
}

}  // namespace troupe
