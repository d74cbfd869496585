// Random packed sequences: pieces of timelines end to end in bins, some of them given a state and some handing theirs
// on, with rows that fill bins up (operations_recurrent.hpp, operations_attention.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.hpp"

namespace strobe::conformance {

/// Rows [first, first + length) of `bin`; the rows of start and of dlast that are its own, or -1. As seen by
/// attention, its first row is `graph_step` in the graph and outputs are wanted from row `wanted` of the piece on.
struct Piece {
  std::int64_t bin = 0, first = 0, length = 0;
  std::int64_t start = -1, end = -1;
  std::int64_t graph_step = 0, wanted = 0;
};

struct PackedBins {
  std::int64_t steps = 0, bins = 0, starts = 0, ends = 0;
  std::vector<Piece> pieces = {};  // without the rows that fill bins up

  std::int64_t row(const Piece& piece, std::int64_t i) const { return (piece.first + i) * bins + piece.bin; }
  std::int64_t rows() const { return steps * bins; }

  /// i32 [T n]: where each row's state before comes from.
  std::vector<std::int32_t> restarts() const {
    std::vector<std::int32_t> origins(rows(), -2);
    for (const Piece& piece : pieces) {
      for (std::int64_t i = 0; i < piece.length; ++i) {
        const std::int64_t first = piece.start >= 0 ? piece.start : -2;
        origins[row(piece, i)] = static_cast<std::int32_t>(i > 0 ? -1 : first);
      }
    }
    return origins;
  }
  /// i32 [T n]: the row of dlast of each row's cell state, or -1.
  std::vector<std::int32_t> end_rows() const {
    std::vector<std::int32_t> own(rows(), -1);
    for (const Piece& piece : pieces) own[row(piece, piece.length - 1)] = static_cast<std::int32_t>(piece.end);
    return own;
  }
  /// i64 [E]: the last rows of the pieces that hand their state on, in the order of dlast.
  std::vector<std::int64_t> last_rows() const {
    std::vector<std::int64_t> last(ends);
    for (const Piece& piece : pieces)
      if (piece.end >= 0) last[piece.end] = row(piece, piece.length - 1);
    return last;
  }
  /// i32 [T n, 3]: where each row's sequence begins in its bin, its step in the graph, whether its output is wanted.
  std::vector<std::int32_t> sequences() const {
    std::vector<std::int32_t> of_rows;
    for (std::int64_t r = 0; r < rows(); ++r) {
      const auto own = static_cast<std::int32_t>(r / bins);
      of_rows.insert(of_rows.end(), {own, 0, 0});
    }
    for (const Piece& piece : pieces) {
      for (std::int64_t i = 0; i < piece.length; ++i) {
        std::int32_t* const to = of_rows.data() + 3 * row(piece, i);
        to[0] = static_cast<std::int32_t>(piece.first);
        to[1] = static_cast<std::int32_t>(piece.graph_step + i);
        to[2] = i >= piece.wanted ? 1 : 0;
      }
    }
    return of_rows;
  }
  /// Pairs of a wanted row and a row that it looks at.
  double pairs() const {
    double count = 0;
    for (const Piece& piece : pieces)
      for (std::int64_t i = piece.wanted; i < piece.length; ++i) count += static_cast<double>(i + 1);
    return count;
  }
};

/// Bins of `steps` rows with pieces of 1 to `most` rows. After one piece in `full` the bin is filled up; with `full`
/// 0 no bin is. The same `key` gives the same bins everywhere.
inline PackedBins random_packing(std::int64_t steps, std::int64_t bins, std::int64_t most, std::uint32_t key,
                                 std::int64_t full = 8) {
  const RandomStream random(2025, random_purpose::test, key);
  std::uint64_t drawn = 0;
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random.below(drawn++, static_cast<std::uint64_t>(n)));
  };
  PackedBins packed{steps, bins};
  std::vector<std::int64_t> free_starts, free_ends;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    for (std::int64_t t = 0; t < steps;) {
      Piece piece{bin, t, std::min(steps - t, 1 + below(most))};
      t += piece.length;
      if (below(2) == 0) piece.start = packed.starts++;
      if (below(2) == 0) piece.end = packed.ends++;
      piece.graph_step = below(50);
      piece.wanted = below(3) == 0 ? below(piece.length + 1) : 0;
      packed.pieces.push_back(piece);
      if (full > 0 && below(full) == 0) break;
    }
  }
  // Rows of start and of dlast in no order: each is dealt by exchanging it with one before it.
  std::vector<std::int64_t> starts(packed.starts), ends(static_cast<std::size_t>(packed.ends));
  for (std::vector<std::int64_t>* list : {&starts, &ends}) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      (*list)[i] = static_cast<std::int64_t>(i);
      std::swap((*list)[i], (*list)[below(static_cast<std::int64_t>(i) + 1)]);
    }
  }
  for (Piece& piece : packed.pieces) {
    if (piece.start >= 0) piece.start = starts[piece.start];
    if (piece.end >= 0) piece.end = ends[piece.end];
  }
  return packed;
}

}  // namespace strobe::conformance
