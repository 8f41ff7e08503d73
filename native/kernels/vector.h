// Vectors as wide as the including file's instruction set, in the compilers' vector extension: one source, one order of
// operations at any width. TROUPE_ISA names the namespace of the including translation unit.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define TROUPE_INLINE static inline __attribute__((always_inline))

namespace troupe::TROUPE_ISA {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float Vector __attribute__((vector_size(lanes * 4)));
typedef int32_t Integers __attribute__((vector_size(lanes * 4)));
typedef float UnalignedVector __attribute__((vector_size(lanes * 4), aligned(4), may_alias));

TROUPE_INLINE Vector load(const float* p) { return *reinterpret_cast<const UnalignedVector*>(p); }
TROUPE_INLINE void store(float* p, Vector v) { *reinterpret_cast<UnalignedVector*>(p) = v; }
// x - 0 is x for every x, so compilers emit only the broadcast.
TROUPE_INLINE Vector splat(float x) { return x - Vector{}; }

// GCC rounds a product by itself if a branch lies before its sum, as before the last part of a row that is no multiple
// of lanes, and elsewhere does not: one query would not have the bits of many.
TROUPE_INLINE Vector add_product(Vector sum, Vector a, Vector b) {
#if defined(__aarch64__)
  return reinterpret_cast<Vector>(vfmaq_f32(reinterpret_cast<float32x4_t>(sum), reinterpret_cast<float32x4_t>(a),
                                            reinterpret_cast<float32x4_t>(b)));
#elif defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b),
                                                  reinterpret_cast<__m512>(sum)));
#elif defined(__FMA__)
  return reinterpret_cast<Vector>(_mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b),
                                                  reinterpret_cast<__m256>(sum)));
#else
  return sum + a * b;
#endif
}

// The first `count` < lanes floats; the rest are zero, and their memory is not read.
TROUPE_INLINE Vector load_part(const float* p, int count) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p));
#else
  float part[lanes] __attribute__((aligned(64))) = {};
  for (int i = 0; i < count; ++i) part[i] = p[i];
  return load(part);
#endif
}

TROUPE_INLINE void store_part(float* p, Vector v, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), reinterpret_cast<__m512>(v));
#else
  float part[lanes] __attribute__((aligned(64)));
  store(part, v);
  for (int i = 0; i < count; ++i) p[i] = part[i];
#endif
}

// body(i, load, store) for i = 0, lanes, 2·lanes, …; `load(p)` and `store(p, v)` only access elements below n.
template <class Body>
TROUPE_INLINE void for_each_vector(size_t n, Body body) {
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    body(i, [](const float* p) __attribute__((always_inline)) { return load(p); },
         [](float* p, Vector v) __attribute__((always_inline)) { store(p, v); });
  if (i == n) return;
  const int rest = static_cast<int>(n - i);
  body(i, [rest](const float* p) __attribute__((always_inline)) { return load_part(p, rest); },
       [rest](float* p, Vector v) __attribute__((always_inline)) { store_part(p, v, rest); });
}

TROUPE_INLINE float sum(Vector v) {
  float x[lanes] __attribute__((aligned(64)));
  store(x, v);
#pragma GCC unroll 16
  for (int half = lanes / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < half; ++i) x[i] += x[i + half];
  return x[0];
}

TROUPE_INLINE float maximum(Vector v) {
  float x[lanes] __attribute__((aligned(64)));
  store(x, v);
#pragma GCC unroll 16
  for (int half = lanes / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < half; ++i) x[i] = x[i] > x[i + half] ? x[i] : x[i + half];
  return x[0];
}

TROUPE_INLINE Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// e^x to about 1 unit in the last place (the Cephes polynomial); 0 below -87.3 (-inf included), inf above 88.3,
// NaN of NaN.
TROUPE_INLINE Vector exponential(Vector x) {
  constexpr float magic = 12582912.0f;  // 1.5·2^23: adding it rounds to an integer
  Vector n = (x * 1.44269504088896341f + magic) - magic;
  const Vector high = splat(88.3f), low = splat(-87.3f);
  n = x > high ? splat(0.0f) : (x < low ? splat(0.0f) : n);
  Vector r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Integers exponent = __builtin_convertvector(n, Integers);
  const Vector result = p * reinterpret_cast<Vector>((exponent + 127) << 23);
  return x > high ? splat(__builtin_inff()) : (x < low ? splat(0.0f) : result);
}

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
  using type = Indices<I...>;
};

// One exchange of the butterfly: lanes whose index has bit `Distance` are swapped between two rows.
template <int Distance, int... I>
TROUPE_INLINE void exchange(Vector& a, Vector& b, Indices<I...>) {
  const Vector upper = __builtin_shufflevector(a, b, ((I & Distance) ? lanes + I - Distance : I)...);
  b = __builtin_shufflevector(a, b, ((I & Distance) ? lanes + I : I + Distance)...);
  a = upper;
}

template <int Distance>
TROUPE_INLINE void transpose_from(Vector (&rows)[lanes]) {
  if constexpr (Distance < lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i)
      if (!(i & Distance)) exchange<Distance>(rows[i], rows[i + Distance], typename MakeIndices<lanes>::type{});
    transpose_from<Distance * 2>(rows);
  }
}

// Transposes a square of lanes × lanes 4-byte elements in registers.
TROUPE_INLINE void transpose(Vector (&rows)[lanes]) { transpose_from<1>(rows); }

}  // namespace troupe::TROUPE_ISA
