#include "engine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "checks.h"
#include "memory.h"
#include "optimizer.h"
#include "sampler.h"
#include "stored.h"
#include "trainer.h"

namespace troupe {

namespace {

int thread_count(int asked) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

[[noreturn]] void refuse(const std::string& message) { throw EngineError("bad_arguments", message); }

void check_size(const std::string& policy, const TensorView& view, size_t n) {
  if (n == view.size) return;
  std::string shape;
  for (int extent : view.info.shape) shape += (shape.empty() ? "" : " × ") + std::to_string(extent);
  throw EngineError("bad_shape", "policy \"" + policy + "\": tensor \"" + view.info.name + "\" has " +
                                     std::to_string(view.size) + " values (" + shape + "), not " + std::to_string(n));
}

}  // namespace

struct Engine::State {
  State(int threads, Precision precision, size_t cache_limit)
      : pool(thread_count(threads)), machine{best_kernels(), pool, precision}, trainer(machine),
        sampler(machine, cache_limit) {}

  Policy find(const std::string& name) const {
    if (auto model = models.find(name); model != models.end()) return {model->second.get(), nullptr};
    auto adapter = adapters.find(name);
    if (adapter != adapters.end()) return {&adapter->second->model, adapter->second.get()};
    refuse("unknown policy \"" + name + "\"" + known());
  }

  std::string known() const {
    std::string names;
    for (const auto& [name, model] : models) names += (names.empty() ? "" : ", ") + ("\"" + name + "\"");
    for (const auto& [name, adapter] : adapters) names += ", \"" + name + "\"";
    return names.empty() ? "; the engine holds none" : ", expected one of " + names;
  }

  void check_new(const std::string& name) const {
    if (name.empty()) refuse("a policy's name is empty");
    if (models.count(name) || adapters.count(name)) refuse("there is a policy \"" + name + "\" already");
  }

  std::shared_ptr<const TokenBytes> shared(TokenBytes bytes) const {
    for (const auto& [name, model] : models) {
      if (model->token_bytes && *model->token_bytes == bytes) return model->token_bytes;
    }
    return std::make_shared<const TokenBytes>(std::move(bytes));
  }

  // Call before weights change. Sequences in progress would mix two sets of them.
  void begin_change(const Policy& policy, const char* what) {
    if (sampler.holds(policy)) {
      throw EngineError("internal", std::string(what) + " of policy \"" + policy.name() + "\" while it is being sampled");
    }
    sampler.drop_kept(policy);
  }

  void check_trainable(const Policy& policy) const {
    if (!policy.adapter && policy.model->frozen()) refuse("the model \"" + policy.name() + "\" is frozen: train an adapter on it");
  }

  ThreadPool pool;
  Machine machine;
  std::map<std::string, std::unique_ptr<Model>> models;
  std::map<std::string, std::unique_ptr<Adapter>> adapters;  // after models: they reference them
  Trainer trainer;
  Sampler sampler;
};

Engine::Engine(int threads, Precision precision, size_t cache_limit)
    : state_(std::make_unique<State>(threads, precision, cache_limit)) {}
Engine::~Engine() = default;

const char* Engine::kernels() const { return state_->machine.kernels.name; }
int Engine::threads() const { return state_->pool.threads(); }
Precision Engine::precision() const { return state_->machine.precision; }

void Engine::add_model(const std::string& name, const ModelConfig& config) {
  state_->check_new(name);
  state_->models.emplace(name, std::make_unique<Model>(name, config));
}

void Engine::add_frozen_model(const std::string& name, const ModelConfig& config,
                              const std::vector<StoredTensor>& tensors) {
  state_->check_new(name);
  state_->models.emplace(name, std::make_unique<Model>(name, config, tensors, state_->machine));
}

void Engine::add_adapter(const std::string& name, const std::string& model, const AdapterConfig& config) {
  state_->check_new(name);
  auto found = state_->models.find(model);
  if (found == state_->models.end()) refuse("adapter \"" + name + "\": there is no model \"" + model + "\"");
  state_->adapters.emplace(name, std::make_unique<Adapter>(name, *found->second, config));
}

void Engine::remove(const std::string& name) {
  const Policy policy = state_->find(name);
  if (state_->sampler.uses(policy)) refuse("policy \"" + name + "\" is being sampled; wait for it, or cancel");
  state_->sampler.drop_kept(policy);
  if (policy.adapter) {
    state_->adapters.erase(name);
    return;
  }
  for (const auto& [other, adapter] : state_->adapters) {
    if (&adapter->model == policy.model) refuse("remove adapter \"" + other + "\" before its model \"" + name + "\"");
  }
  state_->sampler.forget(*policy.model);
  state_->models.erase(name);
}

std::vector<TensorInfo> Engine::tensors(const std::string& policy) const {
  std::vector<TensorInfo> infos;
  const Policy found = state_->find(policy);
  for (const TensorView& view : found.parameters().views()) infos.push_back(view.info);
  if (found.adapter) return infos;
  for (const FrozenMatrix& matrix : found.model->frozen_matrices()) infos.push_back(matrix.info);
  return infos;
}

void Engine::read_tensor(const std::string& policy, TensorKind kind, const std::string& name, float* to,
                         size_t n) const {
  const Policy found = state_->find(policy);
  const Parameters& parameters = found.parameters();
  if (const FrozenMatrix* matrix = found.frozen(name); matrix && kind == TensorKind::weight) {
    check_size(policy, {matrix->info, 0, matrix->size()}, n);
    return found.model->read_frozen(*matrix, state_->machine, to);
  }
  const TensorView& view = parameters.view(policy, name);
  check_size(policy, view, n);
  const float* values = parameters.existing(kind);
  if (values) {
    std::copy_n(values + view.offset, n, to);
  } else {
    std::fill_n(to, n, 0.0f);
  }
}

void Engine::write_tensor(const std::string& policy, TensorKind kind, const std::string& name, const float* from,
                          size_t n) {
  const Policy found = state_->find(policy);
  Parameters& parameters = found.parameters();
  const TensorView& view = parameters.view(policy, name);
  check_size(policy, view, n);
  if (kind == TensorKind::weight) {
    state_->begin_change(found, "weights written");
    parameters.changed();
  }
  std::copy_n(from, n, parameters.values(kind) + view.offset);
}

void Engine::load_tensors(const std::string& policy, const std::vector<StoredTensor>& tensors) {
  const Policy found = state_->find(policy);
  Parameters& parameters = found.parameters();
  state_->begin_change(found, "weights loaded");
  const StoredFiles files(tensors);
  parameters.changed();
  for (const StoredTensor& tensor : tensors) {
    const TensorView& view = parameters.view(policy, tensor.name);
    files.read_widened(tensor, view.size, parameters.weights() + view.offset, state_->pool);
  }
}

int64_t Engine::step_count(const std::string& policy) const { return state_->find(policy).parameters().steps; }

void Engine::set_step_count(const std::string& policy, int64_t steps) {
  if (steps < 0) refuse("policy \"" + policy + "\": a step count of " + std::to_string(steps) + ", expected at least 0");
  state_->find(policy).parameters().steps = steps;
}

void Engine::set_token_bytes(const std::string& model, TokenBytes bytes) {
  const Policy policy = state_->find(model);
  if (policy.adapter) refuse("token bytes belong to a model, and \"" + model + "\" is an adapter");
  if (bytes.size() != static_cast<size_t>(policy.model->config.vocab)) {
    throw EngineError("bad_shape", "model \"" + model + "\": bytes of " + std::to_string(bytes.size()) +
                                       " tokens, expected one for each of " +
                                       std::to_string(policy.model->config.vocab));
  }
  if (state_->sampler.uses(policy)) refuse("token bytes of \"" + model + "\" changed while it is being sampled");
  policy.model->token_bytes = state_->shared(std::move(bytes));
}

LossResult Engine::forward(const std::vector<Datum>& data, const std::atomic<bool>& cancel, int top) {
  std::vector<Policy> policies;
  for (const Datum& datum : data) policies.push_back(state_->find(datum.policy));
  for (size_t i = 0; i < data.size(); i++) validate(data[i], i, policies[i], nullptr);
  for (const Policy& policy : policies) check_top(top, policy);
  return state_->trainer.forward(data, policies, top, cancel);
}

LossResult Engine::forward_backward(const std::vector<Datum>& data, const Loss& loss, const std::atomic<bool>& cancel) {
  std::vector<Policy> policies;
  for (const Datum& datum : data) policies.push_back(state_->find(datum.policy));
  for (size_t i = 0; i < data.size(); i++) validate(data[i], i, policies[i], &loss);
  for (const Policy& policy : policies) state_->check_trainable(policy);
  check_loss(loss);
  return state_->trainer.forward_backward(data, policies, loss, cancel);
}

StepResult Engine::optimizer_step(const std::string& policy, const AdamParameters& adam) {
  const Policy found = state_->find(policy);
  state_->check_trainable(found);
  state_->begin_change(found, "optimizer step");
  return adam_step(state_->machine, policy, found.parameters(), adam);
}

void Engine::zero_gradients(const std::string& policy) { state_->find(policy).parameters().zero_gradient(); }

void Engine::submit(SampleRequest request, std::shared_ptr<std::atomic<bool>> cancel, SampleDone done,
                    SampleFailed failed) {
  auto job = std::make_shared<SampleJob>();
  job->policy = state_->find(request.policy);
  validate(request, job->policy);
  job->results.resize(request.count);
  job->unfinished = request.count;
  for (const std::string& stop : request.stop_strings) job->longest_stop = std::max(job->longest_stop, stop.size());
  job->request = std::move(request);
  job->cancel = std::move(cancel);
  job->done = std::move(done);
  job->failed = std::move(failed);
  state_->sampler.submit(std::move(job));
}

void Engine::sample_step() { state_->sampler.step(); }
bool Engine::idle() const { return state_->sampler.idle(); }
PromptTokens Engine::prompt_tokens() const { return state_->sampler.prompt_tokens(); }

size_t Engine::predict_bytes(const WorkSize& work) const {
  size_t training = 0, batch = 0, sampling = 0;
  for (const auto& [name, model] : state_->models) {
    std::vector<const Adapter*> adapters;
    for (const auto& [other, adapter] : state_->adapters) {
      if (&adapter->model == model.get()) adapters.push_back(adapter.get());
    }
    training += bytes_of_training(state_->machine, *model, adapters, adapters.empty(), work);
    batch = std::max(batch, bytes_of_batch(state_->machine, *model, adapters, work));
    sampling = std::max(sampling, bytes_of_sampling(state_->machine, *model, work, state_->sampler.cache_limit()));
  }
  const size_t held = state_->trainer.bytes() + state_->sampler.bytes();
  return training + std::max(batch + sampling, held) - held;
}

size_t Engine::memory_bytes() const {
  size_t total = state_->trainer.bytes() + state_->sampler.bytes();
  for (const auto& [name, model] : state_->models) total += model->bytes();
  for (const auto& [name, adapter] : state_->adapters) total += adapter->bytes();
  return total;
}

}  // namespace troupe
