#include "prefixes.h"

#include <algorithm>
#include <new>

namespace troupe {

namespace {

int common_length(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  const size_t shorter = std::min(a.size(), b.size());
  return static_cast<int>(std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin());
}

}  // namespace

KeptSequences::Key KeptSequences::key(const Policy& policy, const std::vector<int32_t>& tokens) {
  return {policy.model->parameters.version, policy.adapter ? policy.adapter->parameters.version : 0, tokens};
}

void KeptSequences::keep(const Policy& policy, const std::vector<int32_t>& tokens, KeptSequence sequence) {
  const auto [at, is_new] = sequences_.try_emplace(key(policy, tokens));
  try {
    used(at);
  } catch (const std::bad_alloc&) {
    sequences_.erase(at);
    throw;
  }
  sequence.used = at->second.used;
  at->second = std::move(sequence);
  if (!is_new || at == sequences_.begin()) return;
  const auto before = std::prev(at);
  const auto& [model, adapter, begun] = before->first;
  const bool same_weights = model == std::get<0>(at->first) && adapter == std::get<1>(at->first);
  if (same_weights && common_length(begun, tokens) == static_cast<int>(begun.size())) erase(before);
}

// Throws bad_alloc only for one that was never used.
void KeptSequences::used(Place at) {
  auto node = by_use_.extract(at->second.used);
  at->second.used = ++clock_;
  if (node.empty()) {
    by_use_.emplace(clock_, at);
  } else {
    node.key() = clock_;
    by_use_.insert(by_use_.end(), std::move(node));
  }
}

KeptSequences::Place KeptSequences::erase(Place at) {
  by_use_.erase(at->second.used);
  return sequences_.erase(at);
}

// Of sorted sequences, the one with the longest common prefix is next to the place of the prompt.
Prefix KeptSequences::find(const Policy& policy, const std::vector<int32_t>& prompt) {
  Prefix longest;
  if (sequences_.empty()) return longest;
  const Key wanted = key(policy, prompt);
  const auto after = sequences_.lower_bound(wanted);
  Place found = sequences_.end();
  auto compare = [&](const auto& place) {
    const auto& [model, adapter, tokens] = place->first;
    if (model != std::get<0>(wanted) || adapter != std::get<1>(wanted)) return;
    const int common = common_length(tokens, prompt);
    if (common <= longest.positions) return;
    longest.positions = common;
    found = place;
  };
  if (after != sequences_.end()) compare(after);
  if (after != sequences_.begin()) compare(std::prev(after));
  if (found == sequences_.end()) return longest;
  used(found);
  longest.of = found->second;
  return longest;
}

bool KeptSequences::drop_oldest() {
  if (by_use_.empty()) return false;
  erase(by_use_.begin()->second);
  return true;
}

void KeptSequences::drop(const Policy& policy) {
  const uint64_t version = policy.parameters().version;
  for (auto at = sequences_.begin(); at != sequences_.end();) {
    const auto& [model, adapter, tokens] = at->first;
    at = (policy.adapter ? adapter : model) == version ? erase(at) : std::next(at);
  }
}

std::shared_ptr<PromptCache> begin_prompt(CachePool& pool, const ModelConfig& config, const Prefix& prefix, int positions) {
  const std::shared_ptr<PromptCache>& kept = prefix.of.prompt;
  if (kept && kept->positions == positions && prefix.positions == positions) return kept;
  auto prompt = std::make_shared<PromptCache>(pool, config, positions);
  if (!kept) return prompt;
  const int shared = std::min(prefix.positions, kept->positions);
  prompt->cache.copy(kept->cache, shared, 0);
  if (prefix.positions > shared) prompt->cache.copy(*prefix.of.own, prefix.positions - shared, shared);
  prompt->computed = prefix.positions;
  return prompt;
}

}  // namespace troupe
