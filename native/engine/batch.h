// Training data as rows. A datum's prompt takes its rows once; each continuation's rows follow, without its last token,
// which predicts nothing. The prompt's last row predicts the first token of every continuation.
#pragma once
#include <vector>

#include "policy.h"
#include "transformer.h"

namespace troupe {

struct Span {
  int row, rows;
};

// One prompt and the continuations [first, last) that attend to it.
struct AttentionGroup {
  Span prompt;
  int first, last;
};

struct Target {
  int32_t token;
  float weight;       // cross_entropy: the weight; otherwise the advantage
  float old_logprob;  // 0 for cross_entropy
  float* logprob;     // where the new one goes
};

// The targets [first, last) of one kept row.
struct LossRow {
  int first, last;
  size_t datum;  // index in the call's data, for messages
};

struct TrainingBatch : RowBatch {
  std::vector<AttentionGroup> groups;
  std::vector<Span> continuations;
  std::vector<LossRow> loss_rows;  // of the kept rows
  std::vector<Target> targets;
  void clear();
};

// Some continuations of one datum: a datum too large for one chunk is cut between continuations.
struct Piece {
  const Datum* datum;
  Policy policy;
  size_t datum_index;
  size_t first, last;
  std::vector<float>* logprobs;  // of the continuation `first`
};

// Rows that a piece takes.
size_t piece_rows(const Piece& piece);

// Cuts data (already sorted by policy) into chunks of at most `rows` rows, or one sequence where that is longer.
std::vector<std::vector<Piece>> plan_chunks(const std::vector<Piece>& data, size_t rows);

void fill(TrainingBatch& batch, const std::vector<Piece>& chunk, LossKind loss);

}  // namespace troupe
