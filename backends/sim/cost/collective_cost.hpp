// Collective cost models: seconds from the last arrival to the end. Each model is one file in collectives/ that
// registers itself for one kind of collective. When a kind has several models, the fastest is taken, as a library picks
// its algorithm. Fitted times of a measured machine take precedence. No collective takes less time than a rank needs to
// issue the messages that its algorithm sends one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/communicator.hpp"
#include "backends/sim/topology.hpp"
#include "core/registry.hpp"

namespace strobe::sim {

/// The bytes of an all-to-all-v, summed from its byte matrix without the diagonal: per rank, to and from ranks of the
/// same node (inside) and of other nodes (outside).
struct ExchangeLoad {
  std::vector<std::uint64_t> sent_inside, received_inside, sent_outside, received_outside;
  std::uint64_t messages = 0;       // ordered pairs of ranks with bytes
  std::uint64_t most_messages = 0;  // of one rank, sent or received

  explicit ExchangeLoad(const Topology& topology);
  ExchangeLoad() = default;
  /// Adds `bytes` that rank `from` sends to rank `to`; call it once per pair.
  void add(const Topology& topology, int from, int to, std::uint64_t bytes);

 private:
  std::vector<std::uint64_t> sent_messages_, received_messages_;  // counts of the bytes added pair by pair
};

/// The load of one collective.
struct CollectiveLoad {
  CollectiveKind kind = CollectiveKind::barrier;
  std::uint64_t bytes = 0;  // all_reduce, broadcast, send: the buffer; all_gather_v, reduce_scatter: all parts together
  std::uint64_t smallest_part_bytes = 0;  // all_gather_v, reduce_scatter: the smallest rank's part
  int from = 0, to = 0;                   // send
  ExchangeLoad exchange;                  // all_to_all_v
};

struct CollectiveCostTag {
  static constexpr const char* kind = "collective cost model";
  struct Value {
    CollectiveKind collective = CollectiveKind::barrier;
    /// Infinity when the algorithm does not apply.
    double (*seconds)(const CollectiveLoad&, const Topology&) = nullptr;
    /// Messages that must be issued one after the other: those of the busiest rank, or of the longest chain of ranks
    /// that wait for each other.
    double (*messages)(const CollectiveLoad&, const Topology&) = nullptr;
  };
};

/// Seconds of the collective by its fit, or by the fastest registered model of its kind; 0 on one rank. Messages beyond
/// the number that a fit saw cost at least `message_seconds` each. Throws Unavailable when no model is registered for
/// the kind.
double collective_seconds(const CollectiveLoad& load, const Topology& topology);

/// Bytes that the busiest rank sends or receives, by the ring volumes of Communicator, and the number of its peers.
double busiest_rank_bytes(const CollectiveLoad& load, int ranks);
double busiest_rank_messages(const CollectiveLoad& load, int ranks);

}  // namespace strobe::sim
