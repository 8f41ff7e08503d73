#include "batch.h"

namespace troupe {

namespace {

size_t continuation_rows(const Datum& datum, size_t index) { return datum.continuations[index].tokens.size() - 1; }

Span append(TrainingBatch& batch, const std::vector<int32_t>& tokens, size_t count, size_t position) {
  const Span span{batch.rows(), static_cast<int>(count)};
  for (size_t i = 0; i < count; i++) {
    batch.tokens.push_back(tokens[i]);
    batch.positions.push_back(static_cast<int32_t>(position + i));
  }
  return span;
}

void append(TrainingBatch& batch, const Piece& piece) {
  const Datum& datum = *piece.datum;
  AttentionGroup group;
  group.prompt = append(batch, datum.prompt, datum.prompt.size(), 0);
  group.first = static_cast<int>(batch.continuations.size());
  auto add_target = [&](size_t j, size_t i) {
    const size_t place = j - piece.first, output = piece.output + place, top = piece.result->top;
    batch.targets.push_back({&datum.continuations[j], static_cast<int>(i), group.first + static_cast<int>(place),
                             piece.result->outputs[output].data() + i,
                             top ? piece.result->top_tokens[output].data() + i * top : nullptr,
                             top ? piece.result->top_logprobs[output].data() + i * top : nullptr});
  };
  const int first_target = static_cast<int>(batch.targets.size());
  for (size_t j = piece.first; j < piece.last; j++) add_target(j, 0);
  auto add_loss_row = [&](int row, int first) {
    batch.kept.push_back(row);
    batch.loss_rows.push_back({first, static_cast<int>(batch.targets.size()), piece.datum_index});
  };
  add_loss_row(batch.rows() - 1, first_target);
  for (size_t j = piece.first; j < piece.last; j++) {
    const Span span = append(batch, datum.continuations[j].tokens, continuation_rows(datum, j), datum.prompt.size());
    batch.continuations.push_back(span);
    for (int i = 0; i < span.rows; i++) {
      const int target = static_cast<int>(batch.targets.size());
      add_target(j, i + 1);
      add_loss_row(span.row + i, target);
    }
  }
  group.last = static_cast<int>(batch.continuations.size());
  batch.groups.push_back(group);
}

// Cuts one datum so that each piece has at most `rows` rows, but at least one continuation.
std::vector<Piece> cut(const Piece& whole, size_t rows) {
  std::vector<Piece> pieces;
  Piece piece = whole;
  size_t used = whole.datum->prompt.size();
  for (size_t j = whole.first; j < whole.last; j++) {
    const size_t more = continuation_rows(*whole.datum, j);
    if (j > piece.first && used + more > rows) {
      piece.last = j;
      pieces.push_back(piece);
      piece.output += j - piece.first;
      piece.first = j;
      used = whole.datum->prompt.size();
    }
    used += more;
  }
  piece.last = whole.last;
  pieces.push_back(piece);
  return pieces;
}

}  // namespace

void TrainingBatch::clear() {
  RowBatch::clear();
  groups.clear();
  continuations.clear();
  loss_rows.clear();
  targets.clear();
}

size_t piece_rows(const Piece& piece) {
  size_t rows = piece.datum->prompt.size();
  for (size_t j = piece.first; j < piece.last; j++) rows += continuation_rows(*piece.datum, j);
  return rows;
}

std::vector<Piece> cut_pieces(const std::vector<Piece>& data, size_t rows) {
  std::vector<Piece> pieces;
  for (const Piece& whole : data) {
    for (const Piece& piece : cut(whole, rows)) pieces.push_back(piece);
  }
  return pieces;
}

std::vector<std::vector<Piece>> plan_chunks(const std::vector<Piece>& pieces, size_t rows) {
  std::vector<std::vector<Piece>> chunks;
  size_t used = 0;
  for (const Piece& piece : pieces) {
    const size_t more = piece_rows(piece);
    if (chunks.empty() || used + more > rows) {
      chunks.emplace_back();
      used = 0;
    }
    chunks.back().push_back(piece);
    used += more;
  }
  return chunks;
}

void fill(TrainingBatch& batch, const std::vector<Piece>& chunk) {
  batch.clear();
  batch.top = chunk.front().result->top;
  for (size_t i = 0; i < chunk.size(); i++) {
    const int row = batch.rows();
    append(batch, chunk[i]);
    if (i > 0 && chunk[i].policy == chunk[i - 1].policy) {
      batch.segments.back().end = batch.rows();
    } else {
      batch.segments.push_back({row, batch.rows(), chunk[i].policy.adapter});
    }
  }
  batch.find_kept_segments();
}

}  // namespace troupe
