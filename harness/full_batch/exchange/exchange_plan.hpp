// Exchange plans: who sends which rows to whom, derived from placements. A plan is plain data, made before the run;
// its byte matrix is known then, and asserted equal to what the communicator counts. It lists the peers that there are:
// a hand-over between two of many ranks is two entries long, and a redistribution in which every pair of ranks
// exchanges the same number of rows a few for each rank.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/communicator.hpp"
#include "core/ids.hpp"
#include "harness/placement/placement.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Rows [from, from + rows) of one tensor to rows [to, to + rows) of another.
struct RowMove {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t rows = 0;
  friend bool operator==(const RowMove&, const RowMove&) = default;
};

/// Appends a move, merging it into the last one when both sides continue.
void append_move(std::vector<RowMove>& moves, std::int64_t from, std::int64_t to, std::int64_t rows);

/// One direction of one rank's side: the rows that go to its peers, or that come from them.
struct PeerSide {
  std::int64_t total = 0;  // rows of all peers
  std::int64_t moves = 0;  // behind `list`, known with and without it: it sizes the packing work
  /// Every peer's rows are one contiguous range of the tensor: sent (received) in place, without packing.
  bool in_place = true;
  /// Rows of each peer, in the tensor when in place, else one peer after the other in a buffer.
  SharedPeers peers = no_peers();
  /// Tensor -> buffer of what is sent, buffer -> tensor of what is received, peers in rank order; empty when only
  /// counts were asked for.
  std::vector<RowMove> list;

  PeerParts parts() const { return peers->parts(); }
  std::int64_t rows_of(Rank peer) const { return peers->rows_between(peer, peer + 1); }
  friend bool operator==(const PeerSide& a, const PeerSide& b) {
    return a.total == b.total && a.moves == b.moves && a.in_place == b.in_place && a.parts() == b.parts() &&
           a.list == b.list;
  }
};

/// One rank's side of an exchange: output rows are made of kept input rows and of rows received from peers.
struct RankExchange {
  Rank rank = 0;
  std::int64_t input_rows = 0;
  std::int64_t output_rows = 0;
  std::int64_t kept_rows = 0;
  std::int64_t keep_moves = 0;  // behind `keep`, likewise
  std::vector<RowMove> keep;    // input -> output; empty when only counts were asked for
  PeerSide send, receive;

  /// Whether the rank's output is its input.
  bool keeps_all() const;
  /// Whether every output row comes from somewhere, and every input row goes somewhere.
  bool fills_output() const { return kept_rows + receive.total == output_rows; }
  bool uses_input(bool fan_out) const { return kept_rows + (fan_out ? 0 : send.total) == input_rows; }
  friend bool operator==(const RankExchange&, const RankExchange&) = default;
};

/// An exchange among all ranks. `identity` means that no rank moves anything: output is input.
struct ExchangePlan {
  bool identity = false;
  /// Whether an input row may go to several places (halo): the backward exchange must then add. Own rows are all kept,
  /// or none is.
  bool fan_out = false;
  int rank_count = 0;
  std::vector<RankExchange> ranks;  // that have rows before or after it, ascending; lists only of those asked for

  /// What rank r does; nothing where it has no rows.
  const RankExchange& of(Rank r) const;
  /// Rows sent from rank r to rank q.
  std::int64_t rows(Rank r, Rank q) const { return of(r).send.rows_of(q); }
  std::int64_t total_rows() const { return total_rows_; }
  /// Sets what follows from the ranks' sides: the total and `identity`.
  void complete();

 private:
  std::int64_t total_rows_ = 0;
};

/// For which ranks index lists are made: all, none (counts only), or one.
struct ListScope {
  enum class Kind { all, none, one } kind = Kind::all;
  Rank rank = 0;
  bool covers(Rank r) const { return kind == Kind::all || (kind == Kind::one && rank == r); }
};

/// Moves every cell from its owner under `from` to its owner under `to`. Both local orders are time-major. A cell that
/// is nobody's on one side comes from nowhere or goes nowhere: its row there is zero, or dropped. Cost where one rank
/// owns each step on one side: time O(T P + N) and O(P) for what is made meanwhile; else O(T P) for ranges and O(T N)
/// for scattered maps, and O(pairs that exchange something).
ExchangePlan redistribute(const Placement& from, const Placement& to, const ListScope& scope);

/// The way back of a redistribution: what `redistribute(to, from)` gives where `plan` is `redistribute(from, to)`.
ExchangePlan reversed(const ExchangePlan& plan);

/// Cells that each rank must read at each step and does not own, in the order in which they lie behind its own rows:
/// spatial ones by owner, then vertex. Needed per step because snapshots differ. Of a graph of which only the shape is
/// known, their number.
struct HaloNeeds {
  std::vector<std::vector<std::vector<VertexId>>> vertices;  // [P][T]; [P][0] of a rank that needs nothing
  std::vector<std::vector<std::int64_t>> counted;            // likewise instead, or empty
  std::int64_t steps = 0;                                    // T

  const std::vector<VertexId>& of(Rank rank, Step t) const;
  /// The entry of a rank's step, to be filled in.
  std::vector<VertexId>& at(Rank rank, Step t);
  std::int64_t& count_at(Rank rank, Step t);
};

/// Nothing, of so many ranks and steps; `by_count` says which of the two it is to be filled with.
HaloNeeds no_needs(int ranks, std::int64_t steps, bool by_count = false);

/// Brings the needed cells behind the own rows: output = own rows, then halo rows ordered by step, then as listed, so
/// the halo row of needs.vertices[r][t][i] is halo_offsets(needs, r)[t] + i. With `needs.vertices[r][t]` empty
/// everywhere the plan is the identity.
ExchangePlan halo(const Placement& placement, const HaloNeeds& needs, const ListScope& scope);

/// The cells of their own vertices at earlier steps that each rank must read and does not own, where a cell reads its
/// last `window` steps, or all earlier ones with window 0: back to where its sequence began, which is where the vertex
/// is nobody's before. Cells before `first_reader` read nothing. Ordered like spatial ones. Cost O(T N) and the needs.
HaloNeeds temporal_needs(const Placement& placement, std::int64_t window, Step first_reader = 0);

/// In-neighbours on other ranks of the vertices that each rank owns, per step, from the graph's structure. Step t of
/// the placement is the graph's step first_step + t. Cost O(nnz + P N) per distinct step map; nothing for steps with a
/// single owner.
HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step = 0);

/// First halo row of each step of one rank, counted from the end of its own rows, and the total: [T + 1].
std::vector<std::int64_t> halo_offsets(const HaloNeeds& needs, Rank rank);

}  // namespace strobe
