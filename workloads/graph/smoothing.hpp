// Sums of snapshots over the last steps: what edge life and the M-transform of A are made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/graph/presence.hpp"

namespace strobe {

/// One step after smoothing, in double.
struct SmoothStep {
  std::vector<std::int64_t> row_offsets;  // [N + 1]
  std::vector<VertexId> columns;
  std::vector<double> values;
  std::vector<double> features;  // [N * F]
  std::vector<double> product;   // [N * F] A X where X is kept
};

/// The steps whose rows are summed for step t, and the divisor of the sum. When it fades, step s of the last t counts 1
/// / (t - s + 1).
struct SmoothingSpan {
  std::int64_t first = 0, last = 0;
  double divisor = 1;
  bool fades = false;
  bool within_sequence = false;  // the M-transform: a row sums no step before its vertex's sequence
  double weight(std::int64_t s) const { return fades ? 1.0 / static_cast<double>(last - s + 1) : 1.0; }
  /// The span of a row whose sequence began at step `begin`: a mean is one over its own steps.
  SmoothingSpan since(std::int64_t begin) const {
    if (!within_sequence || begin <= first) return *this;
    return {begin, last, fades ? 1.0 : static_cast<double>(last - begin + 1), fades, true};
  }
};

/// The span of step t under a smoothing (Preprocessing::smooth) of `window` steps; `m` is Preprocessing::m.
SmoothingSpan smoothing_span(const std::string& smooth, std::int64_t window, std::int64_t t,
                             const std::string& m = "row_mean");

/// Throws InvalidRequest("smooth", ...) and ("window", ...) for a smoothing that there is not.
void check_smoothing(const std::string& smooth, std::int64_t window);

/// The smoothed A_t; with `self_loops`, A_t + I (an existing diagonal entry grows by one). `exact`: of exact values,
/// where a snapshot has them. With `presence`, rows of vertices that do not exist at step t are empty, and so are the
/// columns of those; a row under the M-transform sums from where its vertex's sequence began. Cost O(non-zeros of the
/// span): rows are merged one snapshot at a time.
SmoothStep smooth_adjacency(const SnapshotGraph& graph, SmoothingSpan span, bool self_loops, bool exact,
                            const Presence* presence = nullptr);

/// Every snapshot smoothed: values rounded to fp32, and also exact values. Throws the same errors as check_smoothing.
SnapshotGraph smooth_snapshots(const SnapshotGraph& graph, const std::string& smooth, std::int64_t window);

/// A~_t = A_t + sum of the l - 1 snapshots before it (values add, index sets unite).
SnapshotGraph edge_life(const SnapshotGraph& graph, std::int64_t life);

}  // namespace strobe
