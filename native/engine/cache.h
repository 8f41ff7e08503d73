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
  explicit CachePool(size_t limit_bytes) : limit_(limit_bytes) {}
  AlignedBuffer<float> take(size_t floats);
  void give_back(AlignedBuffer<float>&& buffer) noexcept;
  // Whether `bytes` more fit under the limit in addition to those in use.
  bool fits(size_t bytes) const { return used_ + bytes <= limit_; }
  size_t bytes() const { return used_ + spare_; }
  void drop_spare();
  size_t limit() const { return limit_; }

 private:
  size_t limit_, used_ = 0, spare_ = 0;
  std::map<size_t, std::vector<AlignedBuffer<float>>> spares_;  // by size
};

// The cache of one prompt or one sequence: [layer × kv head][position][key | value].
class KvCache {
 public:
  KvCache(CachePool& pool, const ModelConfig& config, int capacity);
  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;
  static size_t bytes(const ModelConfig& config, int capacity);

  void write(int layer, int kv_head, int position, const float* k, const float* v);
  KeySpan span(int layer, int kv_head, int count) const;
  // Copies the first `count` positions of a cache of the same model to those from `position` on.
  void copy(const KvCache& from, int count, int position);
  int capacity() const { return capacity_; }

 private:
  float* at(int layer, int kv_head, int position);
  static int round_up(int capacity) { return (capacity + 31) / 32 * 32; }
  CachePool& pool_;
  const int layers_, kv_heads_, head_dim_, capacity_;
  AlignedBuffer<float> data_;
};

}  // namespace troupe
