#include "optimizer.h"

#include <cmath>

#include "rows.h"

namespace troupe {

namespace {

// Floats per part. Constant, so that the norm does not depend on the number of threads.
constexpr size_t part_floats = 1 << 14;

template <typename Body>
void each_part(const Machine& machine, size_t n, Body&& body) {
  const int parts = static_cast<int>((n + part_floats - 1) / part_floats);
  // A few parts are not worth a second thread; of many, each thread takes its share to the part.
  parallel_rows(machine.pool, parts, parts > 4 ? 1 : 4, [&](int begin, int end, int) {
    for (int part = begin; part < end; part++) {
      const size_t first = part * part_floats;
      body(part, first, std::min(part_floats, n - first));
    }
  });
}

double gradient_norm(const Machine& machine, const float* gradient, size_t n) {
  std::vector<double> sums((n + part_floats - 1) / part_floats);
  each_part(machine, n, [&](int part, size_t first, size_t count) {
    sums[part] = machine.kernels.sum_of_squares(gradient + first, count);
  });
  double total = 0;
  for (double sum : sums) total += sum;
  return std::sqrt(total);
}

void check(const AdamParameters& adam) {
  auto require = [](bool holds, const char* field, double value, const char* expected) {
    if (holds) return;
    throw EngineError("bad_arguments", std::string("optimizer step: ") + field + " is " + std::to_string(value) +
                                           ", expected " + expected);
  };
  auto at_least_zero = [&](const char* field, float value) {
    require(std::isfinite(value) && value >= 0, field, value, "a finite number of at least 0");
  };
  at_least_zero("learning rate", adam.learning_rate);
  at_least_zero("weight decay", adam.weight_decay);
  at_least_zero("clip norm", adam.clip_norm);
  require(std::isfinite(adam.epsilon) && adam.epsilon > 0, "epsilon", adam.epsilon, "a positive number");
  require(adam.beta1 >= 0 && adam.beta1 < 1, "beta1", adam.beta1, "at least 0 and below 1");
  require(adam.beta2 >= 0 && adam.beta2 < 1, "beta2", adam.beta2, "at least 0 and below 1");
}

}  // namespace

StepResult adam_step(const Machine& machine, const std::string& policy, Parameters& parameters,
                     const AdamParameters& adam) {
  check(adam);
  float* gradient = parameters.gradient();
  float *moment1 = parameters.values(TensorKind::moment1), *moment2 = parameters.values(TensorKind::moment2);
  const double norm = gradient_norm(machine, gradient, parameters.size());
  if (!std::isfinite(norm)) {
    parameters.zero_gradient();
    throw EngineError("bad_model", "policy \"" + policy + "\": the gradient is not finite; the weights are unchanged and "
                                       "the gradient is zero now. Lower the learning rate or set a clip norm");
  }
  const double steps = static_cast<double>(parameters.steps + 1);
  const bool clip = adam.clip_norm > 0 && norm > adam.clip_norm;
  const AdamStep step{adam.learning_rate,
                      adam.beta1,
                      adam.beta2,
                      adam.epsilon,
                      adam.weight_decay,
                      static_cast<float>(1 - std::pow(static_cast<double>(adam.beta1), steps)),
                      static_cast<float>(1 - std::pow(static_cast<double>(adam.beta2), steps)),
                      clip ? static_cast<float>(adam.clip_norm / (norm + 1e-6)) : 1.0f};
  parameters.changed();
  parameters.steps++;
  each_part(machine, parameters.size(), [&](int, size_t first, size_t count) {
    machine.kernels.adam(parameters.weights() + first, gradient + first, moment1 + first, moment2 + first, count, step);
    std::fill(gradient + first, gradient + first + count, 0.0f);
  });
  return {norm};
}

}  // namespace troupe
