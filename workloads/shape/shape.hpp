// GraphStatistics: the known facts of a dynamic graph without the graph itself, measured from a graph or taken from a
// publication.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/storage/histogram.hpp"

namespace strobe {

/// The graph after smoothing over `window` steps (M-transform or edge life: both unite the last `window` snapshots).
/// Degrees count distinct neighbours of a cell (v, t), one value per cell. Window 1 is the graph itself.
struct SmoothedStatistics {
  std::string smooth;                              // union | m_product | edge_life
  std::optional<std::int64_t> window;              // steps; nothing when the publication does not say
  std::int64_t edges = 0;                          // non-zeros summed over steps
  std::optional<Histogram> in_degree, out_degree;  // [T * N values]
  friend bool operator==(const SmoothedStatistics&, const SmoothedStatistics&) = default;
};

/// Statistics of a dynamic graph. An unknown number is absent, and `unknown` holds the reason. `sources` holds where
/// every number comes from. Both are by the name of the field ("*" = all that have no entry of their own).
struct GraphStatistics {
  std::string name, description;
  std::optional<std::int64_t> vertices, steps, feature_width;
  std::optional<std::int64_t> events;        // timed rows of the file
  std::optional<std::int64_t> edges;         // distinct edges of a step, summed over steps
  std::optional<std::int64_t> active_cells;  // (v, t) with an edge or, where the source says so, present
  std::optional<std::int64_t> edge_feature_width;
  std::optional<double> time_span_seconds;
  std::optional<double> overlap_mean;                  // mean of |E_{t-1} and E_t| / |E_t| over steps with edges
  std::vector<std::int64_t> edges_per_step;            // [T] or empty
  std::vector<std::int64_t> active_vertices_per_step;  // [T] or empty
  std::vector<std::int64_t> self_loops_per_step;       // [T] or empty
  std::vector<double> overlap_per_step;                // [T], NaN where nothing can be compared; or empty
  /// edge_lives[g - 1]: edges (u, v, t) after which the same pair appears again g steps later, or never and the graph
  /// ends g steps later. Union over w steps has sum of min(g, w) of them non-zeros. [T] or empty
  std::vector<std::int64_t> edge_lives;
  std::optional<Histogram> vertex_in_degree, vertex_out_degree;  // edges of a vertex summed over steps [N values]
  std::optional<Histogram> sequence_length;                      // steps in which a vertex has an edge [N values]
  std::vector<SmoothedStatistics> smoothed;
  std::map<std::string, std::string> sources, unknown;
};

/// Counts all of the above except `events` in a graph. `windows` are the smoothing windows whose degrees are requested
/// (those above T are left out; 1 is always there). Cost O(nnz log d + T N + T A |windows|), A = vertices with edges.
GraphStatistics measure_statistics(const SnapshotGraph& graph, const std::string& name,
                                   const std::vector<std::int64_t>& windows = {1, 2, 3, 5, 10, 20});

/// Edges per step: as measured, or, when only the sum is known, spread evenly; empty when not even that is.
std::vector<std::int64_t> step_edges(const GraphStatistics& shape);

/// Non-zeros summed over steps after uniting the last `window` snapshots: exact, from `edge_lives`. Nothing without.
std::optional<std::int64_t> smoothed_edges(const GraphStatistics& shape, std::int64_t window);

/// Expected number of rows that all ranks together receive in one halo exchange of all steps. Assumes that vertices are
/// dealt to `ranks` evenly and independently of the graph (hash partition). A cell whose vertex has k distinct targets
/// is then needed by (P - 1) (1 - (1 - 1/P)^k) other ranks. `out_degree` is that of a SmoothedStatistics; k of a bin is
/// its mean.
double expected_halo_rows(const Histogram& out_degree, int ranks);

/// The shape as JSON (version 1): every field, null where unknown.
Json to_json(const GraphStatistics& shape);

/// Reads JSON written by `to_json`. `where` is "FILE#" or a pointer. Throws InvalidRequest(where + JSON pointer) for an
/// unknown or missing key, a wrong type, lists of another length than `steps`, a null without its reason and a number
/// without its source. One exception holds all these mistakes.
GraphStatistics shape_from_json(const Json& json, const std::string& where);

/// The published shape called so, or the shape in a file. Throws InvalidRequest with the nearest name.
GraphStatistics load_shape(const std::string& name_or_path);

/// Names of the shapes that ship with Strobe (files in workloads/shapes).
std::vector<std::string> shape_names();

/// Whether the file is a shape (JSON whose first key is "strobe_shape").
bool is_shape_file(const std::string& path);

}  // namespace strobe
