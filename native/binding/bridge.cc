#include "bridge.h"

namespace troupe {

namespace {

using Holder = std::shared_ptr<Bridge>;  // owned by the threadsafe function

void call_javascript(napi_env env, napi_value, void* context, void*) {
  if (!env) return;  // the environment is being torn down: there is no JavaScript left
  try {
    Holder bridge = *static_cast<Holder*>(context);
    bridge->settle(Napi::Env(env));
  } catch (...) {
    // A worker thread that is being terminated rejects every call into JavaScript; its promises end with it.
  }
}

void finalize(napi_env, void* data, void*) { delete static_cast<Holder*>(data); }

}  // namespace

Napi::Error coded_error(Napi::Env env, const JobError& error) {
  Napi::Error value = Napi::Error::New(env, error.message);
  value.Set("code", error.code);
  return value;
}

std::shared_ptr<Bridge> Bridge::open(Napi::Env env) {
  auto bridge = std::make_shared<Bridge>();
  auto holder = std::make_unique<Holder>(bridge);
  napi_value name = Napi::String::New(env, "troupe engine");
  napi_status status = napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, holder.get(), finalize,
                                                       holder.get(), call_javascript, &bridge->function_);
  if (status != napi_ok) throw Napi::Error::New(env);
  holder.release();
  napi_unref_threadsafe_function(env, bridge->function_);
  return bridge;
}

Napi::Promise Bridge::expect(Napi::Env env, JobId id, ToJavaScript value) {
  if (pending_.count(id)) {
    throw EngineError("bad_arguments", "Job " + std::to_string(id) + " is unfinished; give every job its own number.");
  }
  auto deferred = Napi::Promise::Deferred::New(env);
  if (pending_.empty()) napi_ref_threadsafe_function(env, function_);
  pending_.emplace(id, Pending{deferred, std::move(value)});
  return deferred.Promise();
}

void Bridge::forget(Napi::Env env, JobId id) {
  pending_.erase(id);
  if (pending_.empty()) napi_unref_threadsafe_function(env, function_);
}

void Bridge::close() { napi_release_threadsafe_function(function_, napi_tsfn_release); }

void Bridge::finished(JobId id, std::optional<JobError> error) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    finished_.emplace_back(id, std::move(error));
  }
  napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking);
}

void Bridge::settle(Napi::Env env) {
  std::vector<std::pair<JobId, std::optional<JobError>>> finished;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    finished.swap(finished_);
  }
  Napi::HandleScope scope(env);
  for (auto& [id, error] : finished) {
    auto found = pending_.find(id);
    if (found == pending_.end()) continue;
    Pending pending = std::move(found->second);
    forget(env, id);
    settle_one(env, pending, error);
  }
}

void Bridge::settle_one(Napi::Env env, Pending& pending, const std::optional<JobError>& error) {
  try {
    if (error) {
      pending.deferred.Reject(coded_error(env, *error).Value());
    } else {
      pending.deferred.Resolve(pending.value(env));
    }
  } catch (const Napi::Error& failure) {
    pending.deferred.Reject(failure.Value());
  } catch (const std::exception&) {
    JobError memory{"no_memory", "There was not enough memory to hand the result over to JavaScript."};
    pending.deferred.Reject(coded_error(env, memory).Value());
  }
}

}  // namespace troupe
