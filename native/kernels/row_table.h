// The tables of float32 kernels of the including instruction set; ends the translation unit.
#pragma once
#include "attention_group.h"
#include "rowwise.h"
#include "tile_products.h"

namespace troupe::TROUPE_ISA {

const RowKernels rows = {rms_norm,           rms_norm_backward, gated<Silu>,      gated_backward<Silu>,
                         gated<GeluTanh>,    gated_backward<GeluTanh>,            rotate,
                         attention_scratch,  attention,         attention_group,  attention_backward, round_to_bfloat16, add,
                         add_scaled,         sum_of_squares,    summarize_logits, softmax_scaled,   softmax_sloped,     adam};

const ProductKernels products = tile_products<Float32>(2.0 * lanes);
const ProductKernels narrow_products = narrow_tile_products(2.0 * lanes);

}  // namespace troupe::TROUPE_ISA
