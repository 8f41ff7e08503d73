// Predicts how much memory work will take, before it is done: each size is that of a buffer of the engine.
#pragma once
#include "trainer.h"

namespace troupe {

// Bytes of gradients, moments and packed copies that the policies do not have yet. A model with adapters is their base.
size_t bytes_of_training(const Machine& machine, const Model& model, const std::vector<const Adapter*>& adapters,
                         bool is_policy, const WorkSize& work);

// Bytes of activations, logits and their gradients while a batch is trained on.
size_t bytes_of_batch(const Machine& machine, const Model& model, const std::vector<const Adapter*>& adapters,
                      const WorkSize& work);

// Bytes of prompts computed together, logits, keys and values.
size_t bytes_of_sampling(const Machine& machine, const Model& model, const WorkSize& work, size_t cache_limit);

}  // namespace troupe
