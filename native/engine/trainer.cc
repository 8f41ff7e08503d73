#include "trainer.h"

#include <algorithm>

namespace troupe {

size_t chunk_rows(const Model& model, bool backward) {
  constexpr size_t floats = size_t{1} << 27, most = 1024;
  if (!backward) return most;
  return std::clamp<size_t>(floats / Activations::floats_per_row(model), 256, most);
}

Keep kept_of_layers(const Model& model, int rows, bool backward) {
  if (!backward) return Keep::none;
  return static_cast<size_t>(rows) > 2 * chunk_rows(model, true) ? Keep::inputs : Keep::all;
}

namespace {

// Policies that can be computed together: of one model, and all or none of them critics.
bool together(const Policy& a, const Policy& b) { return a.model == b.model && a.critic() == b.critic(); }

// One piece per datum; those of one policy are adjacent, and so are those that can be computed together, in the order
// in which policies first occur.
std::vector<Piece> sort_by_policy(const std::vector<Datum>& data, const std::vector<Policy>& policies,
                                  LossResult& result) {
  std::vector<size_t> first_output(data.size());
  for (size_t i = 0; i < data.size(); i++) {
    first_output[i] = result.outputs.size();
    for (const Continuation& continuation : data[i].continuations) {
      const size_t tokens = continuation.tokens.size();
      result.outputs.emplace_back(tokens);
      result.top_tokens.emplace_back(tokens * result.top);
      result.top_logprobs.emplace_back(tokens * result.top);
    }
  }
  auto rank = [&](auto same) {
    std::vector<size_t> first(data.size());
    for (size_t i = 0; i < data.size(); i++) {
      first[i] = std::find_if(policies.begin(), policies.end(), [&](const Policy& p) { return same(p, policies[i]); }) -
                 policies.begin();
    }
    return first;
  };
  const auto model_rank = rank(together);
  const auto policy_rank = rank([](const Policy& a, const Policy& b) { return a == b; });
  std::vector<Piece> pieces;
  for (size_t i = 0; i < data.size(); i++) {
    pieces.push_back({&data[i], policies[i], i, 0, data[i].continuations.size(), &result, first_output[i]});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
    return std::pair(model_rank[a.datum_index], policy_rank[a.datum_index]) <
           std::pair(model_rank[b.datum_index], policy_rank[b.datum_index]);
  });
  return pieces;
}

void zero_gradients(const std::vector<Policy>& policies) {
  for (const Policy& policy : policies) policy.parameters().zero_gradient();
}

}  // namespace

void Trainer::run_chunk(const std::vector<Piece>& chunk, const Loss* loss, LossResult& result) {
  Model& model = *chunk.front().policy.model;
  const bool backward = loss != nullptr;
  model.pack_forward(machine_);
  if (backward) model.pack_backward(machine_);
  for (const Piece& piece : chunk) {
    if (piece.policy.adapter) piece.policy.adapter->pack(machine_);
  }
  fill(batch_, chunk);
  activations_.prepare(model, batch_, kept_of_layers(model, batch_.rows(), backward));
  GroupAttention attention(machine_, model, batch_.groups, batch_.continuations, batch_.rows());
  const Attend attend = [&](int index, LayerActivations& layer) { attention.forward(index, layer, backward); };
  forward_layers(machine_, model, batch_, activations_, attend);
  if (backward) scratch_.reserve_stream(model, batch_);
  float* d_stream = backward ? scratch_.d_stream.data() : nullptr;
  if (chunk.front().policy.critic()) {
    value_head_.run(machine_, model, batch_, activations_.output(), loss, d_stream, result);
  } else {
    head_.run(machine_, model, batch_, activations_.output(), loss, d_stream, result);
  }
  if (!backward) return;
  backward_layers(machine_, model, batch_, activations_, scratch_, attend,
                  [&](int index, LayerActivations& layer, const float* d_attended, float* d_qkv) {
                    attention.backward(index, layer, d_attended, d_qkv);
                  });
}

LossResult Trainer::run(const std::vector<Datum>& data, const std::vector<Policy>& policies, const Loss* loss, int top,
                        const std::atomic<bool>& cancel) {
  LossResult result;
  result.top = top;
  const std::vector<Piece> pieces = sort_by_policy(data, policies, result);
  for (size_t begin = 0; begin < pieces.size();) {
    const Policy& first = pieces[begin].policy;
    size_t end = begin;
    while (end < pieces.size() && together(pieces[end].policy, first)) end++;
    const std::vector<Piece> of_model(pieces.begin() + begin, pieces.begin() + end);
    for (const std::vector<Piece>& chunk : plan_chunks(of_model, chunk_rows(*first.model, loss != nullptr))) {
      if (cancel.load()) throw EngineError("cancelled", std::string(loss ? "forward_backward" : "forward") + " cancelled");
      run_chunk(chunk, loss, result);
    }
    begin = end;
  }
  return result;
}

LossResult Trainer::forward(const std::vector<Datum>& data, const std::vector<Policy>& policies, int top,
                            const std::atomic<bool>& cancel) {
  return run(data, policies, nullptr, top, cancel);
}

LossResult Trainer::forward_backward(const std::vector<Datum>& data, const std::vector<Policy>& policies,
                                     const Loss& loss, const std::atomic<bool>& cancel) {
  try {
    for (const Policy& policy : policies) policy.parameters().gradient();
    return run(data, policies, &loss, 0, cancel);
  } catch (const EngineError& error) {
    zero_gradients(policies);
    throw EngineError(error.code, std::string(error.what()) + " (the gradients of its policies are zero now)");
  } catch (...) {
    zero_gradients(policies);
    throw;
  }
}

size_t Trainer::bytes() const { 
  return activations_.bytes() + scratch_.bytes() + head_.bytes() + value_head_.bytes();
}

}  // namespace troupe
