#include "stored.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

namespace troupe {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw EngineError("bad_model", path + " " + what);
}

float from_float16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value;
  if (exponent == 0) value = std::ldexp(static_cast<float>(fraction), -24);
  else if (exponent == 31) value = fraction == 0 ? HUGE_VALF : std::nanf("");
  else value = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return bits & 0x8000 ? -value : value;
}

}  // namespace

MappedFiles::~MappedFiles() {
  for (const auto& [path, map] : maps_) munmap(map.start, map.bytes);
}

const MappedFiles::Map& MappedFiles::open(const std::string& path) {
  auto found = maps_.find(path);
  if (found != maps_.end()) return found->second;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) refuse(path, std::string("cannot be opened (") + std::strerror(errno) + ")");
  struct stat status;
  const bool known = fstat(file, &status) == 0;
  const size_t bytes = known ? static_cast<size_t>(status.st_size) : 0;
  void* start = bytes > 0 ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  const int error = errno;
  close(file);
  if (start == MAP_FAILED) refuse(path, std::string("cannot be mapped into memory (") + std::strerror(error) + ")");
  return maps_.emplace(path, Map{static_cast<uint8_t*>(start), bytes}).first->second;
}

const uint8_t* MappedFiles::data(const StoredTensor& tensor, size_t values) {
  const Map& map = open(tensor.path);
  const size_t bytes = values * bytes_per_value(tensor.format);
  if (tensor.begin > map.bytes || bytes > map.bytes - tensor.begin) {
    refuse(tensor.path, "ends inside tensor " + tensor.name + ": it was changed while it was read; try again");
  }
  return map.start + tensor.begin;
}

void MappedFiles::release(const StoredTensor& tensor, size_t values) {
  const Map& map = open(tensor.path);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t first = (tensor.begin + page - 1) / page * page;
  const size_t last = (tensor.begin + values * bytes_per_value(tensor.format)) / page * page;
  if (first < last) madvise(map.start + first, last - first, MADV_DONTNEED);
}

void widen(StoredFormat format, const uint8_t* from, size_t count, float* to) {
  if (format == StoredFormat::float32) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i < count; i++) {
    uint16_t half;
    std::memcpy(&half, from + 2 * i, sizeof half);
    if (format == StoredFormat::float16) {
      to[i] = from_float16(half);
    } else {
      const uint32_t bits = static_cast<uint32_t>(half) << 16;
      std::memcpy(to + i, &bits, sizeof bits);
    }
  }
}

}  // namespace troupe
