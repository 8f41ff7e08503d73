// The interface of one instruction set: everything in Kernels that runs on one thread, over plain pointers.
//
// These functions are compiled with their own instruction-set flags, so their files include no part of the standard
// library that could emit an inline function: the linker might keep that copy for the whole addon, which would then
// crash on a processor without those instructions. Threads and scratch memory are in products.cc, compiled without such
// flags.
#pragma once
#include "kernels.h"

namespace troupe {

struct ProductArguments {
  const float* a;
  ptrdiff_t lda;
  const uint8_t* b;  // packed
  int k;
  float* c;
  ptrdiff_t ldc;
  bool accumulate;
};

struct WeightProductArguments {
  const float* dy;
  ptrdiff_t ld_dy;
  const float* x;
  ptrdiff_t ld_x;
  int tokens;
  float* dw;
  int k_in;
};

// Half-open ranges of one thread's share of an output.
struct Range {
  int begin, end;
};

// The matrix products in one precision. B is stored as panels of `panel` columns, the last padded with zeros.
struct ProductKernels {
  int panel;
  int per_step;            // consecutive k in one element of B
  double flops_per_cycle;  // an estimate, to decide whether a product is worth a second thread
  size_t scratch_bytes;    // of multiply and weight_gradient
  size_t (*panel_bytes)(int k);
  void (*pack)(uint8_t* to, const float* w, int rows, int cols, bool transpose, Range panels);
  void (*multiply)(const ProductArguments&, Range rows, Range columns, uint8_t* scratch);
  void (*weight_gradient)(const WeightProductArguments&, Range rows, Range columns, uint8_t* scratch);
};

// The row-wise functions and attention, as in Kernels.
struct RowKernels {
  decltype(Kernels::rms_norm) rms_norm;
  decltype(Kernels::rms_norm_backward) rms_norm_backward;
  decltype(Kernels::swiglu) swiglu;
  decltype(Kernels::swiglu_backward) swiglu_backward;
  decltype(Kernels::geglu) geglu;
  decltype(Kernels::geglu_backward) geglu_backward;
  decltype(Kernels::rotate) rotate;
  decltype(Kernels::attention_scratch) attention_scratch;
  decltype(Kernels::attention) attention;
  decltype(Kernels::attention_group) attention_group;
  decltype(Kernels::attention_backward) attention_backward;
  decltype(Kernels::round_to_bfloat16) round_to_bfloat16;
  decltype(Kernels::add) add;
  decltype(Kernels::add_scaled) add_scaled;
  decltype(Kernels::sum_of_squares) sum_of_squares;
  decltype(Kernels::summarize_logits) summarize_logits;
  decltype(Kernels::softmax_scaled) softmax_scaled;
  decltype(Kernels::softmax_sloped) softmax_sloped;
  decltype(Kernels::adam) adam;
};

// Each namespace is one translation unit, isa_<name>.cc. `rows` and `products` are float32; `narrow_products` are too, of
// a B that is stored as bfloat16; other names say the type.
namespace scalar { extern const RowKernels rows; extern const ProductKernels products, narrow_products; }
namespace avx2 { extern const RowKernels rows; extern const ProductKernels products, narrow_products; }
namespace avx512 { extern const RowKernels rows; extern const ProductKernels products, narrow_products; }
namespace avx512_bf16 { extern const ProductKernels products; }
namespace amx { extern const ProductKernels products, emulated_products; }
namespace neon { extern const RowKernels rows; extern const ProductKernels products, narrow_products; }
namespace neon_bf16 { extern const ProductKernels products; }

}  // namespace troupe
