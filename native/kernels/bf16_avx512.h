// Pairs of bfloat16 for vdpbf16ps: one step is two consecutive k, sums are float32.
#pragma once
#include "tile.h"

namespace troupe::TROUPE_ISA {

struct PairAvx512 {
  typedef uint32_t Element, Stored;
  typedef __m512i Group;
  static constexpr int per_step = 2;
  TROUPE_INLINE Group load_group(const Element* p) { return _mm512_loadu_si512(p); }
  TROUPE_INLINE Group load_group_part(const Element* p, int count) {
    return _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << count) - 1), p);
  }
  TROUPE_INLINE Group broadcast(const Element* p) { return _mm512_set1_epi32(static_cast<int>(*p)); }
  TROUPE_INLINE Vector multiply_add(Vector sum, Group a, Group b) {
    return reinterpret_cast<Vector>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a),
                                                     reinterpret_cast<__m512bh>(b)));
  }
  TROUPE_INLINE __m512 floats(const float* p, int count) {
    if (count >= 16) return _mm512_loadu_ps(p);
    return count > 0 ? _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p) : _mm512_setzero_ps();
  }
  TROUPE_INLINE Group along_row(const float* p, int count) {
    return reinterpret_cast<Group>(_mm512_cvtne2ps_pbh(floats(p + 16, count - 16), floats(p, count)));
  }
  TROUPE_INLINE Group across_rows(const float* p, ptrdiff_t stride, int rows, int count) {
    const __m512 second = rows > 1 ? floats(p + stride, count) : _mm512_setzero_ps();
    const __m512i halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, floats(p, count)));
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, halves);
  }
  TROUPE_INLINE void store_group(Element* to, Group g) { _mm512_storeu_si512(to, g); }
  TROUPE_INLINE Vector as_vector(Group g) { return reinterpret_cast<Vector>(g); }
};

}  // namespace troupe::TROUPE_ISA
