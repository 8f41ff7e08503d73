// Keys and values of positions already computed.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "model.h"

namespace troupe {

// Buffers of finished sequences, reused so that decoding does not allocate.
class CachePool {
 public:
  CachePool(size_t limit_bytes, bool narrow) : limit_(limit_bytes), narrow_(narrow) {}
  AlignedBuffer<uint8_t> take(size_t bytes);
  void give_back(AlignedBuffer<uint8_t>&& buffer) noexcept;
  // Whether `bytes` more fit under the limit in addition to those in use.
  bool fits(size_t bytes) const { return used_ + bytes <= limit_; }
  size_t bytes() const { return used_ + spare_; }
  void drop_spare();
  size_t limit() const { return limit_; }
  // Whether caches store bfloat16.
  bool narrow() const { return narrow_; }

 private:
  size_t limit_, used_ = 0, spare_ = 0;
  bool narrow_;
  std::map<size_t, std::vector<AlignedBuffer<uint8_t>>> spares_;  // by size
};

// The cache of one prompt or one sequence: [layer × kv head][position][key | value], float32 or bfloat16. Memory that
// no position has reached yet is reserved, and not resident.
class KvCache {
 public:
  KvCache(CachePool& pool, const ModelConfig& config, int capacity);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;
  static size_t bytes(const ModelConfig& config, int capacity, bool narrow);

  // What a narrow cache stores was rounded to bfloat16 before.
  void write(int layer, int kv_head, int position, const float* k, const float* v);
  KeySpan span(int layer, int kv_head, int count) const;
  // Copies the first `count` positions of a cache of the same model to those from `position` on.
  void copy(const KvCache& from, int count, int position);
  int capacity() const { return capacity_; }

 private:
  uint8_t* at(int layer, int kv_head, int position) const;
  size_t position_bytes() const { return 2 * static_cast<size_t>(head_dim_) * (pool_.narrow() ? 2 : 4); }
  static int round_up(int capacity) { return (capacity + 31) / 32 * 32; }
  CachePool& pool_;
  const int layers_, kv_heads_, head_dim_, capacity_;
  AlignedBuffer<uint8_t> data_;
};

}  // namespace troupe
