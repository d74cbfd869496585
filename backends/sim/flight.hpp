// Flight: one collective, or one message, of simulated ranks, from the first arrival to its end in virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/instant.hpp"

namespace strobe::sim {

/// One member's contribution: its buffers and its lists of peers.
struct Call {
  CollectiveKind kind = CollectiveKind::barrier;
  Traffic traffic = Traffic::other;
  Tensor send, receive;
  SharedPeers sends, receives;  // an all_to_all_v has both, a gather and a scatter one of them
  int root = 0;                 // broadcast
  Instant arrival;
  bool arrived = false;
  ExchangePieces pieces = {};  // for an exchange that moves values
  Reduction reduction = Reduction::sum;
  std::uint64_t groups = 0;  // for the barrier of a split
};

/// Members are all ranks of a communicator, or for a message the sender (0) and the receiver (1).
struct Flight {
  std::vector<Call> calls;
  std::vector<int> ranks;  // ranks of a message's members; empty: member m is rank m
  MemberRanks members;     // the communicator's ranks as ranks of the job
  int arrived = 0;
  const std::vector<Topology>* topologies = nullptr;  // for a collective: its communicator's, by lane
  int next = 0;       // for a collective: the number of members for which it is the first that has not
                      // ended
  bool done = false;  // the times below hold, or `mismatch` says why there are no times
  Instant ready;      // the last rank had arrived, and the links were free
  Instant end;
  std::string mismatch;      // how the members disagree
  std::vector<int> waiting;  // ranks of the job to wake when it is done

  bool complete() const { return arrived == static_cast<int>(calls.size()); }
  /// In the job.
  int rank_of(int member) const { return world_rank(members, ranks.empty() ? member : ranks[member]); }
  Instant last_arrival() const;
  std::vector<int> missing_ranks() const;
};

Call make_call(const Collective& collective, Instant arrival);

/// Lists the ranks that have rows.
PeerParts one_per_rank(const PeerList& peers);

/// How the members of a complete flight disagree, naming both sides, or "". Cost: O(ranks) where they agree.
std::string find_disagreement(const Flight& flight);

/// The load of a complete flight without disagreement, for the cost models. `topology` is the communicator's. Cost:
/// O(ranks); an all_to_all_v also looks up the rows between each rank and its node's ranks.
CollectiveLoad load_of(const Flight& flight, const Topology& topology);

/// Moves the values of a complete flight between the members' buffers; sums are added in rank order. Does nothing when
/// the tensors hold no values. Throws Error for element types that cannot be added.
void move_values(const Flight& flight);

}  // namespace strobe::sim
