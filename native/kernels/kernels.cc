#include "kernels.h"

#include <cstdlib>
#include <cstring>

#include "processor.h"
#include "products.h"
#include "self_check.h"

namespace troupe {
namespace {

// Plain functions of a Kernels table, over one instruction set's kernels in float32, in float32 with a narrow B, and in
// bfloat16.
template <const ProductKernels& Float, const ProductKernels& Narrow, const ProductKernels& Pair>
struct Products {
  static const ProductKernels& in(Precision precision) { return precision == Precision::bfloat16 ? Pair : Float; }
  static const ProductKernels& of(const PackedMatrix& b) { return b.narrow ? Narrow : in(b.precision); }
  static void pack(PackedMatrix& to, const float* w, int rows, int cols, bool transpose, Precision precision,
                   ThreadPool& pool) {
    pack_with(in(precision), to, w, rows, cols, transpose, precision, pool);
  }
  static void pack_rows(PackedMatrix& to, const ReadRows& read, int rows, int cols, Precision precision,
                        ThreadPool& pool) {
    to.precision = precision;
    to.narrow = &in(precision) == &Float;
    pack_rows_with(of(to), to, read, rows, cols, pool);
  }
  static void pack_turned(PackedMatrix& to, const PackedMatrix& from, ThreadPool& pool) {
    pack_turned_with(of(from), to, from, pool);
  }
  static void read_row(const PackedMatrix& from, int row, float* to) { read_row_with(of(from), from, row, to); }
  static void multiply(const float* a, ptrdiff_t lda, int m, const PackedMatrix& b, float* c, ptrdiff_t ldc,
                       bool accumulate, ThreadPool& pool) {
    multiply_with(of(b), a, lda, m, b, c, ldc, accumulate, pool);
  }
  static void weight_gradient(const float* dy, ptrdiff_t ld_dy, const float* x, ptrdiff_t ld_x, int tokens, int n_out,
                              int k_in, float* dw, Precision precision, ThreadPool& pool) {
    weight_gradient_with(in(precision), dy, ld_dy, x, ld_x, tokens, n_out, k_in, dw, pool);
  }
};

template <const RowKernels& Rows, const ProductKernels& Float, const ProductKernels& Narrow, const ProductKernels& Pair>
Kernels table(const char* name) {
  using P = Products<Float, Narrow, Pair>;
  return {name,
          &Float != &Pair,
          P::pack,
          P::pack_rows,
          P::pack_turned,
          P::read_row,
          P::multiply,
          P::weight_gradient,
          Rows.rms_norm,
          Rows.rms_norm_backward,
          Rows.swiglu,
          Rows.swiglu_backward,
          Rows.geglu,
          Rows.geglu_backward,
          Rows.rotate,
          Rows.attention_scratch,
          Rows.attention,
          Rows.attention_group,
          Rows.attention_backward,
          Rows.round_to_bfloat16,
          Rows.add,
          Rows.add_scaled,
          Rows.sum_of_squares,
          Rows.summarize_logits,
          Rows.softmax_scaled,
          Rows.softmax_sloped,
          Rows.adam};
}

struct Candidate {
  bool usable;
  Kernels kernels;
};

// Tiles in software, for tests: slow, and never selected.
#if defined(__x86_64__)
const Kernels* emulated_amx() {
  static const Kernels kernels = table<avx512::rows, avx512::products, avx512::narrow_products, amx::emulated_products>("amx-emulated");
  return processor().avx512_bf16 ? &kernels : nullptr;
}
#else
const Kernels* emulated_amx() { return nullptr; }
#endif

// From the fastest to the slowest.
struct Candidates {
#if defined(__x86_64__)
  Candidate list[5] = {
      {processor().amx_bf16 && products_agree(amx::products, avx512_bf16::products),
       table<avx512::rows, avx512::products, avx512::narrow_products, amx::products>("amx-bf16")},
      {processor().avx512_bf16,
       table<avx512::rows, avx512::products, avx512::narrow_products, avx512_bf16::products>("avx512-bf16")},
      {processor().avx512, table<avx512::rows, avx512::products, avx512::narrow_products, avx512::products>("avx512")},
      {processor().avx2, table<avx2::rows, avx2::products, avx2::narrow_products, avx2::products>("avx2")},
      {true, table<scalar::rows, scalar::products, scalar::narrow_products, scalar::products>("scalar")}};
#elif defined(__aarch64__)
  Candidate list[3] = {{processor().neon_bf16, table<neon::rows, neon::products, neon::narrow_products, neon_bf16::products>("neon-bf16")},
                       {processor().neon, table<neon::rows, neon::products, neon::narrow_products, neon::products>("neon")},
                       {true, table<scalar::rows, scalar::products, scalar::narrow_products, scalar::products>("scalar")}};
#else
  Candidate list[1] = {{true, table<scalar::rows, scalar::products, scalar::narrow_products, scalar::products>("scalar")}};
#endif
};

const Candidates& candidates() {
  static const Candidates all;
  return all;
}

const Kernels& choose() {
  const char* wanted = std::getenv("TROUPE_KERNELS");
  const Kernels* named = wanted ? find_kernels(wanted) : nullptr;
  if (named) return *named;
  for (const Candidate& candidate : candidates().list)
    if (candidate.usable) return candidate.kernels;
  std::abort();  // unreachable: the last one is always usable
}

}  // namespace

const Kernels& best_kernels() {
  static const Kernels& best = choose();
  return best;
}

const Kernels* find_kernels(const char* name) {
  for (const Candidate& candidate : candidates().list)
    if (candidate.usable && std::strcmp(candidate.kernels.name, name) == 0) return &candidate.kernels;
  return std::strcmp(name, "amx-emulated") == 0 ? emulated_amx() : nullptr;
}

}  // namespace troupe
