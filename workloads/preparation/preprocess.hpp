// Preprocessing of snapshot graphs that the papers' models request (ESDG sections 5.3, 5.4; decisions E6, E7, E11,
// E12).
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/graph/presence.hpp"
#include "workloads/graph/smoothing.hpp"
#include "workloads/storage/column.hpp"
#include "workloads/storage/histogram.hpp"

namespace strobe {

/// Terms of the features over random walks, for models whose layers sum several hops (DCRNN): [X | S_1 X | ... | S_1^K
/// X | S_2 X | ...], a step at a time. Features are constants, so their terms are the same in every epoch.
struct FeatureTerms {
  std::vector<std::string> walks;  // Preprocessing::walk of S_1, S_2, ...
  int hops = 0;                    // K
  // S^k X; chebyshev: 2 S z_(k-1) - z_(k-2), each walk from X on; carried: the same, but a walk begins with z_(K-1) of
  // the previous one
  std::string kind = "powers";
  std::int64_t count() const { return 1 + static_cast<std::int64_t>(walks.size()) * hops; }
  bool operator==(const FeatureTerms&) const = default;
};

/// The preprocessing of A and X that a model requests before training.
struct Preprocessing {
  std::string smooth = "none";           // none | m_product | edge_life: applied to A
  std::int64_t window = 1;               // w of the M-transform, or l of edge life
  bool smooth_features = false;          // also apply the M-transform to X (TM-GCN)
  bool laplacian = true;                 // D^-1/2 (A + I) D^-1/2 after smoothing, D = 1 + row sums of A as stored
  std::string walk = "none";             // in: rows of A scaled to sum 1, a step of a random walk against the edges;
                                         // out: rows of A^T, a step along them; in_transposed, out_transposed: the
                                         // transposes of these; symmetric: D^-1/2 A D^-1/2, D the sums of A's rows;
                                         // out_symmetric: D the sums of its columns; needs laplacian = false
  bool symmetric_pattern = false;        // with zeros where only A^T has an entry: row v lists the edges of v at either
                                         // end
  bool precompute_first_product = true;  // A~ X, the first layer's aggregation
  bool keep_features = false;            // also keep X itself, for models that read both
  FeatureTerms feature_terms = {};       // in place of X; A itself does not change
  std::string feature_scale = "none";    // of X, first of all: none | log1p | standardise
  std::string m = "row_mean";            // of the M-transform: row_mean, or inverse_distance: M[t, s] = 1 / (t - s + 1)

  /// Whether rows list out-neighbours: the pattern is A's transpose.
  bool transposes() const { return walk == "out" || walk == "in_transposed"; }
  bool operator==(const Preprocessing&) const = default;
};

/// The number of cells that read each cell of a graph known only by its shape.
struct ReaderCounts {
  Histogram readers;               // one value per cell of all steps; a cell is no reader of itself
  std::vector<double> step_share;  // [T] of all reads
};

/// A preprocessed graph, ready to be placed on ranks. One CSR over all steps: row t * N + v, columns local to the step
/// (vertex ids); sorted. Values in fp64 are kept as float or double by the caller's choice of precision. A graph that
/// is known only by its shape has counts instead of arrays.
struct PreparedGraph {
  std::int64_t vertices = 0;
  std::int64_t steps = 0;
  std::int64_t feature_width = 0;    // F: columns of X, all its terms together
  Column<std::int64_t> row_offsets;  // [T * N + 1]
  Column<VertexId> columns;          // [nnz], vertex id within the step
  Column<double> values64;           // [nnz] when made for fp64, else empty
  Column<float> values32;            // [nnz] when made for fp32, else empty
  Column<double> features64;         // [T * N * F]: (smoothed) X; A~ X when that replaces it
  Column<float> features32;
  Column<double> products64;  // [T * N * F]: A~ X when X is kept too, else empty
  Column<float> products32;
  Column<std::int8_t> step_digests;  // [T * 64] of a mapped file: the digest of every step (prepared_digest.hpp)
  bool first_product_done = false;
  bool features_kept = false;                   // X and A~ X are both there
  std::shared_ptr<const Presence> presence;     // cells that exist, of these steps or more; null: all
  std::vector<std::int64_t> counted_nonzeros;   // [T]; only without arrays
  std::shared_ptr<const ReaderCounts> counted;  // only without arrays

  bool has_structure() const { return counted_nonzeros.empty(); }
  /// Values of X and A~ X, together, that a cell has.
  std::int64_t cell_width() const { return features_kept ? 2 * feature_width : feature_width; }
  std::int64_t nonzeros() const {
    if (has_structure()) return static_cast<std::int64_t>(columns.size());
    return std::accumulate(counted_nonzeros.begin(), counted_nonzeros.end(), std::int64_t{0});
  }
  std::int64_t step_nonzeros(Step t) const {
    if (!has_structure()) return counted_nonzeros[t];
    return row_offsets[(t + 1) * vertices] - row_offsets[t * vertices];
  }
};

/// M-transform of A: A~_t = sum over s in [max(0, t-w+1), t] of A_s / min(w, t + 1); also of X when `features`.
SnapshotGraph m_product(const SnapshotGraph& graph, std::int64_t window, bool features);

/// Runs the whole preprocessing for training on the first `steps` snapshots. `fp64` chooses which arrays are filled;
/// all arithmetic is done in double and rounded once. Cost O(w nnz + nnz F). With `presence`, of these steps or more,
/// cells that do not exist have features 0 and no entries, not even a self-loop. Entries whose column does not exist at
/// the step are removed before the Laplacian or the walk, so degrees count only what is left. The M-transform of row v
/// at step t then sums s in [max(t-w+1, b), t] and divides by the number of these, b the first step of v's sequence
/// (G12 of the project's decisions). Throws InvalidRequest when a row sum of A is not > -1 (negative weights under the
/// Laplacian) or, under a walk, negative. Throws InvalidRequest when edge life would count events again that the
/// workload's own edge life or overlapping windows already repeat. Throws Error for the presence of other vertices or
/// fewer steps.
PreparedGraph prepare(const SnapshotGraph& graph, const Preprocessing& what, std::int64_t steps, bool fp64,
                      std::shared_ptr<const Presence> presence = nullptr);

}  // namespace strobe
