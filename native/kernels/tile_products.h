// The matrix products of one thread over register tiles: C = A·B with B packed in panels, and dW += dYᵀ·X.
//
// Steps are taken in blocks whose bounds depend only on k, and each block's sum is added to C, so that an element is
// summed in one order whatever the number of rows and threads.
#pragma once
#include "isa.h"
#include "pack.h"

namespace troupe::TROUPE_ISA {

constexpr int block_steps = 256;             // of A and B between two visits of C: a panel of B is 32 KB
constexpr int row_pitch = block_steps + 16;  // not a power of two, or the rows of a tile would share cache sets
constexpr int block_rows = 16 * max_rows;    // of A, packed at a time; with block_steps, a quarter of the L2 cache
constexpr int block_columns = 32 * panel;    // of X, packed at a time in weight_gradient

// Blocks of nearly equal length: body(first step, steps).
template <class Body>
TROUPE_INLINE void for_each_block(int steps, Body body) {
  const int blocks = (steps + block_steps - 1) / block_steps;
  const int length = ((steps + blocks - 1) / blocks + 15) / 16 * 16;
  for (int first = 0; first < steps; first += length) body(first, smaller(length, steps - first));
}

template <class Op>
struct TileProducts {
  using Element = typename Op::Element;
  using Stored = typename Op::Stored;

  // Panels are padded to whole tiles of 16 steps, because the AMX kernels share this layout.
  static int padded_steps(int k) { return (steps_of(k, Op::per_step) + 15) / 16 * 16; }
  static size_t panel_bytes(int k) { return static_cast<size_t>(padded_steps(k)) * panel * sizeof(Stored); }

  static constexpr size_t rows_bytes = static_cast<size_t>(block_rows) * row_pitch * sizeof(Element);
  static constexpr size_t scratch_bytes =
      rows_bytes + static_cast<size_t>(block_columns + lanes) * block_steps * sizeof(Element);

  static void pack(uint8_t* to, const float* w, int rows, int cols, bool transpose, Range panels) {
    const int k = transpose ? cols : rows, n = transpose ? rows : cols;
    for (int p = panels.begin; p < panels.end; ++p) {
      Element* panel_start = reinterpret_cast<Element*>(to + p * panel_bytes(k));
      const int columns = smaller(panel, n - p * panel);
      if (transpose)
        pack_transposed<Op>(w + static_cast<ptrdiff_t>(p) * panel * cols, cols, columns, k, padded_steps(k),
                            panel_start, panel);
      else
        pack_panels<Op>(w + p * panel, cols, k, padded_steps(k), columns, panel_start, 0);
    }
  }

  // One tile row times all panels of `columns`, a few panels at a time if the tile is low.
  static void sweep_panels(Tile<Op> tile, int rows, Range columns) {
    const ptrdiff_t b_panel = tile.b_panel;
    const Stored* b = tile.b;
    float* c = tile.c;
    for (int column = columns.begin; column < columns.end;) {
      const int left = columns.end - column;
      const int wanted = panels_for(rows);
      const int panels = left > (wanted - 1) * panel ? wanted : 1;
      tile.b = b + column / panel * b_panel;
      tile.c = c + column;
      tile.columns = smaller(left, panels * panel);
      packed_tile<Op>(rows, panels)(tile);
      column += panels * panel;
    }
  }

  // The same product, keeping each panel of B in the cache for all tile rows; a narrow one is widened there, once.
  static void sweep_rows(const Tile<Op>& tile, int rows, Range columns, Element* wide) {
    for (int column = columns.begin; column < columns.end; column += panel) {
      const int width = smaller(panel, columns.end - column);
      const Stored* b = tile.b + column / panel * tile.b_panel;
      if constexpr (sizeof(Stored) == sizeof(Element)) {
        sweep_panel<Op>(tile, b, rows, column, width);
      } else {
        for (int i = 0; i < tile.steps * panel; i += lanes) store(wide + i, Op::load_group(b + i));
        sweep_panel<Float32>(tile, wide, rows, column, width);
      }
    }
  }

  template <class Wide>
  static void sweep_panel(const Tile<Op>& from, const typename Wide::Stored* b, int rows, int column, int width) {
    Tile<Wide> tile{from.a, from.a_row, from.a_step, b, panel, from.b_panel, from.steps, from.c, from.c_row, width, from.into};
    for_each_tile(rows, [&](int first, int height) {
      tile.a = from.a + first * from.a_row;
      tile.c = from.c + first * from.c_row + column;
      packed_tile<Wide>(height, 1)(tile);
    });
  }

  static void multiply(const ProductArguments& p, Range rows, Range columns, uint8_t* scratch) {
    Element* packed = reinterpret_cast<Element*>(scratch);
    const int steps = steps_of(p.k, Op::per_step);
    for (int row = rows.begin; row < rows.end; row += block_rows) {
      const int height = smaller(block_rows, rows.end - row);
      for_each_block(steps, [&](int first, int count) {
        const float* a = p.a + row * p.lda + first * Op::per_step;
        Tile<Op> tile{packed, row_pitch, 1, reinterpret_cast<const Stored*>(p.b) + first * panel, panel,
                      static_cast<ptrdiff_t>(panel_bytes(p.k) / sizeof(Stored)), count, p.c + row * p.ldc, p.ldc, 0,
                      first == 0 && !p.accumulate ? Into::write : Into::add};
        pack_rows<Op>(a, p.lda, height, p.k - first * Op::per_step, count, packed, row_pitch);
        if (height <= max_rows)
          sweep_panels(tile, height, columns);
        else
          sweep_rows(tile, height, columns, reinterpret_cast<Element*>(scratch + rows_bytes));
      });
    }
  }

  // Packs a block of dY as tiles of [step][row]: the rows of a tile are columns of dY, read sequentially.
  static void weight_gradient(const WeightProductArguments& p, Range rows, Range columns, uint8_t* scratch) {
    Element* left = reinterpret_cast<Element*>(scratch);
    Element* right = reinterpret_cast<Element*>(scratch + rows_bytes);
    for (int column = columns.begin; column < columns.end; column += block_columns) {
      const int width = smaller(block_columns, columns.end - column);
      for_each_block(steps_of(p.tokens, Op::per_step), [&](int first, int count) {
        const ptrdiff_t token = static_cast<ptrdiff_t>(first) * Op::per_step;
        const int tokens = static_cast<int>(p.tokens - token);
        pack_panels<Op>(p.x + token * p.ld_x + column, p.ld_x, tokens, count, width, right, panel * count);
        for (int row = rows.begin; row < rows.end; row += block_rows) {
          const int height = smaller(block_rows, rows.end - row);
          pack_tiles<Op>(p.dy + token * p.ld_dy + row, p.ld_dy, tokens, count, height, left);
          sweep_tiles({left, 1, 0, right, panel, panel * count, count,
                       p.dw + static_cast<ptrdiff_t>(row) * p.k_in + column, p.k_in, 0, Into::add},
                      height, width);
        }
      });
    }
  }

  // All tiles made by pack_tiles times all panels of `width` columns.
  static void sweep_tiles(Tile<Op> tile, int rows, int width) {
    const Element *a = tile.a, *b = tile.b;
    float* c = tile.c;
    for (int column = 0; column < width; column += panel) {
      int index = 0;
      tile.b = b + column / panel * tile.b_panel;
      tile.columns = smaller(panel, width - column);
      for_each_tile(rows, [&](int first, int height) {
        tile.a = a + tile_offset(index++, first, tile.steps);
        tile.a_step = height;
        tile.c = c + first * tile.c_row + column;
        packed_tile<Op>(height, 1)(tile);
      });
    }
  }
};

template <class Op>
constexpr ProductKernels tile_products(double flops_per_cycle) {
  using P = TileProducts<Op>;
  return {panel,          Op::per_step, flops_per_cycle, P::scratch_bytes,
          P::panel_bytes, P::pack,      P::multiply,     P::weight_gradient};
}

// products.cc packs, as it needs no arithmetic; frozen weights have no gradient.
constexpr ProductKernels narrow_tile_products(double flops_per_cycle) {
  using P = TileProducts<Narrow>;
  return {panel, 1, flops_per_cycle, P::scratch_bytes, P::panel_bytes, nullptr, P::multiply, nullptr};
}

}  // namespace troupe::TROUPE_ISA
