// Costs that a framework's program adds to operations, host work and collectives (backends/software.hpp).
#pragma once

#include <string_view>

#include "backends/communicator.hpp"
#include "backends/sim/cost/collective_cost.hpp"
#include "backends/software.hpp"

namespace strobe::sim {

/// Counts how many snapshots the operations of a rank's program cover. A framework's program handles them one by one.
class SnapshotCount {
 public:
  /// Learns the number from the work of an operation: a sparse product's share of rows that one snapshot reads tells
  /// it. Operations between two such products cover the same snapshots.
  void learn(std::string_view op, const Work& work);
  double count() const { return count_; }

 private:
  double count_ = 1;
};

/// Number of framework operations that replace one of Strobe's that covers `snapshots`. A recurrence has some for each
/// of its rounds. 1 with Strobe's own program.
double framework_calls(const Cluster& cluster, std::string_view op, const Work& work, double snapshots);

/// Seconds of the host to issue the operations that replace one of Strobe's.
double issue_seconds(const Cluster& cluster, double calls);

/// Device seconds in the framework for an operation of Strobe's program that takes `seconds`.
double framework_seconds(const Cluster& cluster, std::string_view op, const Work& work, double calls, double seconds);

/// Seconds of host work in addition to Strobe's.
double framework_host_seconds(const Cluster& cluster, const Work& work);

/// Seconds that the program adds to one collective: messages issued one by one to each peer (halos once for each of
/// `snapshots`), the operations that collect and place a halo message's rows by their lists, which are made once before
/// training, and the serialisation of all messages at both ends.
double framework_collective_seconds(const Cluster& cluster, const CollectiveLoad& load, Traffic traffic, int ranks,
                                    double snapshots);

}  // namespace strobe::sim
