#include "engine_object.h"

#include "results.h"

namespace troupe {

namespace {

constexpr JobId kClosed = 0;  // the job that `close` waits for; ids from JavaScript start at 1
constexpr int64_t kLargestInteger = (int64_t{1} << 53) - 1;

Argument argument(const Napi::CallbackInfo& info, size_t i, const char* name) { return {info[i], name}; }

JobId job_id(const Napi::CallbackInfo& info) {
  return static_cast<JobId>(argument(info, 0, "job").integer(1, kLargestInteger));
}

std::string counted(const char* verb, const std::vector<Datum>& data) {
  size_t sequences = 0, tokens = 0;
  for (const Datum& datum : data) {
    tokens += datum.prompt.size();
    sequences += datum.continuations.size();
    for (const Continuation& continuation : datum.continuations) tokens += continuation.tokens.size();
  }
  return std::string(verb) + " of " + std::to_string(sequences) + " sequences (" + std::to_string(tokens) + " tokens)";
}

// 0 for a missing tensor: the engine reports it.
size_t elements(const Engine& engine, const std::string& policy, const std::string& name) {
  for (const TensorInfo& tensor : engine.tensors(policy)) {
    if (tensor.name != name) continue;
    size_t product = 1;
    for (int size : tensor.shape) product *= static_cast<size_t>(size);
    return product;
  }
  return 0;
}

}  // namespace

template <Napi::Value (EngineObject::*method)(const Napi::CallbackInfo&)>
Napi::Value EngineObject::guarded(const Info& info) {
  try {
    return (this->*method)(info);
  } catch (const Napi::Error&) {
    throw;
  } catch (const EngineError& error) {
    throw coded_error(info.Env(), {error.code, error.what()});
  } catch (const std::bad_alloc&) {
    throw coded_error(info.Env(), {"no_memory", "There was not enough memory to copy the arguments for the engine."});
  } catch (const std::exception& error) {
    throw coded_error(info.Env(), {"internal", error.what()});
  }
}

EngineObject::EngineObject(const Info& info) : ObjectWrap(info), env_(info.Env()) {
  try {
    int threads = static_cast<int>(argument(info, 0, "threads").integer(0, 4096));
    Precision wanted = precision(argument(info, 1, "precision"));
    size_t cache_limit = static_cast<size_t>(argument(info, 2, "cacheBytes").integer(0, kLargestInteger));
    std::shared_ptr<Bridge> bridge = Bridge::open(info.Env());
    auto finished = [bridge](JobId id, std::optional<JobError> error) { bridge->finished(id, std::move(error)); };
    try {
      worker_ = std::make_unique<Worker>(threads, wanted, cache_limit, finished,
                                         [bridge] { bridge->finished(kClosed, std::nullopt); });
    } catch (...) {
      bridge->close();
      throw;
    }
    bridge_ = bridge;
    napi_add_env_cleanup_hook(env_, shut_down, this);
  } catch (const EngineError& error) {
    throw coded_error(info.Env(), {error.code, error.what()});
  } catch (const std::bad_alloc&) {
    throw coded_error(info.Env(), {"no_memory", "There was not enough memory to start the engine."});
  } catch (const std::system_error& error) {
    throw coded_error(info.Env(), {"no_engine", std::string("The engine's threads did not start: ") + error.what()});
  }
}

EngineObject::~EngineObject() {
  if (!bridge_) return;
  napi_remove_env_cleanup_hook(env_, shut_down, this);
  worker_.reset();
  bridge_->close();
}

// Runs before the threadsafe function is torn down, because that was created first.
void EngineObject::shut_down(void* self) {
  EngineObject* object = static_cast<EngineObject*>(self);
  object->worker_.reset();
  object->bridge_.reset();
}

template <typename Result>
Napi::Value EngineObject::submit(const Info& info, Job job, std::shared_ptr<Result> result) {
  if (!bridge_) throw EngineError("bad_arguments", job.what + " was asked of an engine that is closed.");
  JobId id = job.id;
  auto value = [result](Napi::Env env) { return to_javascript(env, *result); };
  Napi::Promise promise = bridge_->expect(info.Env(), id, value);
  try {
    worker_->submit(std::move(job));
  } catch (...) {
    bridge_->forget(info.Env(), id);
    throw;
  }
  return promise;
}

template <typename Work>
Napi::Value EngineObject::run(const Info& info, std::string what, Work work) {
  using Result = decltype(work(std::declval<Engine&>(), std::declval<const std::atomic<bool>&>()));
  auto result = std::make_shared<Result>();
  Job job;
  job.id = job_id(info);
  job.what = std::move(what);
  job.run = [result, work = std::move(work)](Engine& engine, const std::atomic<bool>& cancel) {
    *result = work(engine, cancel);
  };
  return submit(info, std::move(job), result);
}

Napi::Value EngineObject::description(const Info& info) {
  if (!worker_) throw EngineError("bad_arguments", "The engine is closed.");
  Napi::Object description = Napi::Object::New(info.Env());
  description.Set("kernels", worker_->kernels());
  description.Set("threads", worker_->threads());
  description.Set("precision", worker_->precision() == Precision::bfloat16 ? "bfloat16" : "float32");
  return description;
}

Napi::Value EngineObject::memory_bytes(const Info& info) {
  return Napi::Number::New(info.Env(), worker_ ? static_cast<double>(worker_->memory_bytes()) : 0.0);
}

Napi::Value EngineObject::prompt_tokens(const Info& info) {
  const PromptTokens tokens = worker_ ? worker_->prompt_tokens() : PromptTokens{};
  Napi::Object counts = Napi::Object::New(info.Env());
  counts.Set("computed", static_cast<double>(tokens.computed));
  counts.Set("reused", static_cast<double>(tokens.reused));
  return counts;
}

Napi::Value EngineObject::cancel(const Info& info) {
  if (worker_) worker_->cancel(job_id(info));
  return info.Env().Undefined();
}

// Resolves once the engine's thread has ended and its memory is freed. Called once.
Napi::Value EngineObject::close(const Info& info) {
  if (!bridge_) throw EngineError("bad_arguments", "The engine is closed already.");
  std::shared_ptr<Bridge> bridge = std::move(bridge_);
  bridge_.reset();
  Ref();
  Napi::Promise promise = bridge->expect(info.Env(), kClosed, [this, bridge](Napi::Env env) -> Napi::Value {
    napi_remove_env_cleanup_hook(env, shut_down, this);
    worker_.reset();
    bridge->close();
    Unref();
    return env.Undefined();
  });
  worker_->stop();
  return promise;
}

Napi::Value EngineObject::add_model(const Info& info) {
  std::string name = argument(info, 1, "name").text();
  ModelConfig config = model_config(argument(info, 2, "config"));
  return run(info, "Adding the model " + name, [name, config](Engine& engine, const std::atomic<bool>&) {
    engine.add_model(name, config);
    return engine.tensors(name);
  });
}

Napi::Value EngineObject::add_frozen_model(const Info& info) {
  std::string name = argument(info, 1, "name").text();
  ModelConfig config = model_config(argument(info, 2, "config"));
  std::vector<StoredTensor> tensors = stored_tensors(argument(info, 3, "tensors"));
  return run(info, "Loading the model " + name, [name, config, tensors](Engine& engine, const std::atomic<bool>&) {
    engine.add_frozen_model(name, config, tensors);
    return engine.tensors(name);
  });
}

Napi::Value EngineObject::load_tensors(const Info& info) {
  std::string policy = argument(info, 1, "policy").text();
  std::vector<StoredTensor> tensors = stored_tensors(argument(info, 2, "tensors"));
  return run(info, "Loading the weights of " + policy, [policy, tensors](Engine& engine, const std::atomic<bool>&) {
    engine.load_tensors(policy, tensors);
    return Nothing();
  });
}

Napi::Value EngineObject::predict_memory(const Info& info) {
  const Argument given = argument(info, 1, "work");
  const WorkSize work{static_cast<size_t>(given["tokens"].count()), static_cast<size_t>(given["prompts"].count()),
                      static_cast<size_t>(given["longest"].count()),
                      static_cast<size_t>(given["sequences"].count())};
  return run(info, "Predicting memory", [work](Engine& engine, const std::atomic<bool>&) {
    return static_cast<int64_t>(engine.predict_bytes(work));
  });
}

Napi::Value EngineObject::add_adapter(const Info& info) {
  std::string name = argument(info, 1, "name").text(), model = argument(info, 2, "model").text();
  AdapterConfig config = adapter_config(argument(info, 3, "config"));
  return run(info, "Adding the adapter " + name, [name, model, config](Engine& engine, const std::atomic<bool>&) {
    engine.add_adapter(name, model, config);
    return engine.tensors(name);
  });
}

Napi::Value EngineObject::remove(const Info& info) {
  std::string policy = argument(info, 1, "policy").text();
  return run(info, "Removing " + policy, [policy](Engine& engine, const std::atomic<bool>&) {
    engine.remove(policy);
    return Nothing();
  });
}

Napi::Value EngineObject::read_tensor(const Info& info) {
  std::string policy = argument(info, 1, "policy").text(), name = argument(info, 3, "name").text();
  TensorKind kind = tensor_kind(argument(info, 2, "kind"));
  return run(info, "Reading " + name, [policy, name, kind](Engine& engine, const std::atomic<bool>&) {
    std::vector<float> values(elements(engine, policy, name));
    engine.read_tensor(policy, kind, name, values.data(), values.size());
    return values;
  });
}

Napi::Value EngineObject::write_tensor(const Info& info) {
  std::string policy = argument(info, 1, "policy").text(), name = argument(info, 3, "name").text();
  TensorKind kind = tensor_kind(argument(info, 2, "kind"));
  auto values = std::make_shared<std::vector<float>>(argument(info, 4, "values").float_vector());
  std::string what = "Writing " + name + " (" + std::to_string(values->size() * sizeof(float)) + " bytes)";
  return run(info, what, [policy, name, kind, values](Engine& engine, const std::atomic<bool>&) {
    engine.write_tensor(policy, kind, name, values->data(), values->size());
    return Nothing();
  });
}

Napi::Value EngineObject::step_count(const Info& info) {
  std::string policy = argument(info, 1, "policy").text();
  return run(info, "Reading the step count", [policy](Engine& engine, const std::atomic<bool>&) {
    return engine.step_count(policy);
  });
}

Napi::Value EngineObject::set_step_count(const Info& info) {
  std::string policy = argument(info, 1, "policy").text();
  int64_t count = argument(info, 2, "count").integer(0, kLargestInteger);
  return run(info, "Setting the step count", [policy, count](Engine& engine, const std::atomic<bool>&) {
    engine.set_step_count(policy, count);
    return Nothing();
  });
}

Napi::Value EngineObject::set_token_bytes(const Info& info) {
  std::string model = argument(info, 1, "model").text();
  auto bytes = std::make_shared<TokenBytes>(token_bytes(argument(info, 2, "vocabulary")));
  return run(info, "Setting the vocabulary", [model, bytes](Engine& engine, const std::atomic<bool>&) {
    engine.set_token_bytes(model, std::move(*bytes));
    return Nothing();
  });
}

Napi::Value EngineObject::sample(const Info& info) {
  auto result = std::make_shared<std::vector<SampledSequence>>();
  Job job;
  job.id = job_id(info);
  job.request = sample_request(argument(info, 1, "request"));
  job.what = "Sampling " + std::to_string(job.request.count) + " sequences";
  job.sampled = [result](std::vector<SampledSequence>&& sequences) { *result = std::move(sequences); };
  return submit(info, std::move(job), result);
}

Napi::Value EngineObject::forward(const Info& info) {
  std::vector<Datum> data = training_data(argument(info, 1, "data"));
  const Argument given = argument(info, 2, "top");
  const int top = given.absent() ? 0 : given.count();
  std::string what = counted("forward", data);
  return run(info, what, [data = std::move(data), top](Engine& engine, const std::atomic<bool>& cancel) {
    return engine.forward(data, cancel, top);
  });
}

Napi::Value EngineObject::forward_backward(const Info& info) {
  std::vector<Datum> data = training_data(argument(info, 1, "data"));
  Loss wanted = loss(argument(info, 2, "loss"));
  std::string what = counted("forwardBackward", data);
  return run(info, what, [data = std::move(data), wanted](Engine& engine, const std::atomic<bool>& cancel) {
    return engine.forward_backward(data, wanted, cancel);
  });
}

Napi::Value EngineObject::optimizer_step(const Info& info) {
  std::string policy = argument(info, 1, "policy").text();
  AdamParameters adam = adam_parameters(argument(info, 2, "adam"));
  return run(info, "optimStep of " + policy, [policy, adam](Engine& engine, const std::atomic<bool>&) {
    return engine.optimizer_step(policy, adam);
  });
}

Napi::Value EngineObject::zero_gradients(const Info& info) {
  std::string policy = argument(info, 1, "policy").text();
  return run(info, "Zeroing the gradients of " + policy, [policy](Engine& engine, const std::atomic<bool>&) {
    engine.zero_gradients(policy);
    return Nothing();
  });
}

Napi::Function EngineObject::define(Napi::Env env) {
  using E = EngineObject;
  return DefineClass(env, "NativeEngine",
                     {InstanceMethod<&E::guarded<&E::description>>("description"),
                      InstanceMethod<&E::guarded<&E::memory_bytes>>("memoryBytes"),
                      InstanceMethod<&E::guarded<&E::prompt_tokens>>("promptTokens"),
                      InstanceMethod<&E::guarded<&E::cancel>>("cancel"),
                      InstanceMethod<&E::guarded<&E::close>>("close"),
                      InstanceMethod<&E::guarded<&E::add_model>>("addModel"),
                      InstanceMethod<&E::guarded<&E::add_frozen_model>>("addFrozenModel"),
                      InstanceMethod<&E::guarded<&E::load_tensors>>("loadTensors"),
                      InstanceMethod<&E::guarded<&E::predict_memory>>("predictMemory"),
                      InstanceMethod<&E::guarded<&E::add_adapter>>("addAdapter"),
                      InstanceMethod<&E::guarded<&E::remove>>("remove"),
                      InstanceMethod<&E::guarded<&E::read_tensor>>("readTensor"),
                      InstanceMethod<&E::guarded<&E::write_tensor>>("writeTensor"),
                      InstanceMethod<&E::guarded<&E::step_count>>("stepCount"),
                      InstanceMethod<&E::guarded<&E::set_step_count>>("setStepCount"),
                      InstanceMethod<&E::guarded<&E::set_token_bytes>>("setTokenBytes"),
                      InstanceMethod<&E::guarded<&E::sample>>("sample"),
                      InstanceMethod<&E::guarded<&E::forward>>("forward"),
                      InstanceMethod<&E::guarded<&E::forward_backward>>("forwardBackward"),
                      InstanceMethod<&E::guarded<&E::optimizer_step>>("optimizerStep"),
                      InstanceMethod<&E::guarded<&E::zero_gradients>>("zeroGradients")});
}

}  // namespace troupe
