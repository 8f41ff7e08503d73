// Pairs of bfloat16 for BFDOT: one step is two consecutive k, sums are float32.
#define TROUPE_ISA neon_bf16
#include <arm_neon.h>

#include "tile_products.h"

namespace troupe::neon_bf16 {

struct PairNeon {
  typedef uint32_t Element, Stored;
  typedef uint32x4_t Group;
  static constexpr int per_step = 2;
  TROUPE_INLINE Group load_group(const Element* p) { return vld1q_u32(p); }
  TROUPE_INLINE Group load_group_part(const Element* p, int count) {
    return vreinterpretq_u32_f32(reinterpret_cast<float32x4_t>(load_part(reinterpret_cast<const float*>(p), count)));
  }
  TROUPE_INLINE Group broadcast(const Element* p) { return vld1q_dup_u32(p); }
  TROUPE_INLINE Vector multiply_add(Vector sum, Group a, Group b) {
    return vbfdotq_f32(sum, vreinterpretq_bf16_u32(a), vreinterpretq_bf16_u32(b));
  }
  TROUPE_INLINE Vector floats(const float* p, int count) {
    if (count >= lanes) return load(p);
    return count > 0 ? load_part(p, count) : Vector{};
  }
  TROUPE_INLINE uint16x4_t rounded(Vector v) { return vreinterpret_u16_bf16(vcvt_bf16_f32(v)); }
  TROUPE_INLINE Group along_row(const float* p, int count) {
    return vreinterpretq_u32_u16(vcombine_u16(rounded(floats(p, count)), rounded(floats(p + lanes, count - lanes))));
  }
  TROUPE_INLINE Group across_rows(const float* p, ptrdiff_t stride, int rows, int count) {
    const uint16x4_t first = rounded(floats(p, count));
    const uint16x4_t second = rows > 1 ? rounded(floats(p + stride, count)) : vdup_n_u16(0);
    return vreinterpretq_u32_u16(vcombine_u16(vzip1_u16(first, second), vzip2_u16(first, second)));
  }
  TROUPE_INLINE void store_group(Element* to, Group g) { vst1q_u32(to, g); }
  TROUPE_INLINE Vector as_vector(Group g) { return vreinterpretq_f32_u32(g); }
};

const ProductKernels products = tile_products<PairNeon>(4.0 * lanes);

}  // namespace troupe::neon_bf16
