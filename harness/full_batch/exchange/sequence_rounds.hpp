// Rounds of pieces: how state passes along timelines that are cut anywhere. A vertex's sequence is a maximal run of
// steps at which its cell exists. A piece is a run of its steps on one rank. A piece's round is the number of changes
// of owner before it in its sequence. So all pieces of a round can be computed after those of the previous round, and
// no order has fewer rounds. DGC (SIGMOD'23, section 5.1) computes them packed.
#pragma once

#include <vector>

#include "harness/full_batch/exchange/needed_rows.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// Steps [first, first + steps) of one vertex's sequence on one rank.
struct SequencePiece {
  VertexId vertex = 0;
  Step first = 0;
  std::int32_t steps = 0;
  bool given = false;     // starts from the state of a piece of the previous round; else from nothing
  bool hands_on = false;  // passes its state to a piece of the next round
  std::int32_t unit = 0;  // unit of the rank that walks this piece, where a rank has several units
  friend bool operator==(const SequencePiece&, const SequencePiece&) = default;
};

/// Pieces of one round by rank, ascending by (first, vertex): [P]. The states that a rank receives, or hands on, have
/// the order of its pieces.
using RoundPieces = std::vector<std::vector<SequencePiece>>;

/// Where the steps of a placement lie in the timeline, and what lies before them.
struct SequenceStart {
  std::int64_t first_step = 0;   // If > 0, pieces that begin at the placement's first step receive a state. It is zero
                                 // where a sequence begins there.
  std::int64_t reset_every = 0;  // n > 0: sequences end before every step of the timeline that n divides
};

/// Whose pieces are listed: those of all owners, or those of own ones and what they exchange. Owners are ranks, or
/// units of ranks.
struct PieceScope {
  NeedScope needs{};
  std::vector<Rank> rank_of_owner{};  // empty: owners are ranks

  Rank rank_of(Rank owner) const { return rank_of_owner.empty() ? owner : rank_of_owner[owner]; }
};

/// Hand-overs between ranks whose pieces are not listed: into each round, the numbers of pieces by pair of ranks.
using RoundSums = std::vector<std::vector<PairRows>>;

/// The pieces of a placement's timelines, by round. Cost O(T N). Memory: 16 bytes a vertex while it runs, and the
/// pieces. Pieces out of scope are listed only if they give a state to an own piece or get one. They may miss steps.
/// `beyond`, if any, gets the sums of the rest.
std::vector<RoundPieces> sequence_rounds(const Placement& placement, const SequenceStart& start,
                                         const PieceScope& scope, RoundSums* beyond);
std::vector<RoundPieces> sequence_rounds(const Placement& placement, const SequenceStart& start = {});

/// All pieces as one round, for training that does not wait at cuts. With `handed`, each cut is marked: the piece
/// before it hands its state on, and the piece after it is given one, an epoch later. Without, nobody does. Cost O(T
/// N).
RoundPieces pieces_at_once(const Placement& placement, const SequenceStart& start, bool handed,
                           const PieceScope& scope = {}, RoundSums* beyond = nullptr);

/// The hand-over that leads from the pieces of such a round to those of the same round in the next epoch.
ExchangePlan handover_to_next_epoch(const RoundPieces& round, int ranks, const StateShape& shape,
                                    const ListScope& scope, const RoundSums& beyond = {});

/// Pieces by rank, from the pieces of a placement whose owners are units, numbered rank by rank. Each piece names its
/// unit. Its state may pass to a unit of the same rank. Cost O(pieces, log).
std::vector<RoundPieces> pieces_of_ranks(const std::vector<RoundPieces>& of_units,
                                         const std::vector<std::int64_t>& units_per_rank);

/// Hand-overs of a state of `shape` from each round to the next: [rounds - 1]. State rows are `rows_per_vertex` blocks
/// of one row per piece. Cost O(pieces).
std::vector<ExchangePlan> round_handovers(const std::vector<RoundPieces>& rounds, int ranks, const StateShape& shape,
                                          const ListScope& scope, const RoundSums& beyond = {});

}  // namespace strobe
