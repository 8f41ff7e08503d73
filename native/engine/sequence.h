// A request being sampled, and the sequences of its prompt.
#pragma once
#include <atomic>
#include <memory>

#include "choose.h"
#include "prefixes.h"

namespace troupe {

struct SampleJob {
  SampleRequest request;
  Policy policy;
  std::shared_ptr<std::atomic<bool>> cancel;  // may be null
  Engine::SampleDone done;
  Engine::SampleFailed failed;
  std::vector<SampledSequence> results;
  int unfinished = 0;
  Prefix prefix;                       // of the prompt, until that is computed
  size_t longest_stop = 0;             // bytes of the longest stop string
  std::unique_ptr<EngineError> error;  // once set, its sequences are dropped

  int own_capacity() const { return request.max_tokens - 1; }  // the last token is never fed
  bool cancelled() const { return cancel && cancel->load(); }
};

struct Sequence {
  std::shared_ptr<SampleJob> job;
  std::shared_ptr<PromptCache> prompt;
  int index = 0;                 // of the request's sequences
  int cached = 0;                // positions in `own`
  bool finished = false;
  std::unique_ptr<KvCache> own;  // from its first decoding step on
  std::string tail;              // last bytes of the text, for stop strings

  SampledSequence& result() const { return job->results[index]; }
  int position() const { return prompt->positions + cached; }  // position of the next token to feed
};

// Appends the token; returns whether the sequence ends with it.
bool append_token(Sequence& sequence, const ChosenToken& chosen);

}  // namespace troupe
