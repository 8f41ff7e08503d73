// The matrix products of one thread on AMX tiles: blocks of 32 × 32 of C, 32 k at a time. B has the panels of
// tile_products.h; A is packed in rows, because a tile is loaded by rows.
//
// A row's sum does not depend on other rows: tiles accumulate each row separately, and the blocks of k are those of
// tile_products.h.
#pragma once
#include <utility>

#include "amx_tiles.h"
#include "bf16_avx512.h"
#include "tile_products.h"

namespace troupe::TROUPE_ISA {

constexpr int amx_rows = 32;
constexpr int first_cache = 24 << 10;  // bytes of A at a time
constexpr int second_cache = 3 << 19;  // bytes of B or C that stay there
constexpr int most_rows = 2 * block_rows;  // of A, packed at a time, so that a B from memory is read seldom
constexpr int amx_steps = 16;  // pairs of bfloat16 in a row of a tile
static_assert(panel == 32 && lanes == 16, "two tiles of B side by side");

constexpr int whole_tiles(int steps) { return (steps + amx_steps - 1) / amx_steps * amx_steps; }

// to[c·pitch + s] = step s of column c of `from` (k rows, `columns` columns): transposes dY into rows.
static void pack_columns_as_rows(const float* from, ptrdiff_t stride, int k, int steps, int columns, uint32_t* to,
                                 int pitch) {
  for (int s = 0; s < steps; s += lanes)
    for (int c = 0; c < columns; c += lanes) {
      Vector square[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i)
        square[i] = PairAvx512::as_vector(step_of_columns<PairAvx512>(from + c, stride, k, s + i, columns - c));
      transpose(square);
      for (int i = 0; i < lanes && c + i < columns; ++i)
        store(reinterpret_cast<float*>(to + (c + i) * pitch + s), square[i]);
    }
}

template <class Tiles>
struct AmxProducts {
  using Packs = TileProducts<PairAvx512>;
  using Block = Tile<PairAvx512>;
  static_assert(most_rows / block_rows * Packs::rows_bytes <= Packs::scratch_bytes, "all rows of A in the scratch");

  // The sums of the tiles that exist (bottom: rows 16 …; right: columns 16 …), stored as 32 × 32 floats.
  template <bool Bottom, bool Right>
  static void accumulate(const Block& t, float* sums) {
    constexpr ptrdiff_t b_bytes = panel * 4, sum_bytes = panel * 4;
    const ptrdiff_t a_bytes = t.a_row * 4;
    Tiles::template zero<0>();
    if constexpr (Right) Tiles::template zero<1>();
    if constexpr (Bottom) Tiles::template zero<2>();
    if constexpr (Bottom && Right) Tiles::template zero<3>();
    for (int s = 0; s < t.steps; s += amx_steps) {
      Tiles::template load<6>(t.b + s * panel, b_bytes);
      Tiles::template load<4>(t.a + s, a_bytes);
      Tiles::template multiply_add<0, 4, 6>();
      if constexpr (Right) {
        Tiles::template load<7>(t.b + s * panel + 16, b_bytes);
        Tiles::template multiply_add<1, 4, 7>();
      }
      if constexpr (Bottom) {
        Tiles::template load<5>(t.a + 16 * t.a_row + s, a_bytes);
        Tiles::template multiply_add<2, 5, 6>();
      }
      if constexpr (Bottom && Right) Tiles::template multiply_add<3, 5, 7>();
    }
    Tiles::template store<0>(sums, sum_bytes);
    if constexpr (Right) Tiles::template store<1>(sums + 16, sum_bytes);
    if constexpr (Bottom) Tiles::template store<2>(sums + 16 * panel, sum_bytes);
    if constexpr (Bottom && Right) Tiles::template store<3>(sums + 16 * panel + 16, sum_bytes);
  }

  // C, while the sums are computed that will be stored there.
  static void fetch_sums(const Block& t, int rows) {
    for (int r = 0; r < rows; ++r) {
      __builtin_prefetch(t.c + r * t.c_row, 1);
      __builtin_prefetch(t.c + r * t.c_row + t.columns - 1, 1);
    }
  }

  // Steps of a panel that is needed next. A step is two cache lines.
  static void fetch_panel(const Block& start, int index, int from, int to) {
    const uint32_t* b = start.b + index * start.b_panel;
    for (int s = from; s < to; ++s) {
      __builtin_prefetch(b + s * panel, 0, 2);
      __builtin_prefetch(b + s * panel + 16, 0, 2);
    }
  }

  static void run_block(const Block& t, int rows) {
    float sums[amx_rows * panel] __attribute__((aligned(64)));
    const bool bottom = rows > 16, right = t.columns > 16;
    if (bottom)
      right ? accumulate<true, true>(t, sums) : accumulate<true, false>(t, sums);
    else
      right ? accumulate<false, true>(t, sums) : accumulate<false, false>(t, sums);
    for (int r = 0; r < rows; ++r)
      for_each_vector(t.columns, [&](size_t i, auto get, auto put) {
        float* c = t.c + r * t.c_row + i;
        const Vector sum = load(sums + r * panel + i);
        put(c, t.into == Into::add ? get(c) + sum : sum);
      });
  }

  template <int Panel>
  static void add_panel(const uint32_t* b) {
    Tiles::template load<7>(b, panel * 4);
    Tiles::template multiply_add<2 * Panel, 6, 7>();
    Tiles::template load<7>(b + 16, panel * 4);
    Tiles::template multiply_add<2 * Panel + 1, 6, 7>();
  }

  // Few rows, and several panels side by side: memory gives more weights at a time from several places.
  static constexpr int low_rows = 4, low_panels = 3;
  template <int... Panel>
  static void run_low(const Block& t, int rows, std::integer_sequence<int, Panel...>) {
    constexpr int width = low_panels * panel;
    float sums[low_rows * width] __attribute__((aligned(64)));
    (Tiles::template zero<2 * Panel>(), ...);
    (Tiles::template zero<2 * Panel + 1>(), ...);
    for (int s = 0; s < t.steps; s += amx_steps) {
      Tiles::template load<6>(t.a + s, t.a_row * 4);
      (add_panel<Panel>(t.b + Panel * t.b_panel + s * panel), ...);
    }
    (Tiles::template store<2 * Panel>(sums + Panel * panel, width * 4), ...);
    (Tiles::template store<2 * Panel + 1>(sums + Panel * panel + 16, width * 4), ...);
    for (int r = 0; r < rows; ++r)
      for_each_vector(t.columns, [&](size_t i, auto get, auto put) {
        float* c = t.c + r * t.c_row + i;
        const Vector sum = load(sums + r * width + i);
        put(c, t.into == Into::add ? get(c) + sum : sum);
      });
  }

  static void sweep_low(const Block& start, int first, int rows, Range columns) {
    Tiles::configure(TileConfiguration(rows));
    for (int column = columns.begin; column < columns.end;) {
      const int left = columns.end - column, panels = left > (low_panels - 1) * panel ? low_panels : 1;
      Block t = start;
      t.a += first * t.a_row;
      t.b += column / panel * t.b_panel;
      t.c += first * t.c_row + column;
      t.columns = smaller(left, panels * panel);
      if (panels == 1)
        run_low(t, rows, std::integer_sequence<int, 0>());
      else
        run_low(t, rows, std::make_integer_sequence<int, low_panels>());
      column += panels * panel;
    }
  }

  static void configure(int rows) {
    Tiles::configure(TileConfiguration(rows < 16 ? rows : 16, rows > 16 ? rows - 16 : 0));
  }

  // All blocks of the rows packed in tile.a times all panels of `columns`: whole blocks first, so that the tiles are
  // configured at most twice. `fetches`: C is in no cache yet.
  static void sweep(const Block& start, int rows, Range columns, bool fetches) {
    const int whole = rows / amx_rows * amx_rows;
    const auto run = [&](int first, int height, int column) {
      Block t = start;
      t.a += first * t.a_row;
      t.b += column / panel * t.b_panel;
      t.c += first * t.c_row + column;
      t.columns = smaller(panel, columns.end - column);
      if (fetches) fetch_sums(t, height);
      run_block(t, height);
    };
    if (whole > 0) {
      configure(amx_rows);
      // As many rows of A at a time as stay in the first cache, if B comes from the second one. A larger B is read from
      // memory, and so once only: each panel stays in the first cache for all rows, and the next one is fetched meanwhile.
      const int step_bytes = 4 * start.steps, fits = first_cache / step_bytes / amx_rows * amx_rows;
      const bool is_near = (columns.end - columns.begin) * step_bytes <= second_cache;
      const int some = is_near ? larger(amx_rows, fits) : whole;
      for (int from = 0; from < whole; from += some)
        for (int column = columns.begin; column < columns.end; column += panel)
          for (int first = from; first < smaller(whole, from + some); first += amx_rows) {
            if (!is_near && column + panel < columns.end)
              fetch_panel(start, column / panel + 1, start.steps * first / whole, start.steps * (first + amx_rows) / whole);
            run(first, amx_rows, column);
          }
    }
    if (whole == rows) return;
    if (rows - whole <= low_rows) return sweep_low(start, whole, rows - whole, columns);
    configure(rows - whole);
    for (int column = columns.begin; column < columns.end; column += panel) run(whole, rows - whole, column);
  }

  static void multiply(const ProductArguments& p, Range rows, Range columns, uint8_t* scratch) {
    uint32_t* packed = reinterpret_cast<uint32_t*>(scratch);
    const uint32_t* b = reinterpret_cast<const uint32_t*>(p.b);
    for (int row = rows.begin; row < rows.end; row += most_rows) {
      const int height = smaller(most_rows, rows.end - row);
      // If C is large, parts of it stay in the second cache while they are visited for every block of k.
      const int width = columns.end - columns.begin;
      const bool is_large = height * width * 4 > second_cache;
      const int some = is_large && p.k > 2 * block_steps ? 16 * panel : width;
      for (int column = columns.begin; column < columns.end; column += some) {
        for_each_block(steps_of(p.k, 2), [&](int first, int count) {
          const int steps = whole_tiles(count);
          pack_rows<PairAvx512>(p.a + row * p.lda + first * 2, p.lda, height, p.k - first * 2, steps, packed, row_pitch);
          sweep({packed, row_pitch, 1, b + first * panel, panel, static_cast<ptrdiff_t>(Packs::panel_bytes(p.k) / 4),
                 steps, p.c + row * p.ldc, p.ldc, 0, first == 0 && !p.accumulate ? Into::write : Into::add},
                height, {column, smaller(columns.end, column + some)}, is_large && first == 0);
        });
      }
    }
    Tiles::release();
  }

  static void weight_gradient(const WeightProductArguments& p, Range rows, Range columns, uint8_t* scratch) {
    uint32_t* left = reinterpret_cast<uint32_t*>(scratch);
    uint32_t* right = reinterpret_cast<uint32_t*>(scratch + Packs::rows_bytes);
    for (int column = columns.begin; column < columns.end; column += block_columns) {
      const int width = smaller(block_columns, columns.end - column);
      for_each_block(steps_of(p.tokens, 2), [&](int first, int count) {
        const int steps = whole_tiles(count), tokens = p.tokens - first * 2;
        const ptrdiff_t token = static_cast<ptrdiff_t>(first) * 2, panel_size = panel * steps;
        pack_panels<PairAvx512>(p.x + token * p.ld_x + column, p.ld_x, tokens, steps, width, right, panel_size);
        for (int row = rows.begin; row < rows.end; row += block_rows) {
          const int height = smaller(block_rows, rows.end - row);
          pack_columns_as_rows(p.dy + token * p.ld_dy + row, p.ld_dy, tokens, steps, height, left, row_pitch);
          sweep({left, row_pitch, 1, right, panel, panel_size, steps,
                 p.dw + static_cast<ptrdiff_t>(row) * p.k_in + column, p.k_in, 0, Into::add},
                height, {0, width}, false);
        }
      });
    }
    Tiles::release();
  }
};

template <class Tiles>
constexpr ProductKernels amx_products() {
  using P = AmxProducts<Tiles>;
  return {panel,                 2,              400.0,       P::Packs::scratch_bytes,
          P::Packs::panel_bytes, P::Packs::pack, P::multiply, P::weight_gradient};
}

}  // namespace troupe::TROUPE_ISA
