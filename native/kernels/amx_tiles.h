// Eight 1 KB tiles of up to 16 rows × 64 bytes, as in AMX: in hardware, or emulated bit by bit for tests on other
// machines. The roles: 0–3 sums (top left, top right, bottom left, bottom right), 4–5 rows of A, 6–7 panels of B. Of a low
// product: 0–5 sums of three panels, 6 rows of A, 7 a panel of B.
#pragma once
#include <initializer_list>

#include "vector.h"

namespace troupe::TROUPE_ISA {

struct TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
  // Sums and A have as many rows as the product's top and bottom half, B always 16 steps.
  TileConfiguration(int top, int bottom) : TileConfiguration({top, top, bottom, bottom, top, bottom, 16, 16}) {}
  // Six sums, A, and a panel of B.
  explicit TileConfiguration(int low) : TileConfiguration({low, low, low, low, low, low, low, 16}) {}

 private:
  explicit TileConfiguration(std::initializer_list<int> all) {
    const int* heights = all.begin();
    for (int i = 0; i < 8; ++i) {
      rows[i] = static_cast<uint8_t>(heights[i]);
      row_bytes[i] = heights[i] > 0 ? 64 : 0;
    }
  }
};
static_assert(sizeof(TileConfiguration) == 64, "the layout of LDTILECFG's operand");

// Instructions as assembly, not intrinsics: those only accept literal tile numbers, and need extra flags.
struct HardwareTiles {
  TROUPE_INLINE void configure(const TileConfiguration& c) { asm volatile("ldtilecfg %0" ::"m"(c)); }
  TROUPE_INLINE void release() { asm volatile("tilerelease"); }
  template <int Tile>
  TROUPE_INLINE void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
  }
  template <int Tile>
  TROUPE_INLINE void load(const void* from, ptrdiff_t bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(bytes), "i"(Tile) : "memory");
  }
  template <int Tile>
  TROUPE_INLINE void store(void* to, ptrdiff_t bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(bytes), "i"(Tile) : "memory");
  }
  template <int Sum, int A, int B>
  TROUPE_INLINE void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(A), "i"(B));
  }
};

// As in the pseudo-code of the Intel manual (TDPBF16PS): even and odd products are summed separately, then added to C.
struct EmulatedTiles {
  struct Tile {
    int rows;
    uint32_t words[16][16];
  };
  static Tile& tile(int i) {
    static thread_local Tile tiles[8];
    return tiles[i];
  }
  static float number(uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, 4);
    return x;
  }
  static uint32_t bits(float x) {
    uint32_t b;
    __builtin_memcpy(&b, &x, 4);
    return b;
  }
  static void configure(const TileConfiguration& c) {
    for (int i = 0; i < 8; ++i) {
      tile(i).rows = c.rows[i];
      __builtin_memset(tile(i).words, 0, sizeof tile(i).words);
    }
  }
  static void release() {}
  template <int Index>
  static void zero() {
    __builtin_memset(tile(Index).words, 0, sizeof tile(Index).words);
  }
  template <int Index>
  static void load(const void* from, ptrdiff_t bytes) {
    for (int r = 0; r < tile(Index).rows; ++r)
      __builtin_memcpy(tile(Index).words[r], static_cast<const char*>(from) + r * bytes, 64);
  }
  template <int Index>
  static void store(void* to, ptrdiff_t bytes) {
    for (int r = 0; r < tile(Index).rows; ++r)
      __builtin_memcpy(static_cast<char*>(to) + r * bytes, tile(Index).words[r], 64);
  }
  template <int Sum, int A, int B>
  static void multiply_add() {
    for (int m = 0; m < tile(A).rows; ++m)
      for (int n = 0; n < 16; ++n) {
        float even = 0, odd = 0;
        for (int k = 0; k < 16; ++k) {
          const uint32_t a = tile(A).words[m][k], b = tile(B).words[k][n];
          even = __builtin_fmaf(number(a << 16), number(b << 16), even);
          odd = __builtin_fmaf(number(a & 0xffff0000u), number(b & 0xffff0000u), odd);
        }
        uint32_t& sum = tile(Sum).words[m][n];
        sum = bits(number(sum) + (even + odd));
      }
  }
};

}  // namespace troupe::TROUPE_ISA
