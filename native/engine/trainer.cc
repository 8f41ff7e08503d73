#include "trainer.h"

#include <algorithm>
#include <numeric>

namespace troupe {

size_t chunk_rows(const Model& model, bool backward) {
  constexpr size_t floats = size_t{1} << 27, most = 1024;
  if (!backward) return most;
  return std::clamp<size_t>(floats / Activations::floats_per_row(model), 256, most);
}

int training_shards(const Machine& machine, const Model& model, size_t rows) {
  // Half a gigabyte of the whole model's gradients, also if only an adapter is trained: the weights of larger models do
  // not stay in a core's cache. And enough rows for efficient products.
  constexpr size_t most_gradients = size_t{1} << 27, fewest_rows = 64;
  const size_t threads = machine.pool.threads();
  const bool fits = model.parameter_count() * threads <= most_gradients;
  return fits && rows >= threads * fewest_rows ? static_cast<int>(threads) : 1;
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

void ChunkRunner::run(const std::vector<Piece>& chunk, const Loss* loss, LossSums& total) {
  Model& model = *chunk.front().policy.model;
  const bool backward = loss != nullptr;
  fill(batch_, chunk);
  activations_.prepare(model, batch_, kept_of_layers(model, batch_.rows(), backward));
  GroupAttention attention(machine_, model, batch_.groups, batch_.continuations, batch_.rows());
  const Attend attend = [&](int index, LayerActivations& layer) { attention.forward(index, layer, backward); };
  forward_layers(machine_, model, batch_, activations_, attend);
  if (backward) scratch_.reserve_stream(model, batch_);
  float* d_stream = backward ? scratch_.d_stream.data() : nullptr;
  if (chunk.front().policy.critic()) {
    value_head_.run(machine_, model, batch_, activations_.output(), loss, d_stream, total);
  } else {
    head_.run(machine_, model, batch_, activations_.output(), loss, d_stream, total);
  }
  if (!backward) return;
  backward_layers(machine_, model, batch_, activations_, scratch_, attend,
                  [&](int index, LayerActivations& layer, const float* d_attended, float* d_qkv) {
                    attention.backward(index, layer, d_attended, d_qkv);
                  });
}

size_t ChunkRunner::bytes() const {
  return activations_.bytes() + scratch_.bytes() + head_.bytes() + value_head_.bytes();
}

namespace {

// Packs the policies and computes the angles of all positions, so that shards find them.
void prepare(const Machine& machine, const std::vector<Piece>& pieces, bool backward) {
  Model& model = *pieces.front().policy.model;
  model.pack_forward(machine);
  if (backward) model.pack_backward(machine);
  size_t positions = 0;
  for (const Piece& piece : pieces) {
    if (piece.policy.adapter) piece.policy.adapter->pack(machine);
    for (const Continuation& continuation : piece.datum->continuations) {
      positions = std::max(positions, piece.datum->prompt.size() + continuation.tokens.size());
    }
  }
  model.prepare_positions(static_cast<int>(positions));
}

// The pieces of each shard, in their order. The largest are placed first, each where the fewest rows are. One shard, if
// the longest would keep the other threads waiting.
std::vector<std::vector<Piece>> divide(const std::vector<Piece>& pieces, int shards) {
  if (shards == 1) return {pieces};
  std::vector<size_t> order(pieces.size()), rows(shards), place(pieces.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return piece_rows(pieces[a]) > piece_rows(pieces[b]); });
  for (size_t i : order) {
    place[i] = std::min_element(rows.begin(), rows.end()) - rows.begin();
    rows[place[i]] += piece_rows(pieces[i]);
  }
  const size_t total = std::accumulate(rows.begin(), rows.end(), size_t{0});
  if (*std::max_element(rows.begin(), rows.end()) * shards > total + total / 4) return {pieces};
  std::vector<std::vector<Piece>> parts(shards);
  for (size_t i = 0; i < pieces.size(); i++) parts[place[i]].push_back(pieces[i]);
  return parts;
}

}  // namespace

void Trainer::run_shards(const std::vector<Piece>& pieces, const std::vector<std::vector<Piece>>& parts,
                         const Loss* loss, LossSums& total, const std::function<void()>& check) {
  const int shards = static_cast<int>(parts.size());
  whole_.reset();
  for (int i = static_cast<int>(shards_.size()); i < shards; i++) {
    shards_.push_back(std::make_unique<Shard<ChunkRunner>>(machine_, i));
  }
  if (loss) {
    for (const Piece& piece : pieces) piece.policy.parameters().prepare_shards(shards);
  }
  std::vector<LossSums> sums(shards);
  machine_.pool.parallel(shards, 1, [&](int begin, int end, int) {
    for (int i = begin; i < end; i++) {
      for (const std::vector<Piece>& chunk : plan_chunks(parts[i], shard_rows)) {
        check();
        shards_[i]->work.run(chunk, loss, sums[i]);
      }
    }
  });
  for (const LossSums& each : sums) total.add(each);
  if (!loss) return;
  for (size_t i = 0; i < pieces.size(); i++) {
    if (i == 0 || !(pieces[i].policy == pieces[i - 1].policy)) pieces[i].policy.parameters().add_shards(machine_);
  }
}

void Trainer::run_whole(const std::vector<Piece>& pieces, const Loss* loss, LossSums& total,
                        const std::function<void()>& check) {
  shards_.clear();
  if (!whole_) whole_ = std::make_unique<ChunkRunner>(machine_);
  for (const std::vector<Piece>& chunk : plan_chunks(pieces, chunk_rows(*pieces[0].policy.model, loss != nullptr))) {
    check();
    whole_->run(chunk, loss, total);
  }
}

LossResult Trainer::run(const std::vector<Datum>& data, const std::vector<Policy>& policies, const Loss* loss, int top,
                        const std::atomic<bool>& cancel) {
  LossResult result;
  result.top = top;
  const auto check = [&] {
    if (cancel.load()) throw EngineError("cancelled", std::string(loss ? "forward_backward" : "forward") + " cancelled");
  };
  const std::vector<Piece> pieces = sort_by_policy(data, policies, result);
  for (size_t begin = 0; begin < pieces.size();) {
    const Policy& first = pieces[begin].policy;
    size_t end = begin, rows = 0;
    for (; end < pieces.size() && together(pieces[end].policy, first); end++) rows += piece_rows(pieces[end]);
    // Not cut smaller for shards: each piece computes its prompt.
    const size_t most = chunk_rows(*first.model, loss != nullptr);
    const std::vector<Piece> of_model = cut_pieces({pieces.begin() + begin, pieces.begin() + end}, most);
    prepare(machine_, of_model, loss != nullptr);
    const auto parts = divide(of_model, training_shards(machine_, *first.model, rows));
    if (parts.size() > 1) {
      run_shards(of_model, parts, loss, result, check);
    } else {
      run_whole(of_model, loss, result, check);
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
  size_t total = whole_ ? whole_->bytes() : 0;
  for (const auto& shard : shards_) total += shard->work.bytes();
  return total;
}

}  // namespace troupe
