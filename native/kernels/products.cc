#include "products.h"

#include <cstring>
#include <vector>

namespace troupe {
namespace {

uint8_t* scratch_of(const ProductKernels& kernels) {
  thread_local AlignedBuffer<uint8_t> scratch;
  if (scratch.size() < kernels.scratch_bytes) scratch.resize(kernels.scratch_bytes);
  return scratch.data();
}

// Splits output rows × columns into a grid, one cell per thread.
struct Grid {
  int rows = 1, columns = 1;
};

int part_of(int n, int parts) { return (n + parts - 1) / parts; }

// The slowest cell's time in units of one multiply-add over one row and one panel. A cell packs its rows of A whatever
// its width, and a low tile takes at least the time of one with four rows.
double cell_time(int m, int panels, Grid grid) {
  const int rows = part_of(m, grid.rows), width = part_of(panels, grid.columns);
  return (rows > 4 ? rows : 4) * (width + 0.25) + 0.1 * width;
}

Grid best_grid(int m, int panels, int threads) {
  Grid best;
  for (int columns = 1; columns <= threads && columns <= panels; ++columns) {
    const Grid grid{threads / columns, columns};
    if (cell_time(m, panels, grid) < cell_time(m, panels, best)) best = grid;
  }
  return best;
}

// Below about this many cycles of work, waking a second thread costs more than it saves.
constexpr double worth_a_thread = 30e3;

int threads_for(const ProductKernels& kernels, double flops, const ThreadPool& pool) {
  return flops < worth_a_thread * kernels.flops_per_cycle ? 1 : pool.threads();
}

Range share(int n, int grain, int parts, int index) {
  const int units = part_of(n, grain);
  const int begin = static_cast<int>(static_cast<long long>(units) * index / parts) * grain;
  const int end = static_cast<int>(static_cast<long long>(units) * (index + 1) / parts) * grain;
  return {begin, end < n ? end : n};
}

// body(rows, columns) for every cell of the best grid.
template <typename Body>
void split(const ProductKernels& kernels, int m, int n, double flops, ThreadPool& pool, const Body& body) {
  const int threads = threads_for(kernels, flops, pool);
  if (threads == 1) return body(Range{0, m}, Range{0, n});
  const Grid grid = best_grid(m, part_of(n, kernels.panel), threads);
  pool.parallel(grid.rows * grid.columns, 1, [&](int begin, int end, int) {
    for (int cell = begin; cell < end; ++cell) {
      const Range rows = share(m, 1, grid.rows, cell / grid.columns);
      const Range columns = share(n, kernels.panel, grid.columns, cell % grid.columns);
      if (rows.begin < rows.end && columns.begin < columns.end) body(rows, columns);
    }
  });
}

// Numbers of B in a layout that stores bfloat16: [panel][k / per_step][column of the panel][k % per_step].
struct Narrow {
  Narrow(const ProductKernels& kernels, const PackedMatrix& b)
      : panel(kernels.panel), per_step(kernels.per_step), apart(kernels.panel_bytes(b.k) / 2) {}
  size_t column(int c) const { return c / panel * apart + c % panel * per_step; }
  // From the start of the column. per_step is 1 or 2.
  size_t step(int k) const {
    const int half = per_step - 1;
    return static_cast<size_t>(k >> half) * panel * per_step + (k & half);
  }
  const int panel, per_step;
  const size_t apart;  // numbers between panels
};

uint16_t* numbers(PackedMatrix& b) { return reinterpret_cast<uint16_t*>(b.data.data()); }
const uint16_t* numbers(const PackedMatrix& b) { return reinterpret_cast<const uint16_t*>(b.data.data()); }

// Each thread touches first the panels that it will read in products of few rows.
int allocate(const ProductKernels& kernels, PackedMatrix& b, int k, int n, ThreadPool& pool) {
  b.k = k;
  b.n = n;
  const int panels = part_of(n, kernels.panel);
  const size_t bytes = kernels.panel_bytes(k);
  if (b.data.resize_unset(bytes * panels)) {
    pool.parallel(panels, 1, [&](int begin, int end, int) { std::memset(b.data.data() + bytes * begin, 0, bytes * (end - begin)); });
  }
  return panels;
}

constexpr int packed_steps = 64;  // of a panel, written together so that they stay in the first cache

}  // namespace

void pack_rows_with(const ProductKernels& kernels, PackedMatrix& to, const ReadRows& read, int rows, int cols,
                    ThreadPool& pool) {
  const int panels = allocate(kernels, to, cols, rows, pool);
  const Narrow layout(kernels, to);
  pool.parallel(panels, 1, [&](int begin, int end, int) {
    std::vector<uint16_t> some(static_cast<size_t>(layout.panel) * cols);
    for (int p = begin; p < end; ++p) {
      const int row = p * layout.panel, count = row + layout.panel < rows ? layout.panel : rows - row;
      read(row, count, some.data());
      for (int first = 0; first < cols; first += packed_steps)
        for (int c = 0; c < count; ++c) {
          const uint16_t* from = some.data() + static_cast<size_t>(c) * cols;
          uint16_t* column = numbers(to) + layout.column(row + c);
          for (int k = first; k < cols && k < first + packed_steps; ++k) column[layout.step(k)] = from[k];
        }
    }
  });
}

void pack_turned_with(const ProductKernels& kernels, PackedMatrix& to, const PackedMatrix& from, ThreadPool& pool) {
  to.precision = from.precision;
  to.narrow = from.narrow;
  const int panels = allocate(kernels, to, from.n, from.k, pool);
  const Narrow layout(kernels, to), before(kernels, from);
  pool.parallel(panels, 1, [&](int begin, int end, int) {
    for (int p = begin; p < end; ++p)
      for (int first = 0; first < to.k; first += packed_steps)
        for (int c = p * layout.panel; c < to.n && c < (p + 1) * layout.panel; ++c) {
          uint16_t* column = numbers(to) + layout.column(c);
          const uint16_t* row = numbers(from) + before.step(c);
          for (int k = first; k < to.k && k < first + packed_steps; ++k) column[layout.step(k)] = row[before.column(k)];
        }
  });
}

void read_row_with(const ProductKernels& kernels, const PackedMatrix& from, int row, float* to) {
  const Narrow layout(kernels, from);
  const uint16_t* column = numbers(from) + layout.column(row);
  for (int k = 0; k < from.k; ++k) {
    const uint32_t bits = static_cast<uint32_t>(column[layout.step(k)]) << 16;
    std::memcpy(to + k, &bits, sizeof bits);
  }
}

void pack_with(const ProductKernels& kernels, PackedMatrix& to, const float* w, int rows, int cols, bool transpose,
               Precision precision, ThreadPool& pool) {
  to.precision = precision;
  const int panels = allocate(kernels, to, transpose ? cols : rows, transpose ? rows : cols, pool);
  const auto body = [&](int begin, int end, int) {
    kernels.pack(to.data.data(), w, rows, cols, transpose, {begin, end});
  };
  if (static_cast<double>(rows) * cols < 16384)
    body(0, panels, 0);
  else
    pool.parallel(panels, 1, body);
}

void multiply_with(const ProductKernels& kernels, const float* a, ptrdiff_t lda, int m, const PackedMatrix& b, float* c,
                   ptrdiff_t ldc, bool accumulate, ThreadPool& pool) {
  if (m <= 0 || b.n <= 0) return;
  const ProductArguments arguments{a, lda, b.data.data(), b.k, c, ldc, accumulate};
  split(kernels, m, b.n, 2.0 * m * b.n * b.k, pool, [&](Range rows, Range columns) {
    kernels.multiply(arguments, rows, columns, scratch_of(kernels));
  });
}

void weight_gradient_with(const ProductKernels& kernels, const float* dy, ptrdiff_t ld_dy, const float* x,
                          ptrdiff_t ld_x, int tokens, int n_out, int k_in, float* dw, ThreadPool& pool) {
  if (tokens <= 0 || n_out <= 0 || k_in <= 0) return;
  const WeightProductArguments arguments{dy, ld_dy, x, ld_x, tokens, dw, k_in};
  split(kernels, n_out, k_in, 2.0 * tokens * n_out * k_in, pool, [&](Range rows, Range columns) {
    kernels.weight_gradient(arguments, rows, columns, scratch_of(kernels));
  });
}

}  // namespace troupe
