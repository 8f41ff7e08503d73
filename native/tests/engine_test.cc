// The engine compared with finite differences and with itself. Prints one line per failed check and one at the end;
// exits 1 if any failed. With the argument `threads`: a table of how work is split. The comparison with PyTorch is next to the fixtures.
#include "engine_check.h"

int main(int count, char**) {
  using namespace troupe::test;
  Report report{"engine"};
  check_threads(report, count > 1);
  if (count > 1) return report.failures ? 1 : 0;
  check_gradients(report);
  check_losses(report);
  check_critics(report);
  check_training(report);
  check_adapters(report);
  check_choice(report);
  check_sampling(report);
  check_prefixes(report);
  check_errors(report);
  std::printf("engine: %d checks, %d failed\n", report.checks, report.failures);
  return report.failures ? 1 : 0;
}
