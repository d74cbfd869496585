// Exchange plans: who sends which rows to whom, derived from placements. A plan is plain data that is made before the
// run. Its byte matrix is known then, and must equal the bytes that the communicator counts. A plan lists only the
// peers that exchange rows. A hand-over between two of many ranks has two entries. A redistribution between all pairs
// with equal numbers of rows has a few entries for each rank.
#pragma once

#include <cstdint>
#include <memory>
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
  std::int64_t moves = 0;  // length of `list`, known also when only counts were asked for: it sizes the packing work
  /// Every peer's rows are one contiguous range of the tensor: sent (received) in place, without packing.
  bool in_place = true;
  /// Rows of each peer, in the tensor when in place, else one peer after the other in a buffer.
  SharedPeers peers = no_peers();
  /// Moves from tensor to buffer for sent rows, from buffer to tensor for received rows. Peers are in rank order. Empty
  /// when only counts were asked for.
  std::vector<RowMove> list;

  PeerParts parts() const { return peers->parts(); }
  std::int64_t rows_of(Rank peer) const { return peers->rows_between(peer, peer + 1); }
  friend bool operator==(const PeerSide& a, const PeerSide& b) {
    return a.total == b.total && a.moves == b.moves && a.in_place == b.in_place && a.parts() == b.parts() &&
           a.list == b.list;
  }
};

/// One rank's side of an exchange. Its output rows are kept input rows and rows received from peers.
struct RankExchange {
  Rank rank = 0;
  std::int64_t input_rows = 0;
  std::int64_t output_rows = 0;
  std::int64_t kept_rows = 0;
  std::int64_t keep_moves = 0;  // length of `keep`, known also when only counts were asked for
  std::vector<RowMove> keep;    // input -> output; empty when only counts were asked for
  PeerSide send, receive;

  /// Whether the rank's output is its input.
  bool keeps_all() const;
  /// Whether every output row comes from somewhere, and whether every input row goes somewhere.
  bool fills_output() const { return kept_rows + receive.total == output_rows; }
  bool uses_input(bool fan_out) const { return kept_rows + (fan_out ? 0 : send.total) == input_rows; }
  friend bool operator==(const RankExchange&, const RankExchange&) = default;
};

struct ServerRoute;  // harness/full_batch/exchange/server_route.hpp

/// An exchange among all ranks. `identity` means that no rank moves anything: output is input.
struct ExchangePlan {
  bool identity = false;
  /// Whether an input row may go to several places (halo). Then the backward exchange must add. A rank keeps all of its
  /// own rows or none.
  bool fan_out = false;
  /// Whether rows never go back, so that a rank needs lists for one direction only.
  bool one_way = false;
  int rank_count = 0;
  std::vector<RankExchange> ranks;  // only ranks with rows, ascending; index lists only where asked for
  /// The way of the rows through servers. Null: from peer to peer, as the ranks' sides say.
  std::shared_ptr<const ServerRoute> servers = nullptr;

  /// Rank r's side; an empty one where it has no rows.
  const RankExchange& of(Rank r) const;
  /// Rows sent from rank r to rank q.
  std::int64_t rows(Rank r, Rank q) const { return of(r).send.rows_of(q); }
  /// Rows that ranks read of other ranks.
  std::int64_t total_rows() const { return total_rows_; }
  /// Computes the total and `identity` from the ranks' sides.
  void complete();

 private:
  std::int64_t total_rows_ = 0;
};

struct ShareHolders;  // workloads/partitioners/share_holders.hpp

/// For which ranks index lists are made: all, none (counts only), or one. `servers` carry rows of halos and states; 0:
/// from peer to peer. With `others_as_sums`, which needs `one`, the plan knows of exchanges between other ranks their
/// rows alone, so that its memory is that of the rank's own part. With servers too, the processes of all ranks make
/// their plans `together`.
struct ListScope {
  enum class Kind { all, none, one } kind = Kind::all;
  Rank rank = 0;
  int servers = 0;
  bool others_as_sums = false;
  const ShareHolders* together = nullptr;
  bool covers(Rank r) const { return kind == Kind::all || (kind == Kind::one && rank == r); }
};

/// Moves every cell from its owner under `from` to its owner under `to`. Both local orders are time-major. A cell
/// without an owner under `from` has a zero row in the output; a cell without an owner under `to` is dropped. Where
/// each step has a single owner on one side, time is O(T P + N) and scratch memory O(P). Otherwise time is O(T P) for
/// ranges and O(T N) for scattered maps, plus O(pairs that exchange something).
ExchangePlan redistribute(const Placement& from, const Placement& to, const ListScope& scope);

/// The opposite redistribution: for `plan` = redistribute(from, to) it returns redistribute(to, from).
ExchangePlan reversed(const ExchangePlan& plan);

/// Rows that one rank needs of another.
struct PairRows {
  Rank owner = 0, reader = 0;
  std::int64_t rows = 0;
  friend bool operator==(const PairRows&, const PairRows&) = default;
};

/// Cells that each rank must read at each step and does not own, in the order of the halo rows. Spatial needs are
/// ordered by owner, then vertex. Needs differ between steps because snapshots differ. For a graph that is known by its
/// shape only, they are numbers of cells.
struct HaloNeeds {
  std::vector<std::vector<std::vector<VertexId>>> vertices;  // [P][T]; [P][0] for a rank that needs nothing
  std::vector<std::vector<std::int64_t>> counted;            // numbers instead of vertices [P][T], or empty
  std::int64_t steps = 0;                                    // T
  std::vector<PairRows> beyond = {};  // rows that are not listed, if the scope asks for one rank's part (NeedScope)

  const std::vector<VertexId>& of(Rank rank, Step t) const;
  /// The entry of a rank's step, to be filled in.
  std::vector<VertexId>& at(Rank rank, Step t);
  std::int64_t& count_at(Rank rank, Step t);
};

/// Empty needs of `ranks` ranks and `steps` steps. `by_count` says whether counts or vertices will be filled in.
HaloNeeds no_needs(int ranks, std::int64_t steps, bool by_count = false);

/// Appends the needed cells to the own rows: output = own rows, then halo rows ordered by step, then as listed. So the
/// halo row of needs.vertices[r][t][i] is halo_offsets(needs, r)[t] + i. Without needs the plan is the identity.
ExchangePlan halo(const Placement& placement, const HaloNeeds& needs, const ListScope& scope);

struct NeedScope;  // harness/full_batch/exchange/needed_rows.hpp

/// Cells at earlier steps of its own vertices that a rank must read and does not own. A cell reads the last `window`
/// steps, or all earlier steps with window 0. It never reads past the start of its sequence, where the vertex had no
/// owner. Cells before `first_reader` read nothing. Ordered like spatial needs. Cost O(T N) and the needs.
HaloNeeds temporal_needs(const Placement& placement, std::int64_t window, Step first_reader, const NeedScope& scope);
HaloNeeds temporal_needs(const Placement& placement, std::int64_t window, Step first_reader = 0);

/// For each rank and step, the in-neighbours on other ranks of the vertices that the rank owns, from the graph's
/// structure. Step t of the placement is the graph's step first_step + t. Cost O(nnz + P N) per distinct step map;
/// nothing for steps with a single owner. Memory: 4 bytes a vertex while it runs, 8 where runs of other ranks
/// are not listed, and the needs.
HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step,
                        const NeedScope& scope);
HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step = 0);

/// First halo row of each step of one rank, counted from the end of its own rows, and the total: [T + 1].
std::vector<std::int64_t> halo_offsets(const HaloNeeds& needs, Rank rank);

}  // namespace strobe
