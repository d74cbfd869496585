// Files that hold steps instead of events: the shared parts of their formats, and how options apply to them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

struct FileOptions;

/// An edge of a snapshot in dense ids.
struct SnapshotEdge {
  VertexId source = 0, target = 0;
  double weight = 1;  // within fp32's range
};

/// The snapshot of `edges` over `vertices` vertices. Parallel edges become one, their weights add. Rows, self-loops and
/// merged rows are added to the counts of `provenance`. Under a bound of memory (reading_bound.hpp) large arrays lie in
/// temporary files. Cost O(N + E log d).
std::shared_ptr<const Snapshot> make_snapshot(std::int64_t vertices, std::span<const SnapshotEdge> edges,
                                              Provenance& provenance);

/// Fills name, format, source and SHA-256 of the file at `path`.
void describe_file(const std::string& path, const std::string& format, Provenance& provenance);

/// The target of a step is the series' value one step later; the last step has none (NaN). `series` is [T, N].
Column<float> next_step_targets(std::span<const double> series, std::int64_t vertices);

/// Applies orientation and weights to a graph that a format read. `weights` count and file keep the file's values (a
/// step has no events to count), binary makes them 1. Throws InvalidRequest for options that cut events: such a file
/// has its steps already.
void apply_options(const FileOptions& options, SnapshotGraph& graph);

/// The number in `text`. Throws InvalidRequest(where, ...) when it is no finite number.
double missing_value(const std::string& text, const std::string& where);

/// Targets equal to `missing` (a number as text; "" = none) become NaN, which is no sample; a note states their number.
/// Features stay, because a model sees what a sensor sent. Without `missing`, a note says when many of the targets are
/// 0, the value that traffic data use for missing measurements. Throws InvalidRequest when the graph has no targets, or
/// `missing` is no finite number. Source: the masked losses and metrics of Li et al., DCRNN, ICLR 2018, section 4.
void leave_out_missing(const std::string& missing, SnapshotGraph& graph);

/// Throws InvalidInput when the value of an edge, the sum of weights, exceeds fp32. Names its step and its vertices (as
/// the file numbers them, where `events` are given).
void refuse_overflow(const SnapshotGraph& graph, const std::string& path, const EventGraph* events = nullptr);

}  // namespace strobe
