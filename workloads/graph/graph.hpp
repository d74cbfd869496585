// Dynamic graphs. A continuous-time graph is a time-sorted list of events; a discrete-time graph is a sequence of
// sparse snapshots. Both are immutable values: functions transform them into new ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/ids.hpp"
#include "workloads/graph/generated_data.hpp"
#include "workloads/graph/name_column.hpp"
#include "workloads/graph/planted_links.hpp"
#include "workloads/storage/column.hpp"
#include "workloads/storage/time_column.hpp"

namespace strobe {

/// The input that was read, its source, and what the reading changed. Kept with a graph and written to results.
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

/// Classes that vertices have from a time on (TGL labels.csv, TGB node labels), sorted by time, ties in file order. All
/// four have one length. A vertex with several classes at one time has one entry for each.
struct TimedLabels {
  Column<VertexId> vertex;
  Column<double> time;
  Column<std::int32_t> label;  // class, not negative
  Column<float> share;         // its weight among the classes of the vertex at that time; 1 for a plain class
};

/// Continuous-time dynamic graph: events (u -> v at time t, weight), sorted by time, ties in file order. Vertex ids are
/// dense, 0-based; original ids are kept for reports. An event's position is its EdgeId. Columns are read like const
/// vectors and may be views on a mapped file; single values change through `edit()`.
struct EventGraph {
  std::int64_t vertices = 0;              // distinct ids that occur
  Column<VertexId> source, target;        // [E]
  TimeColumn time;                        // [E], non-decreasing; seconds, or steps when `stepped`
  Column<float> weight;                   // [E], or empty when the file has no weights
  Column<std::int64_t> original_id;       // [vertices]
  bool stepped = false;                   // times are integer steps (AMLSim), not seconds
  bool two_sided = false;                 // the file numbers sources and targets apart; `settle_ids` acts on it
  Column<std::int8_t> vertex_label;       // [vertices] or empty (AMLSim isFraud)
  Column<std::int8_t> event_label;        // [E] or empty (JODIE state_label)
  std::int64_t edge_feature_width = 0;    // F_e, 0 when events carry no features
  Column<float> edge_features;            // [E * F_e], event-major; empty where `edge_feature_source` makes them
  std::int64_t vertex_feature_width = 0;  // F_v, 0 when vertices carry no features
  Column<float> vertex_features;          // [vertices * F_v], vertex-major; of a two-sided file: of its targets
  TimedLabels timed_labels;
  bool labels_before = false;             // a timed label describes what happens from its time on (TGB)
  bool removals = false;                  // an event of weight -1 removes its edge (KONECT `dynamic`)
  bool dated = false;                     // the file writes times as dates
  NameColumn vertex_name;                 // [vertices] or empty: the names that the file uses instead of numbers
  Column<double> exact_weight;            // [E] or empty: the weights, where fp32 rounds any of them
  GeneratedFeatures edge_feature_source;  // makes features on demand when its width is F_e > 0: see event_data.hpp
  GeneratedClasses event_class_source;    // makes several classes of an event on demand; none when `classes` is 0
  PlantedLinks planted;                   // the law of the events, where it is known
  Provenance provenance;

  std::int64_t events() const { return static_cast<std::int64_t>(source.size()); }
};

/// One snapshot as CSR: row v lists the in-neighbours u of v (an edge u -> v carries u's features to v), columns sorted
/// and distinct; values are the summed weights of parallel edges.
struct Snapshot {
  Column<std::int64_t> row_offsets;  // [N + 1]
  Column<VertexId> columns;          // [nnz]
  Column<float> values;              // [nnz]
  Column<double> exact_values;       // [nnz] or empty: the values, where fp32 rounds any of them
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(columns.size()); }
};

/// Discrete-time dynamic graph: `steps()` snapshots over the same N vertices, and features per step.
/// Features are [T, N, F] time-major. Its large arrays are columns, like those of an EventGraph.
struct SnapshotGraph {
  std::int64_t vertices = 0;
  std::vector<std::shared_ptr<const Snapshot>> snapshots;  // [T]; equal snapshots may share storage
  std::int64_t feature_width = 0;
  bool degree_features = false;           // the features are in-degree and out-degree
  Column<float> features;                 // [T * N * F]
  Column<double> exact_features;          // [T * N * F] or empty: the features, where fp32 rounds any of them
  std::vector<double> step_begin;         // [T] time at which the step's window begins, or empty
  std::vector<double> step_end;           // [T] time at which it ends, itself not part of it, or empty
  std::vector<std::int8_t> vertex_label;  // [N] or empty
  Column<std::int8_t> cell_label;         // [T * N] class of a vertex at a step, -1 = unknown; or empty
  Column<float> targets;                  // [T * N] value to predict of a vertex at a step, NaN = none; or empty
  std::string repeats;  // how steps repeat events of earlier ones: "" | cumulative | sliding | edge_life
  /// The end of the data's edges that is the row: in = targets, out = sources, both = either end. The column is the
  /// other end.
  std::string orientation = "in";
  std::vector<std::int64_t> original_id;  // [N] or empty: the file's number of each vertex
  NameColumn vertex_name;                 // [N] or empty: the file's name of each vertex
  bool dated = false;                     // the file writes times as dates
  /// [N], or empty when the graph is not two-sided (some vertex is source of one event and target of another): 0 = a
  /// source, 1 = a target, -1 = has no event.
  std::vector<std::int8_t> side;
  Provenance provenance;

  std::int64_t steps() const { return static_cast<std::int64_t>(snapshots.size()); }
  std::int64_t edges() const;  // non-zeros summed over steps
};

/// The rule that turns events into steps. Exactly one of duration, events, count is set (> 0), except for stepped
/// graphs, which keep their steps when none is set.
struct Windowing {
  std::string duration = "";      // text with unit, "30d"; a bare number of steps for stepped graphs
  std::int64_t events = 0;        // events per window
  std::int64_t count = 0;         // number of equal time slices
  std::string partial = "keep";   // last partial window: keep | drop
  std::string weights = "count";  // value of an edge: count (events), binary (1), file (sum of file weights)
  // At most one of the next four; without them windows are disjoint.
  bool cumulative = false;     // a step holds all events so far
  std::string stride = "";     // windows begin this far apart and overlap: a duration, or a number of steps or events
  std::int64_t lags = 0;       // step i holds the windows i .. i + lags (DynaHB's slices)
  std::int64_t edge_life = 1;  // an edge stays for this many steps; values add, features stay the raw step's
  std::int64_t min_edges = 0;  // steps with fewer edges are dropped; 0 keeps empty steps
};

/// Steps from events: windows are half-open [begin, begin + duration) from the first event's time; empty windows are
/// kept unless `min_edges` drops them. Features are (in-degree, out-degree) of the raw step, multi-edges with
/// multiplicity (decisions M8), F = 2; `step_begin` of a cumulative step is its newest window's. `orientation`: in =
/// rows are targets (default), out = transposed, both = union of the two (values add; binary stays 1). With
/// partial=drop, every window of a duration that holds the last event is dropped, because the data end inside it. A
/// window of steps or events is dropped when it is not full. Refuses, before allocating, more steps than this machine's
/// memory could hold. Throws InvalidRequest for an impossible windowing, InvalidInput for missing weights.
SnapshotGraph make_snapshots(const EventGraph& events, const Windowing& windowing,
                             const std::string& orientation = "in");

/// |E_{t-1} and E_t| / |E_t| per step: the share of a step's edges that were there one step before; NaN for the first
/// step and for steps without edges. [T]
std::vector<double> overlap_per_step(const SnapshotGraph& graph);

/// Fraction of the edges of step t+1 that were there at step t, averaged over t: |E_t and E_{t+1}| / |E_{t+1}|;
/// steps without edges are left out. NaN when nothing can be compared.
double mean_overlap(const SnapshotGraph& graph);

}  // namespace strobe
