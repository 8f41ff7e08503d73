// LoRA (Hu et al., 2021): y += (x·Aᵀ)·Bᵀ·alpha/rank for each target, A [rank, in], B [out, rank]. A critic's adapter
// also has its own value head.
#pragma once
#include <string>
#include <vector>

#include "model.h"

namespace troupe {

class Adapter {
 public:
  // Throws bad_arguments for an invalid rank, alpha or target.
  Adapter(std::string name, Model& model, const AdapterConfig& config);
  void pack(const Machine& machine);

  // Columns of the intermediate x·Aᵀ of a site; 0 = the site has no target.
  int low_width(Site site) const { return rank_ * static_cast<int>(targets_[static_cast<int>(site)].size()); }

  struct Product {
    int layer;
    Site site;
    int rows;
    const float* x;  // input rows
    ptrdiff_t x_stride;
    float* low;  // [rows × low_width], low_stride apart: x·Aᵀ·alpha/rank, kept for backward
    ptrdiff_t low_stride;
  };
  // y += the adapter's part.
  void forward(const Product& product, float* y, ptrdiff_t y_stride, const Machine& machine) const;
  // Adds to the gradients of A and B, and to dx.
  void backward(const Product& product, const float* dy, ptrdiff_t dy_stride, float* dx, ptrdiff_t dx_stride,
                float* d_low, const Machine& machine);
  size_t bytes() const;
  // Of packed copies that do not exist yet.
  size_t unpacked_bytes() const { return packed_version_ == 0 ? 2 * parameters.size() * sizeof(float) : 0; }

  const std::string name;
  Model& model;
  Parameters parameters;
  ValueHeadOffsets value_head;

 private:
  struct Matrices {
    PackedMatrix forward, backward;
  };
  void add_site(int layer, Site site);
  static size_t index(int layer, Site site) { return static_cast<size_t>(layer) * site_count + static_cast<int>(site); }
  void scale(float* low, ptrdiff_t stride, int rows, int width, ThreadPool& pool) const;

  int rank_ = 0;
  float scale_ = 1;
  std::vector<const Projection*> targets_[site_count];
  std::vector<ptrdiff_t> a_offset_;               // [layer × site]; the A of one site's targets are stacked
  std::vector<std::vector<ptrdiff_t>> b_offset_;  // [layer × site][target]
  std::vector<Matrices> a_packed_;
  std::vector<std::vector<Matrices>> b_packed_;
  uint64_t packed_version_ = 0;
};

}  // namespace troupe
