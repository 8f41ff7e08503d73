// A policy is a model, or an adapter on one.
#pragma once
#include "adapter.h"

namespace troupe {

struct Policy {
  Model* model = nullptr;
  Adapter* adapter = nullptr;  // null: the model itself
  Parameters& parameters() const { return adapter ? adapter->parameters : model->parameters; }
  const std::string& name() const { return adapter ? adapter->name : model->name; }
  // Has values instead of log-probabilities.
  bool critic() const { return adapter ? adapter->value_head.present() : model->value_head.present(); }
  const ValueHeadOffsets& value_head() const { return adapter ? adapter->value_head : model->value_head; }
  // The model's frozen matrix of this name; null: there is none.
  const FrozenMatrix* frozen(const std::string& tensor) const {
    if (adapter) return nullptr;
    for (const FrozenMatrix& matrix : model->frozen_matrices()) {
      if (matrix.info.name == tensor) return &matrix;
    }
    return nullptr;
  }
  bool operator==(const Policy& other) const { return model == other.model && adapter == other.adapter; }
};

}  // namespace troupe
