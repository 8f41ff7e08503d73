// node-addon-api as it is used here.
#pragma once
#define NODE_ADDON_API_CPP_EXCEPTIONS
// A worker thread that is being terminated refuses to take an exception; without this the refusal ends the process.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS
#include <napi.h>
