#include "adapter.h"

#include <cmath>

#include "rows.h"

namespace troupe {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw EngineError("bad_arguments", "adapter \"" + name + "\": " + what);
}

const Projection& find_target(const std::string& name, const Model& model, const std::string& target) {
  std::string known;
  for (const Projection& projection : model.shape.projections) {
    if (target == projection.name) return projection;
    known += std::string(known.empty() ? "" : ", ") + projection.name;
  }
  refuse(name, "unknown target \"" + target + "\", expected one of " + known);
}

}  // namespace

Adapter::Adapter(std::string name_, Model& model_, const AdapterConfig& config)
    : name(std::move(name_)), model(model_), rank_(config.rank), scale_(config.alpha / static_cast<float>(config.rank)) {
  if (config.rank < 1 || config.rank > 4096) {
    refuse(name, "rank is " + std::to_string(config.rank) + ", expected 1 to 4096");
  }
  if (!std::isfinite(config.alpha)) refuse(name, "alpha is not a finite number");
  if (config.targets.empty()) refuse(name, "no target modules, expected at least one, such as \"q_proj\"");
  if (model.value_head.present() && !config.value_head) {
    refuse(name, "the model \"" + model.name + "\" is a critic, so the adapter must have a value head too");
  }
  bool wanted[7] = {};
  const std::vector<Projection>& projections = model.shape.projections;
  for (const std::string& target : config.targets) wanted[&find_target(name, model, target) - projections.data()] = true;
  for (size_t i = 0; i < projections.size(); i++) {
    if (wanted[i]) targets_[static_cast<int>(projections[i].site)].push_back(&projections[i]);
  }
  for (int layer = 0; layer < model.config.layers; layer++) {
    for (int site = 0; site < site_count; site++) add_site(layer, static_cast<Site>(site));
  }
  if (config.value_head) value_head.add(parameters, "base_model.model.", model.config.hidden);
  parameters.allocate();
  a_packed_.resize(a_offset_.size());
  b_packed_.resize(b_offset_.size());
  for (size_t i = 0; i < b_offset_.size(); i++) b_packed_[i].resize(b_offset_[i].size());
}

void Adapter::add_site(int layer, Site site) {
  const bool attention = site == Site::qkv || site == Site::output;
  const std::string prefix =
      "base_model.model.model.layers." + std::to_string(layer) + (attention ? ".self_attn." : ".mlp.");
  ptrdiff_t a = -1;
  for (const Projection* target : targets_[static_cast<int>(site)]) {
    const ptrdiff_t offset = parameters.add(prefix + target->name + ".lora_A.weight",
                                            {rank_, model.shape.input[static_cast<int>(site)]}, a < 0);
    if (a < 0) a = offset;
  }
  std::vector<ptrdiff_t> b;
  for (const Projection* target : targets_[static_cast<int>(site)]) {
    b.push_back(parameters.add(prefix + target->name + ".lora_B.weight", {target->width, rank_}));
  }
  a_offset_.push_back(a);
  b_offset_.push_back(std::move(b));
}

void Adapter::pack(const Machine& machine) {
  if (packed_version_ == parameters.version) return;
  packed_version_ = 0;
  const float* weights = parameters.weights();
  for (size_t i = 0; i < a_offset_.size(); i++) {
    const Site site = static_cast<Site>(i % site_count);
    const int in = model.shape.input[static_cast<int>(site)];
    if (a_offset_[i] < 0) continue;
    machine.pack(a_packed_[i].forward, weights + a_offset_[i], low_width(site), in, true);
    machine.pack(a_packed_[i].backward, weights + a_offset_[i], low_width(site), in, false);
    for (size_t t = 0; t < b_offset_[i].size(); t++) {
      const int out = targets_[static_cast<int>(site)][t]->width;
      machine.pack(b_packed_[i][t].forward, weights + b_offset_[i][t], out, rank_, true);
      machine.pack(b_packed_[i][t].backward, weights + b_offset_[i][t], out, rank_, false);
    }
  }
  packed_version_ = parameters.version;
}

void Adapter::scale(float* low, ptrdiff_t stride, int rows, int width, ThreadPool& pool) const {
  parallel_rows(pool, rows, row_grain(width), [&](int begin, int end, int) {
    for (int row = begin; row < end; row++) {
      for (int i = 0; i < width; i++) low[row * stride + i] *= scale_;
    }
  });
}

void Adapter::forward(const Product& p, float* y, ptrdiff_t y_stride, const Machine& machine) const {
  const int width = low_width(p.site);
  if (width == 0 || p.rows == 0) return;
  const size_t at = index(p.layer, p.site);
  machine.multiply(p.x, p.x_stride, p.rows, a_packed_[at].forward, p.low, p.low_stride, false);
  scale(p.low, p.low_stride, p.rows, width, machine.pool);
  const auto& targets = targets_[static_cast<int>(p.site)];
  for (size_t t = 0; t < targets.size(); t++) {
    machine.multiply(p.low + t * rank_, p.low_stride, p.rows, b_packed_[at][t].forward, y + targets[t]->offset, y_stride,
                     true);
  }
}

void Adapter::backward(const Product& p, const float* dy, ptrdiff_t dy_stride, float* dx, ptrdiff_t dx_stride,
                       float* d_low, const Machine& machine) {
  const int width = low_width(p.site);
  if (width == 0 || p.rows == 0) return;
  const size_t at = index(p.layer, p.site);
  const int in = model.shape.input[static_cast<int>(p.site)];
  float* gradient = parameters.gradient(machine.shard);
  const auto& targets = targets_[static_cast<int>(p.site)];
  for (size_t t = 0; t < targets.size(); t++) {
    const float* d_target = dy + targets[t]->offset;
    machine.multiply(d_target, dy_stride, p.rows, b_packed_[at][t].backward, d_low + t * rank_, width, false);
    machine.weight_gradient(d_target, dy_stride, p.low + t * rank_, p.low_stride, p.rows, targets[t]->width, rank_,
                            gradient + b_offset_[at][t]);
  }
  scale(d_low, width, p.rows, width, machine.pool);
  machine.weight_gradient(d_low, width, p.x, p.x_stride, p.rows, width, in, gradient + a_offset_[at]);
  machine.multiply(d_low, width, p.rows, a_packed_[at].backward, dx, dx_stride, true);
}

size_t Adapter::bytes() const {
  size_t total = parameters.bytes();
  for (const Matrices& a : a_packed_) total += a.forward.data.size() + a.backward.data.size();
  for (const auto& site : b_packed_) {
    for (const Matrices& b : site) total += b.forward.data.size() + b.backward.data.size();
  }
  return total;
}

}  // namespace troupe
