// A shape in place of a graph: the name of a shape or a shape file as workload, the facts that the user adds, and its
// counts after a model's preprocessing.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/shape/shape.hpp"

namespace strobe {

/// Facts that a user may add to a shape that does not know them; 0 = nothing.
struct ShapeOptions {
  std::int64_t vertices = 0, steps = 0, feature_width = 0;
  std::int64_t edges = 0;           // distinct edges of a step, summed over steps
  std::int64_t smoothed_edges = 0;  // the same after the model's smoothing
};
const FieldTable& shape_option_fields();

/// A shape with known vertices, steps, feature width and edges. `notes` says what was assumed, one sentence each.
struct CompleteShape {
  GraphStatistics shape;
  std::int64_t smoothed_edges = 0;  // as the user gave them; 0 = not given
  std::vector<std::string> notes;
};

/// Whether a workload of this name is a shape: a shape file, or a published shape that is no data set or generator.
bool is_shape_workload(const std::string& name);

/// The shape called `name` with the user's options. Vertices that nobody knows are taken as active cells / steps, which
/// gives the published number of cells, and a note says so. Throws InvalidRequest naming the field that is still
/// missing, or an option that the shape contradicts.
CompleteShape complete_shape(const std::string& name, const Json& options);

/// The same for a given shape; `pointer` is the place of its options.
CompleteShape complete_shape(GraphStatistics shape, const ShapeOptions& options, const std::string& pointer);

/// The counts that `prepare` would give for the first `steps` steps of a graph of this shape. The sum of non-zeros
/// after smoothing is exact where the shape knows how long edges live. Otherwise it is the number that the user gave or
/// a publication counted. Without that, a note says that no edge is assumed to appear again within the window, which is
/// an upper bound. Steps share the non-zeros in proportion to the edges within the window, each aged by the share that
/// lives that long. A degree distribution of another window is scaled by the mean. Without any, edges are assumed to
/// fall on vertices uniformly (Poisson degrees), which bounds halos from above. Cost O(T w).
PreparedGraph prepare_shape(const CompleteShape& shape, const Preprocessing& what, std::int64_t steps,
                            std::vector<std::string>& notes);

/// Degrees of `cells` cells on which `edges` ends fall uniformly: Poisson, rounded to whole cells.
Histogram poisson_degrees(std::int64_t cells, std::int64_t edges);

/// In-degrees of the cells (v, t) of the shape without smoothing: as counted, or Poisson.
Histogram cell_in_degrees(const GraphStatistics& shape);

}  // namespace strobe
