// Training data as rows. A datum's prompt has its rows once; each continuation's rows follow, without its last token,
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

// One token of a continuation, as a term of the loss.
struct Target {
  const Continuation* continuation;
  int index;     // of the token in it
  int sequence;  // of the continuation in the batch
  float* output; // position of its new log-probability, or of the value before it, in the output
  int32_t* top_tokens;  // positions of the most probable tokens; null: not asked for
  float* top_logprobs;

  int32_t token() const { return continuation->tokens[index]; }
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
  int top = 0;  // most probable tokens of each target that are asked for
  void clear();
};

// Some continuations of one datum: a datum too large for one chunk is cut between continuations.
struct Piece {
  const Datum* datum;
  Policy policy;
  size_t datum_index;
  size_t first, last;
  LossResult* result;
  size_t output;  // index in the result of the continuation `first`
};

// Rows of a piece.
size_t piece_rows(const Piece& piece);

// Cuts data so that each piece has at most `rows` rows, or one longer sequence.
std::vector<Piece> cut_pieces(const std::vector<Piece>& data, size_t rows);

// Chunks of at most `rows` rows, or of one larger piece, in the order of the pieces.
std::vector<std::vector<Piece>> plan_chunks(const std::vector<Piece>& pieces, size_t rows);

void fill(TrainingBatch& batch, const std::vector<Piece>& chunk);

}  // namespace troupe
