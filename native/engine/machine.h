// What all arithmetic needs: the processor's kernels, the threads, and the precision of products.
#pragma once
#include "../kernels/kernels.h"

namespace troupe {

struct Machine {
  const Kernels& kernels;
  ThreadPool& pool;
  Precision precision;
  int shard = 0;  // of the data, when several are computed at once: whose gradients are added to

  // Whether keys and values are rounded to bfloat16, in sampling and in training, and cached as such.
  bool narrow_keys() const { return precision == Precision::bfloat16 && kernels.bfloat16; }
  void pack(PackedMatrix& to, const float* w, int rows, int cols, bool transpose) const {
    kernels.pack(to, w, rows, cols, transpose, precision, pool);
  }
  void pack_rows(PackedMatrix& to, const ReadRows& read, int rows, int cols) const {
    kernels.pack_rows(to, read, rows, cols, precision, pool);
  }
  void multiply(const float* a, ptrdiff_t lda, int m, const PackedMatrix& b, float* c, ptrdiff_t ldc,
                bool accumulate) const {
    if (m > 0) kernels.multiply(a, lda, m, b, c, ldc, accumulate, pool);
  }
  void weight_gradient(const float* dy, ptrdiff_t ld_dy, const float* x, ptrdiff_t ld_x, int tokens, int n_out,
                       int k_in, float* dw) const {
    if (tokens > 0) kernels.weight_gradient(dy, ld_dy, x, ld_x, tokens, n_out, k_in, dw, precision, pool);
  }
};

// One thread, with a machine and with buffers of its own, so that it waits for no other.
template <typename Work>
struct Shard {
  Shard(const Machine& whole, int index)
      : pool(1), machine{whole.kernels, pool, whole.precision, index}, work(machine) {}
  ThreadPool pool;
  Machine machine;
  Work work;
};

}  // namespace troupe
