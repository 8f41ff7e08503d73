#include "checks.h"

#include <cmath>

namespace troupe {

namespace {

std::string place(const Datum& datum, size_t index) {
  return "data[" + std::to_string(index) + "] (policy \"" + datum.policy + "\")";
}

void check_values(const std::vector<float>& values, const char* field, size_t expected, const std::string& where) {
  if (values.size() != expected) {
    throw EngineError("bad_shape", where + "." + field + " has " + std::to_string(values.size()) +
                                       " values, expected one for each of the " + std::to_string(expected) + " tokens");
  }
  for (size_t i = 0; i < values.size(); i++) {
    if (std::isfinite(values[i])) continue;
    throw EngineError("bad_arguments", where + "." + field + "[" + std::to_string(i) + "] is not a finite number");
  }
}

void check_loss_inputs(const Continuation& continuation, const Loss& loss, const std::string& where) {
  const size_t n = continuation.tokens.size();
  auto check = [&](const std::vector<float>& values, const char* field) { check_values(values, field, n, where); };
  if (!continuation.weights.empty()) check(continuation.weights, "weights");
  if (!continuation.mask.empty()) check(continuation.mask, "mask");
  if (loss.kind == LossKind::cross_entropy) return;
  if (loss.kind == LossKind::value) {
    check(continuation.targets, "targets");
    if (loss.value_clip > 0) check(continuation.values, "values");
    return;
  }
  check(continuation.advantages, "advantages");
  check(continuation.logprobs, "logprobs");
  const bool penalty = loss.kl != KlEstimator::none;
  if (penalty || !continuation.reference.empty()) check(continuation.reference, "reference");
  if (penalty) check(continuation.penalties, "penalties");
}

void check_head(const Policy& policy, const Loss& loss, const std::string& where) {
  const bool value = loss.kind == LossKind::value;
  if (policy.critic() == value) return;
  const char* what = value ? " is not a critic, so it has no values for the loss `value`; make it with a value head"
                           : " is a critic and has no log-probabilities; its loss is `value`";
  throw EngineError("bad_arguments", where + what);
}

// `where` names the tokens in messages.
void check_tokens(const std::vector<int32_t>& tokens, int vocab, const std::string& where) {
  if (tokens.empty()) throw EngineError("bad_shape", where + " is empty, expected at least one token");
  for (size_t i = 0; i < tokens.size(); i++) {
    if (tokens[i] >= 0 && tokens[i] < vocab) continue;
    throw EngineError("bad_token", where + "[" + std::to_string(i) + "] is " + std::to_string(tokens[i]) +
                                       ", expected a token id from 0 to " + std::to_string(vocab - 1));
  }
}

void check_length(size_t prompt, size_t more, int most, const std::string& where) {
  if (prompt + more <= static_cast<size_t>(most)) return;
  throw EngineError("too_long", where + ": " + std::to_string(prompt) + " prompt tokens and " + std::to_string(more) +
                                    " more are longer than the model's " + std::to_string(most) + " positions");
}

}  // namespace

void validate(const Datum& datum, size_t index, const Policy& policy, const Loss* loss) {
  const ModelConfig& config = policy.model->config;
  const std::string where = place(datum, index);
  if (loss) check_head(policy, *loss, where);
  check_tokens(datum.prompt, config.vocab, where + ".prompt");
  if (datum.continuations.empty()) throw EngineError("bad_shape", where + " has no continuations, expected at least one");
  for (size_t j = 0; j < datum.continuations.size(); j++) {
    const Continuation& continuation = datum.continuations[j];
    const std::string part = where + ".continuations[" + std::to_string(j) + "]";
    check_tokens(continuation.tokens, config.vocab, part + ".tokens");
    check_length(datum.prompt.size(), continuation.tokens.size(), config.max_positions, part);
    if (loss) check_loss_inputs(continuation, *loss, part);
  }
}

void check_top(int top, const Policy& policy) {
  const int vocab = policy.model->config.vocab;
  if (top < 0 || top > vocab) {
    throw EngineError("bad_arguments", "top is " + std::to_string(top) + ", expected 0 to " + std::to_string(vocab));
  }
  if (top > 0 && policy.critic()) throw EngineError("bad_arguments", "a critic has no most probable tokens");
}

void check_loss(const Loss& loss) {
  auto require = [](bool holds, const char* field, float value, const char* expected) {
    if (holds) return;
    throw EngineError("bad_arguments", std::string(field) + " is " + std::to_string(value) + ", expected " + expected);
  };
  for (float bound : {loss.clip_low, loss.clip_high}) {
    require(std::isfinite(bound) && bound >= 0, "a clip bound", bound, "at least 0");
  }
  const bool dual = loss.dual_clip == 0 || (std::isfinite(loss.dual_clip) && loss.dual_clip > 1);
  require(dual, "the dual clip", loss.dual_clip, "above 1 (0 = off)");
  require(std::isfinite(loss.entropy), "the entropy bonus", loss.entropy, "a finite number");
  const bool value = std::isfinite(loss.value_clip) && loss.value_clip >= 0;
  require(value, "the clip of values", loss.value_clip, "above 0 (0 = off)");
}

void validate(const SampleRequest& request, const Policy& policy) {
  const Model& model = *policy.model;
  const std::string where = "sampling from \"" + request.policy + "\"";
  if (policy.critic()) throw EngineError("bad_arguments", where + ": it is a critic, which has values and no tokens");
  auto require = [&](bool holds, const char* field, double value, const char* expected) {
    if (holds) return;
    throw EngineError("bad_arguments", where + ": " + field + " is " + std::to_string(value) + ", expected " + expected);
  };
  check_tokens(request.prompt, model.config.vocab, where + ": prompt");
  require(request.count >= 1, "count", request.count, "at least 1");
  require(request.max_tokens >= 1, "max_tokens", request.max_tokens, "at least 1");
  require(std::isfinite(request.temperature) && request.temperature >= 0, "temperature", request.temperature,
          "a finite number of at least 0 (0 = always the most probable token)");
  require(request.top_k >= 0, "top_k", request.top_k, "at least 0 (0 = off)");
  require(request.top_p > 0 && request.top_p <= 1, "top_p", request.top_p, "above 0 and at most 1 (1 = off)");
  check_length(request.prompt.size(), request.max_tokens, model.config.max_positions, where);
  if (!request.stop_tokens.empty()) check_tokens(request.stop_tokens, model.config.vocab, where + ": stop_tokens");
  for (const std::string& stop : request.stop_strings) {
    if (stop.empty()) throw EngineError("bad_arguments", where + ": a stop string is empty");
  }
  if (!request.stop_strings.empty() && model.token_bytes == nullptr) {
    throw EngineError("bad_arguments", where + ": stop strings need the bytes of the model's tokens, which were not set");
  }
}

}  // namespace troupe
