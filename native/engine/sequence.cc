#include "sequence.h"

#include <algorithm>

namespace troupe {

namespace {

// Keeps only the bytes that a stop string may still reach back to.
bool completes_stop_string(Sequence& sequence, int32_t token) {
  const SampleJob& job = *sequence.job;
  if (job.longest_stop == 0) return false;
  sequence.tail += (*job.policy.model->token_bytes)[token];
  for (const std::string& stop : job.request.stop_strings) {
    if (sequence.tail.find(stop) != std::string::npos) return true;
  }
  const size_t keep = job.longest_stop - 1;
  if (sequence.tail.size() > keep) sequence.tail.erase(0, sequence.tail.size() - keep);
  return false;
}

}  // namespace

bool append_token(Sequence& sequence, const ChosenToken& chosen) {
  const SampleRequest& request = sequence.job->request;
  SampledSequence& result = sequence.result();
  result.tokens.push_back(chosen.token);
  result.logprobs.push_back(chosen.logprob);
  result.entropies.push_back(chosen.entropy);
  const auto& stops = request.stop_tokens;
  const bool stop = std::find(stops.begin(), stops.end(), chosen.token) != stops.end();
  if (stop || completes_stop_string(sequence, chosen.token)) {
    result.reason = StopReason::stop;
    return true;
  }
  result.reason = StopReason::length;
  return static_cast<int>(result.tokens.size()) == request.max_tokens;
}

}  // namespace troupe
