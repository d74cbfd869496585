// Exchange plans: who sends which rows to whom, derived from placements. A plan is plain data, made before the run;
// its byte matrix is known then, and asserted equal to what the communicator counts.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "harness/placement/placement.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Rows [from, from + rows) of one tensor to rows [to, to + rows) of another.
struct RowMove {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t rows = 0;
};

/// Appends a move, merging it into the last one when both sides continue.
void append_move(std::vector<RowMove>& moves, std::int64_t from, std::int64_t to, std::int64_t rows);

/// One rank's side of an exchange: output rows are made of kept input rows and of rows received from peers.
struct RankExchange {
  std::int64_t input_rows = 0;
  std::int64_t output_rows = 0;
  std::int64_t kept_rows = 0;
  std::int64_t send_total = 0;
  std::int64_t receive_total = 0;
  std::vector<std::int64_t> send_count;     // [P] rows to each peer
  std::vector<std::int64_t> receive_count;  // [P]
  // Number of moves behind each list, known with and without lists: it sizes the packing work.
  std::int64_t keep_moves = 0, pack_moves = 0, unpack_moves = 0;
  // Every peer's rows are one contiguous range of the input (output): sent (received) in place, without packing.
  bool send_in_place = true, receive_in_place = true;
  std::vector<std::int64_t> send_first;     // [P] first input row per peer when sent in place, else first buffer row
  std::vector<std::int64_t> receive_first;  // [P] likewise of the output
  // Index lists; empty when only counts were asked for.
  std::vector<RowMove> keep;    // input -> output
  std::vector<RowMove> pack;    // input -> send buffer, peers in rank order
  std::vector<RowMove> unpack;  // receive buffer, peers in rank order -> output
};

/// An exchange among all ranks. `identity` means that no rank moves anything: output is input.
struct ExchangePlan {
  bool identity = false;
  /// Whether an input row may go to several places (halo): the backward exchange must then add.
  bool fan_out = false;
  std::vector<RankExchange> ranks;  // [P]; lists only of the ranks that were asked for

  /// Rows sent from rank r to rank q.
  std::int64_t rows(Rank r, Rank q) const {
    return ranks[static_cast<std::size_t>(r)].send_count[static_cast<std::size_t>(q)];
  }
  std::int64_t total_rows() const;
};

/// For which ranks index lists are made: all, none (counts only), or one.
struct ListScope {
  enum class Kind { all, none, one } kind = Kind::all;
  Rank rank = 0;
  bool covers(Rank r) const { return kind == Kind::all || (kind == Kind::one && rank == r); }
};

/// Moves every cell from its owner under `from` to its owner under `to`. Both local orders are time-major.
/// Cost: O(T P) for equal and for range maps, O(T N) for scattered ones.
ExchangePlan redistribute(const Placement& from, const Placement& to, const ListScope& scope);

/// Cells that each rank must read at each step and does not own, in the order in which they lie behind its own rows:
/// spatial ones by owner, then vertex. Needed per step because snapshots differ. Of a graph of which only the shape is
/// known, their number.
struct HaloNeeds {
  std::vector<std::vector<std::vector<VertexId>>> vertices;  // [P][T]
  std::vector<std::vector<std::int64_t>> counted;            // [P][T] instead, or empty
};

/// Brings the needed cells behind the own rows: output = own rows, then halo rows ordered by step, then as listed, so
/// the halo row of needs.vertices[r][t][i] is halo_offsets(needs, r)[t] + i. With `needs.vertices[r][t]` empty
/// everywhere the plan is the identity.
ExchangePlan halo(const Placement& placement, const HaloNeeds& needs, const ListScope& scope);

/// In-neighbours on other ranks of the vertices that each rank owns, per step, from the graph's structure. Step t of
/// the placement is the graph's step first_step + t. Cost O(nnz + P N) per distinct step map; nothing for steps with a
/// single owner.
HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step = 0);

/// First halo row of each step of one rank, counted from the end of its own rows, and the total: [T + 1].
std::vector<std::int64_t> halo_offsets(const HaloNeeds& needs, Rank rank);

}  // namespace strobe
