// The arithmetic of sampling: prompts computed together, and one row for each active sequence.
#pragma once
#include "batch.h"
#include "sequence.h"

namespace troupe {

constexpr int prefill_rows = 1024;  // prompt tokens computed together

// A token to be chosen for a sequence.
struct Choice {
  Sequence* sequence;
  int row;  // index in the batch's kept rows: the row whose output predicts it
  ChosenToken chosen;
};

// The rows of a batch that are a prompt's next positions.
struct PromptRows {
  PromptCache* prompt;
  Span span;
};

class Decoder {
 public:
  explicit Decoder(const Machine& machine)
      : machine_(machine), blocks_(machine.pool.threads()), choosers_(machine.pool.threads()) {}
  // Computes what is missing of the sequences' prompts (of one model, sorted by adapter) into their PromptCache and
  // chooses their first tokens. Adjacent sequences with the same prompt share its PromptCache and computation.
  std::vector<Choice>& prefill(Model& model, const std::vector<Sequence*>& sequences);
  // Feeds each sequence (of one model, sorted by adapter) its last token and chooses the next.
  std::vector<Choice>& decode(Model& model, const std::vector<Sequence*>& sequences);
  size_t bytes() const;

 private:
  void start(Model& model);
  void add_row(int32_t token, int position, Adapter* adapter);
  void run(Model& model, const Attend& attend);
  void add_prompt(const Sequence& sequence, int rows);
  void run_prompts(Model& model);
  void attend_prompt(const Model& model, const PromptRows& prompt, int layer, int kv_head, LayerActivations& activations,
                     int thread);
  void group_by_prompt(const Model& model, const std::vector<Sequence*>& sequences);
  void attend_group(const Model& model, const std::vector<Sequence*>& sequences, Span group, int layer, int kv_head,
                    LayerActivations& activations, int thread);
  void reserve_scratch(int queries, int keys, int head_dim);
  float* scratch_of(int thread);
  void choose(Model& model);
  void choose_rows(const ModelConfig& config, size_t first, size_t last, int first_row);

  const Machine& machine_;
  RowBatch batch_;
  Activations activations_;
  std::vector<PromptRows> prompts_;                  // prefill
  std::vector<Span> decoding_;                       // decode: adjacent sequences with the same prompt
  std::vector<double> costs_;                        // cumulated, [prompt or group × kv head]
  std::vector<std::vector<AttentionBlock>> blocks_;  // one list per thread
  std::vector<Choice> choices_;                      // in order of rows
  std::vector<TokenChooser> choosers_;               // one per thread
  AlignedBuffer<float> normed_, inverse_rms_, logits_, scratch_;
};

}  // namespace troupe
