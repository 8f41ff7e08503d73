#include "engine_object.h"
#include "signals.h"

// One class per environment (worker threads have their own). Only signals, which belong to the process, have globals.
static Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("NativeEngine", troupe::EngineObject::define(env));
  troupe::define_signals(env, exports);
  return exports;
}

NODE_API_MODULE(troupe, initialize)
