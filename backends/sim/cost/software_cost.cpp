// Returns what a framework adds; invariants: without a profile, and with all terms left out, nothing; never negative; a
// term left out never makes a program slower. Cost: O(1), a look-up by name.
// Programs of frameworks differ from Strobe's in structure first: they go snapshot by snapshot, so an operation of
// Strobe's is `calls x snapshots` of theirs, each with an issue by the host and a launch; a sparse product in COO
// converts or sorts its entries, in the backward pass of its transpose once more; a recurrence makes its gates by
// element-wise operations of their own; and messages to peers are issued in a loop.
#include "backends/sim/cost/software_cost.hpp"

#include <algorithm>
#include <cmath>

#include "backends/cluster.hpp"

namespace strobe::sim {
namespace {

double seconds_of(const ItemCost& cost, double items, const GpuModel& gpu) {
  return items * (cost.seconds.value_or(0) + cost.bytes.value_or(0) / gpu.memory_bytes_per_second);
}

bool is_backward(std::string_view op) { return op.ends_with("_backward") || op.find("transposed") != op.npos; }

/// Sparse products are the operations of graph convolutions; rows that others reach through an index are no entries.
bool is_sparse_product(std::string_view op) { return op.find("spmm") != op.npos || op.find("convolution") != op.npos; }

/// Once for all snapshots: steps of the optimiser, and gradients set to zero.
bool is_of_parameters(std::string_view op) { return op.ends_with("_step") || op == "fill"; }

/// Operations that cover one snapshot each in Strobe's program too: they build it from the pieces that the device
/// received.
bool is_of_one_snapshot(std::string_view op) {
  return op == "coo_to_csr" || op == "locate_entries" || op == "place_csr" || op == "apply_difference";
}

}  // namespace

void SnapshotCount::learn(std::string_view op, const Work& work) {
  const Gather& gather = work.gather;
  const bool reads_entries = is_sparse_product(op) || op.find("graph_attention") != op.npos;
  if (!reads_entries || !(gather.window_bytes > 0) || !(gather.distinct_bytes > 0)) return;
  count_ = std::max(1.0, std::round(gather.distinct_bytes / gather.window_bytes));
}

double framework_calls(const Cluster& cluster, std::string_view op, const Work& work, double snapshots) {
  if (cluster.software == nullptr || !cluster.software->use(SoftwareTerm::snapshots)) return 1;
  double times = snapshots;
  if (work.rounds > 0) times = work.rounds;  // recurrences over cells, and over a layer's weights
  if (is_of_parameters(op) || is_of_one_snapshot(op)) times = 1;
  return std::max(1.0, cluster.software->calls_of(op) * times);
}

double issue_seconds(const Cluster& cluster, double calls) {
  const Software* software = cluster.software.get();
  if (software == nullptr) return cluster.issue_seconds();
  const bool known = software->use(SoftwareTerm::issue) && software->issue_seconds;
  return calls * (known ? std::max(*software->issue_seconds, cluster.issue_seconds()) : cluster.issue_seconds());
}

double framework_seconds(const Cluster& cluster, std::string_view op, const Work& work, double calls, double seconds) {
  const Software* software = cluster.software.get();
  if (software == nullptr) return seconds;
  double all = std::max(seconds, calls * cluster.gpu.launch_seconds);
  if (software->use(SoftwareTerm::coo) && is_sparse_product(op) && work.gather.row_bytes > 0) {
    const double entries = work.gather.accessed_bytes / work.gather.row_bytes;
    all += seconds_of(is_backward(op) ? software->coo_backward : software->coo, entries, cluster.gpu);
  }
  if (!software->use(SoftwareTerm::recurrences)) return all;
  const auto recurrence = software->recurrences.find(op);
  return recurrence == software->recurrences.end()
             ? all
             : std::max(all, seconds_of(recurrence->second, work.bytes(), cluster.gpu));
}

double framework_host_seconds(const Cluster& cluster, const Work& work) {
  const Software* software = cluster.software.get();
  if (software == nullptr || !software->use(SoftwareTerm::sampling) || !(work.gather.row_bytes > 0)) return 0;
  return work.gather.accessed_bytes / work.gather.row_bytes * software->row_seconds.value_or(0);
}

double framework_collective_seconds(const Cluster& cluster, const CollectiveLoad& load, Traffic traffic, int ranks,
                                    double snapshots) {
  const Software* software = cluster.software.get();
  const bool messages = load.kind == CollectiveKind::all_to_all_v || load.kind == CollectiveKind::send;
  if (software == nullptr || !messages || ranks == 1) return 0;
  const bool halo = traffic == Traffic::halo, each = halo && software->use(SoftwareTerm::snapshots);
  const double sent = busiest_rank_messages(load, ranks) * (each ? snapshots : 1);
  double seconds = 0;
  if (software->use(SoftwareTerm::messages)) {
    seconds += sent * software->message_seconds.value_or(0);
    if (halo) seconds += sent * software->calls_of("halo_message") * software->issue_seconds.value_or(0);
  }
  if (software->use(SoftwareTerm::serialisation)) {
    seconds += 2 * (sent * software->serialise_message_seconds.value_or(0) +
                    busiest_rank_bytes(load, ranks) * software->serialise_byte_seconds.value_or(0));
  }
  return seconds;
}

}  // namespace strobe::sim
