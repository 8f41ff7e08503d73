// One transformer: its configuration, the offset of each weight, and the packed copies for its products.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "machine.h"
#include "parameters.h"
#include "token_bytes.h"

namespace troupe {

// The four products of a layer. Those of one site share their input: q, k and v are one product, gate and up another.
enum class Site : uint8_t { qkv, output, gate_up, down };
constexpr int site_count = 4;

struct Projection {
  const char* name;  // q_proj, or qkv_proj of a model whose projections are fused
  Site site;
  int offset, width;  // columns of the site's output
};

// Widths that follow from a configuration.
struct Shape {
  explicit Shape(const ModelConfig& config);
  int q, kv, qkv, gate_up;
  int input[site_count], output[site_count];  // by Site
  std::vector<Projection> projections;        // in order of site and offset
};

// Throws bad_shape naming the field, its value and what was expected.
void validate(const ModelConfig& config);

// Offsets into Parameters; -1 if the variant has no such tensor.
struct LayerOffsets {
  ptrdiff_t product[site_count];
  ptrdiff_t qkv_bias = -1, q_norm = -1, k_norm = -1;
  ptrdiff_t input_norm = -1, middle_norm = -1;               // before attention and before the MLP
  ptrdiff_t attention_output_norm = -1, mlp_output_norm = -1;  // after them
};

// A critic's head in its Parameters: value = weight·x + bias, named as in transformers' token classifiers.
struct ValueHeadOffsets {
  ptrdiff_t weight = -1, bias = -1;
  bool present() const { return weight >= 0; }
  void add(Parameters& parameters, const std::string& prefix, int hidden);
};

// cos and sin of every position used so far, [positions × frequencies].
class RopeTable {
 public:
  void ensure(int positions, const Rope& rope);
  const float* cosine() const { return cosine_.data(); }
  const float* sine() const { return sine_.data(); }
  // Dimensions of a head.
  int turned() const { return turned_; }

 private:
  int positions_ = 0, turned_ = 0;
  std::vector<float> cosine_, sine_;
};

// A matrix of a frozen model: rows of a packed one, or of the embedding if the head has another.
struct FrozenMatrix {
  TensorInfo info;
  const PackedMatrix* packed;  // null: the embedding
  int first_row;
  size_t size() const { return static_cast<size_t>(info.shape[0]) * info.shape[1]; }
};

struct PackedWeights {
  uint64_t version = 0;  // of the parameters they were made from; 0 = never
  std::vector<PackedMatrix> sites;  // [layer × site]
  PackedMatrix head;
};

class Model {
 public:
  Model(std::string name, const ModelConfig& config);
  // Frozen: its matrices exist only packed, as in the files.
  Model(std::string name, const ModelConfig& config, const std::vector<StoredTensor>& tensors, const Machine& machine);
  bool frozen() const { return !matrices_.empty(); }
  const std::vector<FrozenMatrix>& frozen_matrices() const { return matrices_; }
  // A frozen matrix, widened.
  void read_frozen(const FrozenMatrix& matrix, const Machine& machine, float* to) const;
  // The input of the first layer for a token, [hidden].
  void embed(int32_t token, const Machine& machine, float* to) const;
  size_t parameter_count() const;
  // Computes the angles of positions below `count`; forward passes read them.
  void prepare_positions(int count);
  // Repacks if the weights changed since the last time.
  void pack_forward(const Machine& machine);
  void pack_backward(const Machine& machine);
  const PackedMatrix& forward_matrix(int layer, Site site) const { return forward_.sites[index(layer, site)]; }
  const PackedMatrix& backward_matrix(int layer, Site site) const { return backward_.sites[index(layer, site)]; }
  const PackedMatrix& forward_head() const { return forward_.head; }
  const PackedMatrix& backward_head() const { return backward_.head; }
  // What the norm whose weights are at `offset` multiplies by.
  NormWeights norm(ptrdiff_t offset) const { return {parameters.weights() + offset, config.norm_offset}; }
  size_t bytes() const;
  // Of packed copies for both passes that do not exist yet.
  size_t unpacked_bytes() const;

  const std::string name;
  const ModelConfig config;
  const Shape shape;
  Parameters parameters;
  std::vector<LayerOffsets> layers;
  ptrdiff_t embedding = 0, final_norm = 0, head = -1;  // head = embedding if tied, -1 for a critic
  ValueHeadOffsets value_head;
  std::vector<RopeTable> ropes;
  std::shared_ptr<const TokenBytes> token_bytes;  // null until set; shared by models with the same bytes

 private:
  static size_t index(int layer, Site site) { return static_cast<size_t>(layer) * site_count + static_cast<int>(site); }
  void add_layer(int layer, bool with_matrices);
  void add_parameters(bool with_matrices);
  void pack_frozen(const std::vector<StoredTensor>& tensors, const Machine& machine);
  void turn(const Machine& machine);
  void pack(PackedWeights& to, bool transpose, const Machine& machine);
  PackedWeights forward_, backward_;
  std::vector<FrozenMatrix> matrices_;
  AlignedBuffer<uint16_t> frozen_embedding_;  // [vocabulary × hidden] of a frozen model whose head is another matrix
};

}  // namespace troupe
