// The rounds of a recurrence on one rank: its pieces in bins, several end to end or one per bin.
#include <map>
#include <utility>

#include "harness/full_batch/inputs/device_lists.hpp"
#include "harness/full_batch/inputs/packed_timelines.hpp"
#include "harness/full_batch/inputs/sequence_packing.hpp"

namespace strobe {
namespace {

/// Groups of pieces of one rank, each group in bins of its own. Also finds the piece to which a vertex's cell belongs.
class OwnPieces {
 public:
  OwnPieces(std::vector<std::vector<SequencePiece>> groups, bool padded, std::int64_t vertices)
      : own_(std::move(groups)), next_(own_.size(), 0), active_(static_cast<std::size_t>(vertices)) {
    for (const std::vector<SequencePiece>& pieces : own_) {
      std::vector<std::int32_t> lengths;
      for (const SequencePiece& piece : pieces) lengths.push_back(piece.steps);
      bins_.push_back(padded ? pad_sequences(lengths) : pack_sequences(lengths));
      rows_.emplace_back(static_cast<std::size_t>(bins_.back().rows()), -1);
    }
  }

  /// Makes the pieces that begin at step t the current ones of their vertices.
  void begin(Step t) {
    for (std::size_t k = 0; k < own_.size(); ++k) {
      for (; next_[k] < own_[k].size() && own_[k][next_[k]].first == t; ++next_[k])
        active_[own_[k][next_[k]].vertex] = {k, next_[k]};
    }
  }
  /// Records that cell (v, t) lies in row `row`.
  void place(VertexId v, Step t, std::int64_t row) {
    const auto [k, piece] = active_[v];
    const std::int64_t step = t - own_[k][piece].first;
    rows_[k][bins_[k].first_row[piece] + step * bins_[k].bins] = row;
  }

  /// The state kept after a block: the states of its last step's cells. last_step is -1 if nothing is kept.
  struct BlockBorder {
    std::int64_t last_step = -1, first_row = 0, rows = 0, rows_per_vertex = 1;
  };

  PackedRound round(Device& device, std::size_t k, const BlockBorder& border) const {
    const SequencePacking& bins = bins_[k];
    const std::size_t size = bins.rows();
    std::vector<std::int32_t> restarts(size, -2), ends(size, -1);
    std::vector<std::int64_t> last_rows;
    PackedRound round;
    round.steps = bins.steps;
    round.bins = bins.bins;
    for (std::size_t i = 0; i < own_[k].size(); ++i) {
      const SequencePiece& piece = own_[k][i];
      for (std::int32_t s = 0; s < piece.steps; ++s) restarts[at(bins, i, s)] = -1;
      restarts[at(bins, i, 0)] = piece.given ? static_cast<std::int32_t>(round.given++) : -2;
      if (!piece.hands_on) continue;
      ends[at(bins, i, piece.steps - 1)] = static_cast<std::int32_t>(round.handed++);
      last_rows.push_back(static_cast<std::int64_t>(at(bins, i, piece.steps - 1)));
    }
    round.in = round.out = rows_in_bins(device, rows_[k]);
    if (border.last_step >= 0) remember(device, k, border, round, ends, last_rows);
    round.timelines.sequences = {list_of(device, restarts, bins.rows(), 1), list_of(device, ends, bins.rows(), 1),
                                 list_of(device, last_rows, static_cast<std::int64_t>(last_rows.size()))};
    return round;
  }

 private:
  /// Adds the states of pieces that reach the border, after the states that go to other ranks.
  void remember(Device& device, std::size_t k, const BlockBorder& border, PackedRound& round,
                std::vector<std::int32_t>& ends, std::vector<std::int64_t>& last_rows) const {
    std::vector<std::int64_t> cell;  // row of each such cell among the rows of the border's step
    for (std::size_t i = 0; i < own_[k].size(); ++i) {
      const SequencePiece& piece = own_[k][i];
      if (piece.first + piece.steps - 1 != border.last_step) continue;
      const std::size_t bin_row = at(bins_[k], i, piece.steps - 1);
      cell.push_back(rows_[k][bin_row] - border.first_row);
      ends[bin_row] = static_cast<std::int32_t>(last_rows.size());
      last_rows.push_back(static_cast<std::int64_t>(bin_row));
    }
    const std::int64_t left = last_rows.size();
    std::vector<std::int64_t> handed, rows, places;
    for (std::int64_t block = 0; block < border.rows_per_vertex; ++block) {
      for (std::int64_t i = 0; i < round.handed; ++i) handed.push_back(block * left + i);
      for (std::size_t i = 0; i < cell.size(); ++i) {
        rows.push_back(block * border.rows + cell[i]);
        places.push_back(block * left + round.handed + static_cast<std::int64_t>(i));
      }
    }
    const std::int64_t count = rows.size();
    round.handed_rows = list_of(device, handed, static_cast<std::int64_t>(handed.size()));
    round.remembered = {list_of(device, rows, count), list_of(device, places, count), count};
  }

  static std::size_t at(const SequencePacking& bins, std::size_t piece, std::int64_t step) {
    return static_cast<std::size_t>(bins.first_row[piece] + step * bins.bins);
  }

  struct Active {
    std::size_t round = 0, piece = 0;
  };
  std::vector<std::vector<SequencePiece>> own_;  // [groups]
  std::vector<SequencePacking> bins_;
  std::vector<std::vector<std::int64_t>> rows_;  // [groups][bin rows]
  std::vector<std::size_t> next_;
  std::vector<Active> active_;  // [N]
};

/// Gives every cell of the rank its place. Returns the number of its rows.
std::int64_t place_cells_of(const Placement& placement, Rank rank, OwnPieces& own) {
  std::int64_t row = 0;
  for (Step t = 0; t < static_cast<Step>(placement.steps()); ++t) {
    own.begin(t);
    for (const Run& run : placement.map(t).runs_of(rank)) {
      for (std::int64_t i = 0; i < run.count; ++i) own.place(static_cast<VertexId>(run.first + i), t, row++);
    }
  }
  return row;
}

/// Pieces of one unit in one round. `given` and `handed` are their places among the round's pieces of the rank that
/// receive a state, or hand theirs on.
struct UnitPieces {
  std::vector<SequencePiece> pieces;
  std::vector<std::int64_t> given, handed;
};

std::map<std::int32_t, UnitPieces> by_unit(const std::vector<SequencePiece>& round) {
  std::map<std::int32_t, UnitPieces> units;
  std::int64_t given = 0, handed = 0;
  for (const SequencePiece& piece : round) {
    UnitPieces& unit = units[piece.unit];
    unit.pieces.push_back(piece);
    if (piece.given) unit.given.push_back(given++);
    if (piece.hands_on) unit.handed.push_back(handed++);
  }
  return units;
}

/// Rows `places` of each of `blocks` blocks with `rows` rows.
std::vector<std::int64_t> in_each_block(const std::vector<std::int64_t>& places, std::int64_t blocks,
                                        std::int64_t rows) {
  std::vector<std::int64_t> all;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const std::int64_t place : places) all.push_back(block * rows + place);
  }
  return all;
}

/// Returns which states of the last step's cells the next block starts from: none unless `remembers`. Also sets their
/// number in `stage`.
OwnPieces::BlockBorder border_after(const Placement& placement, Rank rank, std::int64_t rows_per_vertex, bool remembers,
                                    PackedStage& stage) {
  if (!remembers) return {};
  const auto last = static_cast<Step>(placement.steps() - 1);
  const std::int64_t rows = placement.step_rows(rank, last);
  stage.remembered_rows = rows * rows_per_vertex;
  return {last, stage.rows - rows, rows, rows_per_vertex};
}

}  // namespace

PackedStage pack_rounds(Device& device, const Placement& placement, const std::vector<RoundPieces>& rounds,
                        std::int64_t rows_per_vertex, bool remembers) {
  const Rank rank = device.rank();
  std::vector<std::vector<SequencePiece>> pieces;
  for (const RoundPieces& round : rounds) pieces.push_back(round[rank]);
  OwnPieces own(std::move(pieces), false, placement.vertices);
  PackedStage stage;
  stage.rows = place_cells_of(placement, rank, own);
  const OwnPieces::BlockBorder border = border_after(placement, rank, rows_per_vertex, remembers, stage);
  for (std::size_t k = 0; k < rounds.size(); ++k) stage.rounds.push_back(own.round(device, k, border));
  return stage;
}

PackedStage pad_rounds(Device& device, const Placement& placement, const std::vector<RoundPieces>& rounds,
                       std::int64_t rows_per_vertex, bool remembers) {
  const Rank rank = device.rank();
  std::vector<std::map<std::int32_t, UnitPieces>> units;
  std::vector<std::vector<SequencePiece>> groups;
  for (const RoundPieces& round : rounds) {
    units.push_back(by_unit(round[rank]));
    for (const auto& [unit, own] : units.back()) groups.push_back(own.pieces);
  }
  OwnPieces own(std::move(groups), true, placement.vertices);
  PackedStage stage;
  stage.rows = place_cells_of(placement, rank, own);
  const OwnPieces::BlockBorder border = border_after(placement, rank, rows_per_vertex, remembers, stage);
  std::size_t group = 0;
  for (const auto& of_round : units) {
    PackedRound& round = stage.rounds.emplace_back();
    for (std::size_t i = 0; i < of_round.size(); ++i) {
      const PackedRound& part = round.units.emplace_back(own.round(device, group++, border));
      round.given += part.given, round.handed += part.handed;
    }
    std::size_t next = 0;
    for (const auto& [unit, pieces] : of_round) {
      PackedRound& part = round.units[next++];
      const auto given = in_each_block(pieces.given, rows_per_vertex, round.given);
      part.given_rows = list_of(device, given, static_cast<std::int64_t>(given.size()));
      part.handed_to = rows_on_device(device, in_each_block(pieces.handed, rows_per_vertex, round.handed));
    }
  }
  return stage;
}

}  // namespace strobe
