#include "engine_object.h"

// One class in each environment (worker threads have their own); nothing is kept in globals.
static Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("NativeEngine", troupe::EngineObject::define(env));
  return exports;
}

NODE_API_MODULE(troupe, initialize)
