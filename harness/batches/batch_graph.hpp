// The graph of a batch: its field re-encoded, with values cut out of the whole graph's, on which a model of snapshots
// runs unchanged (DynaHB, VLDB'24, section 4.1; reading D23 of the project's decisions).
#pragma once

#include <memory>
#include <vector>

#include "harness/batches/frontier.hpp"
#include "models/snapshots/model.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// A graph of `steps.count` steps over the F vertices of the field: vertex i is field[i] of the whole graph, step j is
/// steps.first + j, and the cell's row j * F + i. Targets have the values that they have on the whole graph cut to
/// these steps. What a model takes from all rows at once is taken from the batch's: EvolveGCN-H chooses among them, and
/// MPNN-LSTM's batch statistics are theirs.
struct BatchGraph {
  Run steps;
  Frontier frontier;
  /// A~ and X. Row v of step t has the entries of the whole graph's, values and all, if a layer reads it
  /// (StepFrontier:: with_row), else none. X and A~ X are there for every cell of the field.
  std::shared_ptr<const PreparedGraph> inputs;
  std::vector<std::shared_ptr<const PreparedGraph>> supports;  // likewise, without features

  std::int64_t rows() const { return steps.count * static_cast<std::int64_t>(frontier.field.size()); }
  std::int64_t entries() const;  // of all matrices
  /// Bytes of entries, row offsets, features and the field: what building it writes.
  std::uint64_t bytes() const;
};

/// The graph of `cells`. Cost O(entries and cells of the batch, F per step), whatever N is. Throws as batch_frontier.
BatchGraph build_batch_graph(const BatchSource& source, const BatchCells& cells, BatchScratch& scratch);

/// With `normalise=batch`, degrees are those of the batch. The whole graph is then prepared by `before_cutting` of what
/// the model asks for (smoothing and the scale of features, A otherwise as it is), and `normalised_in_batch` does what
/// is left (Laplacian, walks, products) on a batch cut out of that. Rows that no layer reads count no edges, so degrees
/// differ from the whole graph's at the outermost vertices, and terms of the features reach no further than the field:
/// an approximation.
Preprocessing before_cutting(const Preprocessing& what);
/// `batch` has no supports; the result has those of `what`. Throws as prepare.
BatchGraph normalised_in_batch(const BatchGraph& batch, const Preparation& what, bool fp64);

}  // namespace strobe
