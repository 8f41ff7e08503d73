#include "stored.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

namespace troupe {

namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& what) {
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

size_t bytes_per_value(StoredFormat format) { return format == StoredFormat::float32 ? 4 : 2; }

// Whether no exponent has all its bits set, which are those of `exponent`.
template <typename Bits>
bool all_finite(const void* from, size_t count, Bits exponent) {
  const Bits* values = static_cast<const Bits*>(from);
  size_t others = 0;
  for (size_t i = 0; i < count; i++) others += (values[i] & exponent) == exponent;
  return others == 0;
}

bool all_finite(StoredFormat format, const void* from, size_t count) {
  if (format == StoredFormat::float32) return all_finite<uint32_t>(from, count, 0x7f800000);
  return all_finite<uint16_t>(from, count, format == StoredFormat::bfloat16 ? 0x7f80 : 0x7c00);
}

}  // namespace

StoredFiles::StoredFiles(const std::vector<StoredTensor>& tensors) {
  for (const StoredTensor& tensor : tensors) {
    if (descriptors_.count(tensor.path)) continue;
    const int file = open(tensor.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) refuse_file(tensor.path, std::string("cannot be opened (") + std::strerror(errno) + ")");
    descriptors_[tensor.path] = file;
  }
}

StoredFiles::~StoredFiles() {
  for (const auto& [path, file] : descriptors_) close(file);
}

void StoredFiles::read(const StoredTensor& tensor, size_t first, size_t count, void* to) const {
  const int file = descriptors_.at(tensor.path);
  const size_t begin = tensor.begin + first * bytes_per_value(tensor.format);
  const size_t bytes = count * bytes_per_value(tensor.format);
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = pread(file, static_cast<uint8_t*>(to) + done, bytes - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_file(tensor.path, std::string("cannot be read (") + std::strerror(errno) + ")");
    if (got == 0) refuse_file(tensor.path, "ends inside tensor " + tensor.name + ": it was changed while it was read; try again");
    done += static_cast<size_t>(got);
  }
  if (all_finite(tensor.format, to, count)) return;
  refuse_file(tensor.path, "has numbers in tensor " + tensor.name +
                          " that are not finite (NaN or infinity): the file is damaged, or training had diverged when "
                          "it was written; get it again, or use another model");
}

void StoredFiles::read_widened(const StoredTensor& tensor, size_t count, float* to, ThreadPool& pool) const {
  parallel_blocks(pool, count, [&](size_t first, size_t some) {
    if (tensor.format == StoredFormat::float32) return read(tensor, first, some, to + first);
    std::vector<uint16_t> halves(some);
    read(tensor, first, some, halves.data());
    widen(tensor.format, halves.data(), some, to + first);
  });
}

void widen(StoredFormat format, const uint16_t* from, size_t count, float* to) {
  for (size_t i = 0; i < count; i++) {
    if (format == StoredFormat::float16) {
      to[i] = from_float16(from[i]);
    } else {
      const uint32_t bits = static_cast<uint32_t>(from[i]) << 16;
      std::memcpy(to + i, &bits, sizeof bits);
    }
  }
}

}  // namespace troupe
