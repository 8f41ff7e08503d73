// Tensors of safetensors files, read through a map of the file: nothing is copied before it is packed or widened.
#pragma once
#include <map>
#include <string>

#include "engine.h"

namespace troupe {

// Throws bad_model if the file cannot be mapped or ends before the tensor does.
class MappedFiles {
 public:
  MappedFiles() = default;
  ~MappedFiles();
  MappedFiles(const MappedFiles&) = delete;
  MappedFiles& operator=(const MappedFiles&) = delete;
  // The bytes of `values` numbers. Valid as long as this object.
  const uint8_t* data(const StoredTensor& tensor, size_t values);
  // The pages of a tensor that is not needed again leave this process's memory.
  void release(const StoredTensor& tensor, size_t values);

 private:
  struct Map {
    uint8_t* start;
    size_t bytes;
  };
  const Map& open(const std::string& path);
  std::map<std::string, Map> maps_;
};

inline size_t bytes_per_value(StoredFormat format) { return format == StoredFormat::float32 ? 4 : 2; }

// Widens `count` values, exactly.
void widen(StoredFormat format, const uint8_t* from, size_t count, float* to);

}  // namespace troupe
