#define TROUPE_ISA avx512_bf16
#include "bf16_avx512.h"
#include "tile_products.h"

namespace troupe::avx512_bf16 {

const ProductKernels products = tile_products<PairAvx512>(4.0 * lanes);

}  // namespace troupe::avx512_bf16
