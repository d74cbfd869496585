// Dynamic graphs. A continuous-time graph is a time-sorted list of events; a discrete-time graph is a sequence of
// sparse snapshots. Both are immutable values: functions transform them into new ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/ids.hpp"

namespace strobe {

/// What was read, from where, and what the reading did. Kept with a graph and written to results.
struct Provenance {
  std::string name;    // catalogue name or file name
  std::string format;  // format plug-in, or "generated"
  std::string source;  // path, or generator with parameters
  std::string sha256;  // of the source file's raw bytes; "" when generated
  std::string licence;
  std::string ids = "shared";      // shared: equal source and target ids are one vertex; offset: they are two
  std::int64_t rows = 0;           // data rows read
  std::int64_t self_loops = 0;     // rows with u == v (kept as events)
  std::int64_t duplicates = 0;     // rows beyond the first of an equal (u, v, time)
  bool was_sorted = true;          // rows were already in time order
  std::vector<std::string> notes;  // choices that reading made for the user, one sentence each
};

/// Continuous-time dynamic graph: events (u -> v at time t, weight), sorted by time, ties in file order. Vertex ids are
/// dense, 0-based; original ids are kept for reports. An event's position is its EdgeId.
struct EventGraph {
  std::int64_t vertices = 0;              // distinct ids that occur
  std::vector<VertexId> source, target;   // [E]
  std::vector<double> time;               // [E], non-decreasing; seconds, or steps when `stepped`
  std::vector<float> weight;              // [E], or empty when the file has no weights
  std::vector<std::int64_t> original_id;  // [vertices]
  bool stepped = false;                   // times are integer steps (AMLSim), not seconds
  bool two_sided = false;                 // the file numbers sources and targets apart; `settle_ids` acts on it
  std::vector<std::int8_t> vertex_label;  // [vertices] or empty (AMLSim isFraud)
  std::vector<std::int8_t> event_label;   // [E] or empty (JODIE state_label)
  std::int64_t edge_feature_width = 0;    // F_e, 0 when events carry no features
  std::vector<float> edge_features;       // [E * F_e], event-major
  Provenance provenance;

  std::int64_t events() const { return static_cast<std::int64_t>(source.size()); }
};

/// One snapshot as CSR: row v lists the in-neighbours u of v (an edge u -> v carries u's features to v), columns sorted
/// and distinct; values are the summed weights of parallel edges.
struct Snapshot {
  std::vector<std::int64_t> row_offsets;  // [N + 1]
  std::vector<VertexId> columns;          // [nnz]
  std::vector<float> values;              // [nnz]
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(columns.size()); }
};

/// Discrete-time dynamic graph: `steps()` snapshots over the same N vertices, and features per step.
/// Features are [T, N, F] time-major.
struct SnapshotGraph {
  std::int64_t vertices = 0;
  std::vector<std::shared_ptr<const Snapshot>> snapshots;  // [T]; equal snapshots may share storage
  std::int64_t feature_width = 0;
  std::vector<float> features;            // [T * N * F]
  std::vector<double> step_begin;         // [T] time at which the step's window begins, or empty
  std::vector<std::int8_t> vertex_label;  // [N] or empty
  Provenance provenance;

  std::int64_t steps() const { return static_cast<std::int64_t>(snapshots.size()); }
  std::int64_t edges() const;  // non-zeros summed over steps
};

/// How events become steps. Exactly one of duration, events, count is set (> 0), except for stepped graphs, whose
/// steps are taken as they are when none is.
struct Windowing {
  std::string duration = "";      // text with unit, "30d"; a bare number of steps for stepped graphs
  std::int64_t events = 0;        // events per window
  std::int64_t count = 0;         // number of equal time slices
  std::string partial = "keep";   // last partial window: keep | drop
  std::string weights = "count";  // value of an edge: count (events), binary (1), file (sum of file weights)
};

/// Steps from events: windows are half-open [begin, begin + duration) from the first event's time; empty windows are
/// kept. Features are (in-degree, out-degree) of the raw step, multi-edges with multiplicity (decisions M8), F = 2.
/// `orientation`: in = rows are targets (default), out = transposed, both = union of the two (values add; binary stays
/// 1). With partial=drop the last window of a duration goes, as the data end inside it (of steps or events: when it is
/// not full). Refuses, before allocating, more steps than this machine's memory could hold.
/// Throws InvalidRequest for an impossible windowing, InvalidInput for weights that are not there.
SnapshotGraph make_snapshots(const EventGraph& events, const Windowing& windowing,
                             const std::string& orientation = "in");

/// Fraction of the edges of step t+1 that were there at step t, averaged over t: |E_t and E_{t+1}| / |E_{t+1}|;
/// steps without edges are left out. NaN when nothing can be compared.
double mean_overlap(const SnapshotGraph& graph);

}  // namespace strobe
