// A hybrid batch as a model's layers compute it: for each layer its cells and the matrix that reads the layer before,
// re-encoded, with the values of the whole graph (DynaHB, VLDB'24, section 5.2; decisions D17, D23). On the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/matrix/host_csr.hpp"
#include "harness/hybrid_batches/encoding/frontier.hpp"
#include "harness/hybrid_batches/encoding/step_cells.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// Steps [first, first + count) of the graph.
struct BatchWindow {
  Step first = 0;
  std::int64_t count = 0;
};

/// One layer. Its matrices have a row for each of its cells; columns are its own cells, and behind them the cells that
/// only neighbours read, step by step.
struct BatchLayer {
  StepCells cells, halo;
  /// Rows of the layer before that x takes, [cells + halo]; empty of the first layer, whose x is features, and where
  /// they are the rows of the layer before as they lie.
  std::vector<std::int64_t> input;
  HostCsr a;                                // of layers that read neighbours, or ask which rows are connected
  std::vector<std::vector<HostCsr>> steps;  // [supports][steps], of layers that go step by step: own cells alone
  // Of LayeredBatch::counted_only, whose lists are empty: their lengths.
  std::int64_t input_rows = 0;
  std::int64_t entries = 0;                             // of a
  std::vector<std::vector<std::int64_t>> step_entries;  // of steps

  std::int64_t columns() const { return cells.count() + halo.count(); }
};

struct LayeredBatch {
  /// Of a graph that is known by its shape: cells have offsets and no vertices, and other lists only lengths.
  bool counted_only = false;
  BatchWindow window;
  std::vector<BatchLayer> layers;
  std::vector<std::vector<std::int64_t>> counted;  // [layers] rows of targets, for sums over vertices
  std::int64_t targets = 0;                        // vertices
  /// Cells of a batch over all layers: what is computed, and of it what its roots need.
  std::int64_t computed_cells = 0, needed_cells = 0;
};

/// Whether the layer's cells are whole timelines of the window.
bool is_rectangle(const LayerShape& layer);
/// Whether the layer asks which of its rows are connected, to choose among them (EvolveGCN-H).
bool chooses_rows(const LayerShape& layer);
bool reads_own_rows_alone(const LayerShape& layer);

/// What a batch is made from.
struct LayerSource {
  const PreparedGraph& graph;
  const std::vector<std::shared_ptr<const PreparedGraph>>& supports;
  const std::vector<LayerShape>& layers;
  bool fp64 = false;
  /// [T * N] 1 + row sums of A, where degrees are counted inside a batch: there a vertex whose row no layer reads has
  /// degree 1. Null: the graph's own values.
  const std::vector<double>* degrees = nullptr;
};

/// The cells whose outputs each of `layers` layers must give, by vertices of the graph.
std::vector<StepCells> needed_cells(const Frontier& frontier, std::size_t layers);

/// Makes batches one after the other; keeps room of its own [N], so it is one thread's.
class BatchEncoder {
 public:
  explicit BatchEncoder(const LayerSource& source);

  /// `needed` are the cells [layers] whose outputs the batch's roots depend on: those of a layer with a temporal stage,
  /// or that goes step by step, become whole timelines of the window; what is added so is computed for nothing and read
  /// by nobody. `targets` ascending. Cost O(cells and entries of the batch).
  LayeredBatch encode(const BatchWindow& window, const std::vector<StepCells>& needed,
                      std::span<const VertexId> targets);

 private:
  void add_matrix(const BatchWindow& window, const StepCells& needed, const BatchLayer* before, BatchLayer& layer);
  /// Entries that say of each row whether it has any beside its own: what lies elsewhere is one column behind all.
  void add_connections(const BatchWindow& window, const StepCells& needed, BatchLayer& layer) const;
  void add_supports(const BatchWindow& window, const StepCells& needed, BatchLayer& layer);
  static void read_rows(const BatchLayer& before, BatchLayer& layer);
  static void count_targets(std::span<const VertexId> targets, const BatchLayer& layer,
                            std::vector<std::int64_t>& rows);
  /// Room for about as many entries as so many rows have.
  void make_room(std::int64_t rows, BatchLayer& layer) const;
  void number(std::span<const VertexId> vertices, std::int64_t first);
  bool has(VertexId v) const { return stamp_[static_cast<std::size_t>(v)] == now_; }
  /// Asks for what the rows behind the i-th will read, which lies anywhere.
  static void ask_for(const PreparedGraph& graph, Step step, std::span<const VertexId> rows, std::size_t i);
  template <class Visit>
  void for_entries(const PreparedGraph& graph, Step step, std::span<const VertexId> rows, const Visit& visit) const;
  /// Sorts distinct vertices: where they are many, by a bit for each vertex of the graph.
  void order(std::vector<VertexId>& vertices);
  /// Vertices that these rows read and that have no number yet, those of `before` alone where it is given; ascending.
  std::vector<VertexId> only_read(Step step, std::span<const VertexId> rows, std::span<const VertexId> before);
  /// A row for each of `cells`, with entries where it is among `needed`.
  void append_entries(const PreparedGraph& graph, Step step, std::span<const VertexId> cells,
                      std::span<const VertexId> needed, HostCsr& csr) const;

  /// What is cut out of A~: at each step the rows that some layer reads. By nested needs, those of the lowest layer.
  const StepCells* rows_read(const std::vector<StepCells>& needed) const;
  void append_value(const PreparedGraph& graph, Step step, std::size_t entry, HostCsr& csr) const;

  LayerSource source_;
  const StepCells* counted_ = nullptr;  // rows whose degrees are counted, of the batch at hand; null: all
  Step first_ = 0;                      // of its window
  std::vector<std::int64_t> stamp_;     // [N]
  std::vector<std::int64_t> there_;     // [N], a stamp of vertices of the layer before
  std::vector<std::int32_t> row_;       // [N], where the stamp is now's
  std::vector<std::uint64_t> bits_;     // [N] bits, all 0 between calls
  std::int64_t now_ = 0;
};

}  // namespace strobe
