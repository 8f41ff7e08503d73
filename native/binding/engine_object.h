// The engine as a JavaScript class. Every verb takes the id of its job (for `cancel`) and returns a promise.
#pragma once
#include <memory>
#include <string>

#include "arguments.h"
#include "bridge.h"
#include "worker.h"

namespace troupe {

class EngineObject : public Napi::ObjectWrap<EngineObject> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit EngineObject(const Napi::CallbackInfo& info);  // (threads, "float32" | "bfloat16")
  ~EngineObject();

 private:
  using Info = Napi::CallbackInfo;

  Napi::Value description(const Info&);
  Napi::Value prompt_tokens(const Info&);
  Napi::Value memory_bytes(const Info&);
  Napi::Value cancel(const Info&);
  Napi::Value close(const Info&);

  Napi::Value add_model(const Info&);
  Napi::Value add_frozen_model(const Info&);
  Napi::Value load_tensors(const Info&);
  Napi::Value predict_memory(const Info&);
  Napi::Value add_adapter(const Info&);
  Napi::Value remove(const Info&);
  Napi::Value read_tensor(const Info&);
  Napi::Value write_tensor(const Info&);
  Napi::Value step_count(const Info&);
  Napi::Value set_step_count(const Info&);
  Napi::Value set_token_bytes(const Info&);
  Napi::Value sample(const Info&);
  Napi::Value forward(const Info&);
  Napi::Value forward_backward(const Info&);
  Napi::Value optimizer_step(const Info&);
  Napi::Value zero_gradients(const Info&);

  // C++ exceptions must not propagate into Node: runs the method and throws a JavaScript Error with a code instead.
  template <Napi::Value (EngineObject::*method)(const Info&)>
  Napi::Value guarded(const Info& info);
  template <typename Result>
  Napi::Value submit(const Info& info, Job job, std::shared_ptr<Result> result);
  // A job with exclusive use of the engine that returns the result of `work`.
  template <typename Work>
  Napi::Value run(const Info& info, std::string what, Work work);

  static void shut_down(void* self);  // the environment ends

  std::unique_ptr<Worker> worker_;
  std::shared_ptr<Bridge> bridge_;  // null once closed
  Napi::Env env_;
};

}  // namespace troupe
