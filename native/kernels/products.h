// Threaded matrix products of one ProductKernels: splits the output between threads, owns scratch memory.
#pragma once
#include "isa.h"

namespace troupe {

void pack_with(const ProductKernels&, PackedMatrix& to, const float* w, int rows, int cols, bool transpose, Precision,
               ThreadPool&);
// See Kernels; `kernels` store bfloat16.
void pack_rows_with(const ProductKernels&, PackedMatrix& to, const ReadRows& read, int rows, int cols, ThreadPool&);
void pack_turned_with(const ProductKernels&, PackedMatrix& to, const PackedMatrix& from, ThreadPool&);
void read_row_with(const ProductKernels&, const PackedMatrix& from, int row, float* to);
void multiply_with(const ProductKernels&, const float* a, ptrdiff_t lda, int m, const PackedMatrix& b, float* c,
                   ptrdiff_t ldc, bool accumulate, ThreadPool&);
void weight_gradient_with(const ProductKernels&, const float* dy, ptrdiff_t ld_dy, const float* x, ptrdiff_t ld_x,
                          int tokens, int n_out, int k_in, float* dw, ThreadPool&);

}  // namespace troupe
