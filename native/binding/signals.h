// Ctrl-C and SIGTERM where JavaScript cannot run: a template, a module or a tokenizer that never returns, or a thread
// that the process would wait for.
#pragma once
#include "javascript.h"

namespace troupe {

// Adds `watchSignals`, `signalSeen` and `endSoon` to the exports.
void define_signals(Napi::Env env, Napi::Object exports);

}  // namespace troupe
