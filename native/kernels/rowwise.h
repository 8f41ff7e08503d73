// The row-wise pieces of the transformer, AdamW, and the reductions over logits. Semantics: kernels.h.
#pragma once
#include "isa.h"
#include "vector.h"

namespace troupe::TROUPE_ISA {

static void rms_norm(const float* x, NormWeights w, float* y, float* inverse_rms, int rows, int width, float epsilon) {
  for (int r = 0; r < rows; ++r, x += width, y += width) {
    Vector squares{};
    for_each_vector(width, [&](size_t i, auto get, auto) {
      const Vector value = get(x + i);
      squares += value * value;
    });
    const float inverse = 1.0f / __builtin_sqrtf(sum(squares) / static_cast<float>(width) + epsilon);
    if (inverse_rms) inverse_rms[r] = inverse;
    for_each_vector(width, [&](size_t i, auto get, auto put) {
      put(y + i, get(x + i) * inverse * (get(w.values + i) + w.offset));
    });
  }
}

// dx = s·(dy·w) − x·s³·mean(dy·w·x), with s = inverse_rms.
static void rms_norm_backward(const float* dy, const float* x, NormWeights w, const float* inverse_rms, float* dx,
                              float* dw, int rows, int width) {
  for (int r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const float s = inverse_rms[r];
    Vector products{};
    for_each_vector(width, [&](size_t i, auto get, auto) {
      products += get(dy + i) * (get(w.values + i) + w.offset) * get(x + i);
    });
    const float back = sum(products) / static_cast<float>(width) * s * s * s;
    for_each_vector(width, [&](size_t i, auto get, auto put) {
      put(dx + i, get(dx + i) + (get(dy + i) * (get(w.values + i) + w.offset) * s - get(x + i) * back));
    });
    if (!dw) continue;
    for_each_vector(width, [&](size_t i, auto get, auto put) {
      put(dw + i, get(dw + i) + get(dy + i) * get(x + i) * s);
    });
  }
}

TROUPE_INLINE Vector sigmoid(Vector x) { return 1.0f / (1.0f + exponential(-x)); }

// Activations are x·sigmoid(inner(x)); slope is the derivative of inner.
struct Silu {
  TROUPE_INLINE Vector inner(Vector x) { return x; }
  TROUPE_INLINE Vector slope(Vector) { return splat(1.0f); }
};

// ½·x·(1 + tanh(u)) = x·sigmoid(2u), u = √(2/π)·(x + 0.044715·x³) (GELU, arXiv:1606.08415, section 2).
struct GeluTanh {
  static constexpr float scale = 1.5957691216057308f;  // 2·√(2/π)
  TROUPE_INLINE Vector inner(Vector x) { return x * scale * (x * x * 0.044715f + 1.0f); }
  TROUPE_INLINE Vector slope(Vector x) { return scale * (x * x * (3 * 0.044715f) + 1.0f); }
};

template <class Activation>
static void gated(const float* gate_up, float* out, int rows, int width) {
  for (int r = 0; r < rows; ++r, gate_up += 2 * static_cast<ptrdiff_t>(width), out += width) {
    const float* up = gate_up + width;
    for_each_vector(width, [&](size_t i, auto get, auto put) {
      const Vector gate = get(gate_up + i);
      put(out + i, gate * sigmoid(Activation::inner(gate)) * get(up + i));
    });
  }
}

template <class Activation>
static void gated_backward(const float* gate_up, const float* d_out, float* d_gate_up, int rows, int width) {
  const ptrdiff_t both = 2 * static_cast<ptrdiff_t>(width);
  for (int r = 0; r < rows; ++r, gate_up += both, d_gate_up += both, d_out += width) {
    for_each_vector(width, [&](size_t i, auto get, auto put) {
      const Vector gate = get(gate_up + i), up = get(gate_up + width + i), d = get(d_out + i);
      const Vector s = sigmoid(Activation::inner(gate));
      put(d_gate_up + i, d * up * s * (1.0f + gate * (1.0f - s) * Activation::slope(gate)));
      put(d_gate_up + width + i, d * gate * s);
    });
  }
}

static void rotate(float* x, ptrdiff_t stride, const int32_t* positions, const float* cosine, const float* sine,
                   int rows, int heads, int head_dim, int turned, float sign) {
  const int half = turned / 2;
  for (int r = 0; r < rows; ++r, x += stride) {
    const float* cos_row = cosine + static_cast<ptrdiff_t>(positions[r]) * half;
    const float* sin_row = sine + static_cast<ptrdiff_t>(positions[r]) * half;
    for (int h = 0; h < heads; ++h) {
      float* first = x + h * head_dim;
      for_each_vector(half, [&](size_t i, auto get, auto put) {
        const Vector a = get(first + i), b = get(first + half + i), c = get(cos_row + i), s = get(sin_row + i) * sign;
        put(first + i, a * c - b * s);
        put(first + half + i, b * c + a * s);
      });
    }
  }
}

static void add(float* y, const float* x, size_t n) {
  for_each_vector(n, [&](size_t i, auto get, auto put) { put(y + i, get(y + i) + get(x + i)); });
}

// Not a number stays one in the upper half.
static void round_to_bfloat16(float* x, size_t n) {
  typedef uint32_t Bits __attribute__((vector_size(lanes * 4)));
  for_each_vector(n, [&](size_t i, auto get, auto put) {
    const Vector value = get(x + i);
    const Bits bits = reinterpret_cast<Bits>(value);
    const Bits rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    put(x + i, value == value ? reinterpret_cast<Vector>(rounded) : reinterpret_cast<Vector>(bits | 0x00400000));
  });
}

static void add_scaled(float* y, const float* x, float a, size_t n) {
  for_each_vector(n, [&](size_t i, auto get, auto put) { put(y + i, get(y + i) + get(x + i) * a); });
}

// Partial sums of 1,024 vectors are added in double precision, so that the norm of a large gradient keeps its digits.
static double sum_of_squares(const float* x, size_t n) {
  constexpr size_t chunk = 1024 * lanes;
  double total = 0;
  for (size_t first = 0; first < n; first += chunk) {
    Vector squares{};
    for_each_vector(n - first < chunk ? n - first : chunk, [&](size_t i, auto get, auto) {
      const Vector value = get(x + first + i);
      squares += value * value;
    });
    total += sum(squares);
  }
  return total;
}

TROUPE_INLINE float largest(const float* x, int n) {
  Vector most = splat(-__builtin_inff());
  int i = 0;
  for (; i + lanes <= n; i += lanes) most = larger(load(x + i), most);
  float result = maximum(most);
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

static LogitSummary summarize_logits(const float* logits, int n) {
  const float max = largest(logits, n);
  if (max == -__builtin_inff()) return {max, max, 0.0f};
  Vector weights{}, moments{};
  int i = 0;
  // Lanes past the end are set far below the maximum, where they have no weight; so are masked (-inf) logits, because
  // 0·(-inf) would make the entropy NaN.
  const auto take = [&](Vector shifted) __attribute__((always_inline)) {
    const Vector bottom = splat(-100.0f);
    shifted = shifted < bottom ? bottom : shifted;
    const Vector weight = exponential(shifted);
    weights += weight;
    moments += weight * shifted;
  };
  for (; i + lanes <= n; i += lanes) take(load(logits + i) - max);
  if (i < n) {
    float rest[lanes];
    for (int j = 0; j < lanes; ++j) rest[j] = i + j < n ? logits[i + j] - max : -100.0f;
    take(load(rest));
  }
  const float total = sum(weights), log_total = __builtin_logf(total);
  return {max, max + log_total, log_total - sum(moments) / total};
}

static void softmax_scaled(const float* logits, float log_sum_exp, float a, float* d, int n) {
  for_each_vector(n, [&](size_t i, auto get, auto put) { put(d + i, exponential(get(logits + i) - log_sum_exp) * a); });
}

static void softmax_sloped(const float* logits, float log_sum_exp, float a, float b, float* d, int n) {
  // 0·(-inf) would be NaN.
  const Vector bottom = splat(-100.0f);
  for_each_vector(n, [&](size_t i, auto get, auto put) {
    Vector logp = get(logits + i) - log_sum_exp;
    logp = logp < bottom ? bottom : logp;
    put(d + i, exponential(logp) * (logp * b + a));
  });
}

TROUPE_INLINE Vector square_root(Vector v) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(v)));
#else
  for (int i = 0; i < lanes; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
#endif
}

static void adam(float* w, const float* g, float* m, float* v, size_t n, const AdamStep& step) {
  const float keep = 1.0f - step.learning_rate * step.weight_decay;
  const float size = step.learning_rate / step.bias_correction1;
  const float inverse_root = 1.0f / __builtin_sqrtf(step.bias_correction2);
  for_each_vector(n, [&](size_t i, auto get, auto put) {
    const Vector gradient = get(g + i) * step.gradient_scale;
    const Vector first = get(m + i) * step.beta1 + gradient * (1.0f - step.beta1);
    const Vector second = get(v + i) * step.beta2 + gradient * gradient * (1.0f - step.beta2);
    put(m + i, first);
    put(v + i, second);
    put(w + i, get(w + i) * keep - first * size / (square_root(second) * inverse_root + step.epsilon));
  });
}

}  // namespace troupe::TROUPE_ISA
