// Memory on 64-byte boundaries, one cache line and one AVX-512 register wide. Throws std::bad_alloc.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace troupe {

template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t n) { resize(n); }
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() { std::free(data_); }

  // Grows or shrinks; the contents are zero after growth and unspecified otherwise.
  void resize(size_t n) {
    if (resize_unset(n)) std::memset(static_cast<void*>(data_), 0, (n * sizeof(T) + 63) / 64 * 64);
  }
  // The same without zeros, for memory that the threads which will read it should touch first: the system then takes it
  // from their side of the machine. Returns whether it grew.
  bool resize_unset(size_t n) {
    const bool grows = n > capacity_;
    if (grows) {
      std::free(data_);
      data_ = nullptr;
      capacity_ = size_ = 0;
      if (n > (SIZE_MAX - 63) / sizeof(T)) throw std::bad_alloc();
      size_t bytes = (n * sizeof(T) + 63) / 64 * 64;
      data_ = static_cast<T*>(std::aligned_alloc(64, bytes));
      if (!data_) throw std::bad_alloc();
      capacity_ = n;
    }
    size_ = n;
    return grows;
  }
  void zero() { if (size_) std::memset(static_cast<void*>(data_), 0, size_ * sizeof(T)); }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  void swap(AlignedBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace troupe
