// A policy is a model, or an adapter on one.
#pragma once
#include "adapter.h"

namespace troupe {

struct Policy {
  Model* model = nullptr;
  Adapter* adapter = nullptr;  // null: the model itself
  Parameters& parameters() const { return adapter ? adapter->parameters : model->parameters; }
  const std::string& name() const { return adapter ? adapter->name : model->name; }
  bool operator==(const Policy& other) const { return model == other.model && adapter == other.adapter; }
};

}  // namespace troupe
