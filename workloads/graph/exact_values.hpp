// Doubles in addition to the fp32 numbers of a graph. They are kept where fp32 rounds any of these, so that runs in
// fp64 compute with the file's values. Graphs of whole numbers need no memory for them.
#pragma once

#include <cstddef>
#include <span>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// `exact`, when it differs from `rounded` anywhere, else nothing. NaN equals NaN. Both have one length, unless `exact`
/// is empty.
Column<double> where_rounded(Column<double> exact, std::span<const float> rounded);

/// Values as a graph keeps them.
struct BothPrecisions {
  Column<float> rounded;  // the fp32 numbers next to them
  Column<double> exact;   // the values themselves where these differ, else empty
};
BothPrecisions both_precisions(Column<double> values);

/// The fp32 numbers next to `values`.
Column<float> in_single(std::span<const double> values);

/// Entry `i` of a snapshot, in double where the graph has it.
inline double exact_value(const Snapshot& snapshot, std::size_t i) {
  return snapshot.exact_values.empty() ? static_cast<double>(snapshot.values[i]) : snapshot.exact_values[i];
}

/// The weight of event `e`, in double where the graph has it; the graph has weights.
inline double exact_weight(const EventGraph& events, std::size_t e) {
  return events.exact_weight.empty() ? static_cast<double>(events.weight[e]) : events.exact_weight[e];
}

/// For every entry of `snapshot`, the sum over its events in [first, last), all events of the snapshot: of exact
/// weights, or with `counted` of events. In double and in time order. [nnz] Cost O(events log d).
Column<double> exact_sums(const EventGraph& events, std::size_t first, std::size_t last, bool counted,
                          bool rows_are_targets, bool rows_are_sources, const Snapshot& snapshot);

}  // namespace strobe
