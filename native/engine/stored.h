// Tensors of safetensors files.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine.h"

namespace troupe {

// Files are read into the caller's memory, not mapped: one that is cut short meanwhile is an error, where touching a map
// of it would end the process.
class StoredFiles {
 public:
  // Opens the files of these tensors. Throws bad_model.
  explicit StoredFiles(const std::vector<StoredTensor>& tensors);
  ~StoredFiles();
  StoredFiles(const StoredFiles&) = delete;
  StoredFiles& operator=(const StoredFiles&) = delete;
  // Copies `count` numbers, from the tensor's number `first` on, as they are stored. Any thread may call it. Throws
  // bad_model if the file ends before, or if one of them is not finite.
  void read(const StoredTensor& tensor, size_t first, size_t count, void* to) const;
  // The tensor's `count` numbers, widened exactly.
  void read_widened(const StoredTensor& tensor, size_t count, float* to, ThreadPool& pool) const;

 private:
  std::map<std::string, int> descriptors_;  // by path
};

// Widens `count` numbers of two bytes, exactly.
void widen(StoredFormat format, const uint16_t* from, size_t count, float* to);

// body(first, count) over blocks of [0, n), split between threads.
template <typename Body>
void parallel_blocks(ThreadPool& pool, size_t n, Body&& body) {
  constexpr size_t block = 1 << 16;
  pool.parallel(static_cast<int>((n + block - 1) / block), 1, [&](int begin, int end, int) {
    for (size_t first = begin * block; first < n && first < end * block; first += block) {
      body(first, n - first < block ? n - first : block);
    }
  });
}

}  // namespace troupe
