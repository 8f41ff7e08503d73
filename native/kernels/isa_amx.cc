#define TROUPE_ISA amx
#include "amx_products.h"

namespace troupe::amx {

const ProductKernels products = amx_products<HardwareTiles>();
const ProductKernels emulated_products = amx_products<EmulatedTiles>();

}  // namespace troupe::amx
