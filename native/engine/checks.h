// Checks arguments before anything is computed. EngineErrors say what, where and what was expected.
#pragma once
#include "policy.h"

namespace troupe {

// Throws bad_shape, bad_token, too_long or bad_arguments. `loss` null: only tokens are checked.
void validate(const Datum& datum, size_t index, const Policy& policy, const Loss* loss);
void validate(const SampleRequest& request, const Policy& policy);
// Of Engine::forward.
void check_top(int top, const Policy& policy);
void check_loss(const Loss& loss);

}  // namespace troupe
