// A hybrid batch as a model's layers compute it, on the host. Each layer has its cells, and a re-encoded matrix that
// reads the previous layer, with values of the whole graph (DynaHB, VLDB'24, section 5.2; decisions D17, D23).
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

/// One layer. Its matrices have a row for each of its cells. Their columns are its own cells, followed by the cells
/// that only neighbours read, step by step.
struct BatchLayer {
  StepCells cells, halo;
  /// Rows of the previous layer that x takes, [cells + halo]. Empty for the first layer, whose x is features. Also
  /// empty if they are exactly the previous layer's rows.
  std::vector<std::int64_t> input;
  HostCsr a;                                // for layers that read neighbours, or ask which rows are connected
  std::vector<std::vector<HostCsr>> steps;  // [supports][steps], for layers that go step by step: own cells only
  // Lengths of the lists above, which are empty with LayeredBatch::counted_only.
  std::int64_t input_rows = 0;
  std::int64_t entries = 0;                             // of a
  std::vector<std::vector<std::int64_t>> step_entries;  // of steps

  std::int64_t columns() const { return cells.count() + halo.count(); }
};

struct LayeredBatch {
  /// For a graph that is known by its shape only: cells have offsets and no vertices, and other lists only lengths.
  bool counted_only = false;
  BatchWindow window;
  std::vector<BatchLayer> layers;
  std::vector<std::vector<std::int64_t>> counted;  // [layers] rows of targets, for sums over vertices
  std::int64_t targets = 0;                        // vertices
  std::vector<std::int64_t> target_offsets = {0};  // [steps + 1] the first of each step's target cells that exist
  /// Cells over all layers: those computed, and those of them on which the targets depend.
  std::int64_t computed_cells = 0, needed_cells = 0;

  std::int64_t target_cells() const { return target_offsets.back(); }
};

/// Whether the layer's cells are whole timelines of the window, as far as they exist.
bool is_rectangle(const LayerShape& layer);
/// Whether the layer asks which of its rows are connected, to choose among them (EvolveGCN-H).
bool chooses_rows(const LayerShape& layer);
bool reads_own_rows_alone(const LayerShape& layer);

/// The source of batches. Cells that do not exist (PreparedGraph::presence) are in none.
struct LayerSource {
  const PreparedGraph& graph;
  const std::vector<std::shared_ptr<const PreparedGraph>>& supports;
  const std::vector<LayerShape>& layers;
  bool fp64 = false;
  /// [T * N] 1 + row sums of A, if degrees are counted inside a batch. A vertex whose row no layer reads then has
  /// degree 1. Empty: the graph's own values.
  std::span<const double> degrees = {};
};

/// The cells whose outputs each of `layers` layers must give, by vertices of the graph.
std::vector<StepCells> needed_cells(const Frontier& frontier, std::size_t layers);

/// Makes batches one after the other. Keeps scratch memory of the batch's size, so it serves one thread.
class BatchEncoder {
 public:
  explicit BatchEncoder(const LayerSource& source) : source_(source) {}

  /// `needed` are the cells [layers] on which the batch's targets depend. In a layer with a temporal stage, or one that
  /// goes step by step, they become whole timelines of the window, as far as they exist. Nobody reads the added cells.
  /// `targets` are ascending. `field` has the places of all vertices that the batch reads, as batch_frontier leaves
  /// them. Throws Error for a row that reads another one. Cost O(cells and entries of the batch).
  LayeredBatch encode(const BatchWindow& window, const std::vector<StepCells>& needed,
                      std::span<const VertexId> targets, const VertexPlaces& field);

 private:
  void add_matrix(const BatchWindow& window, const StepCells& needed, const BatchLayer* before, BatchLayer& layer);
  /// Entries that say for each row whether it has any besides its own. All other columns become one, after the own
  /// cells.
  void add_connections(const BatchWindow& window, const StepCells& needed, BatchLayer& layer) const;
  void add_supports(const BatchWindow& window, const StepCells& needed, BatchLayer& layer);
  static void read_rows(const BatchLayer& before, BatchLayer& layer);
  /// The cells of `vertices` (ascending) at every step of the window that exist.
  StepCells existing(const BatchWindow& window, std::span<const VertexId> vertices) const;
  /// Reserves room for about the number of entries of `rows` rows.
  void make_room(std::int64_t rows, BatchLayer& layer) const;
  void number(std::span<const VertexId> vertices, std::int64_t first);
  /// Prefetches the data of the rows after the i-th, because rows are scattered in memory.
  static void ask_for(const PreparedGraph& graph, Step step, std::span<const VertexId> rows, std::size_t i);
  /// Looks up the places of the columns of these rows.
  void find_columns(const PreparedGraph& graph, Step step, std::span<const VertexId> rows);
  /// The vertices of cells of the field, ascending.
  std::vector<VertexId> distinct_vertices(const StepCells& cells);
  /// Sorts distinct places. Long lists use a bit for each vertex of the field.
  void order(std::vector<std::int32_t>& places);
  /// Vertices that the found columns name and that have no number yet, ascending. If `before` is given, only vertices
  /// in it.
  std::vector<VertexId> only_read(std::span<const VertexId> before);
  /// Appends a row for each of `cells`, with entries if it is among `needed`, whose columns were found.
  void append_entries(const PreparedGraph& graph, Step step, std::span<const VertexId> cells,
                      std::span<const VertexId> needed, HostCsr& csr);

  /// The rows of A~ at each step that some layer reads. Needs are nested, so they are the rows of the lowest such
  /// layer.
  const StepCells* rows_read(const std::vector<StepCells>& needed) const;
  void append_value(const PreparedGraph& graph, Step step, std::size_t entry, HostCsr& csr) const;

  LayerSource source_;
  const StepCells* counted_ = nullptr;   // rows of the current batch whose degrees are counted; null: all
  Step first_ = 0;                       // of the current batch's window
  const VertexPlaces* field_ = nullptr;  // of the current batch
  /// A vertex of the field. `there` is a stamp of the previous layer's vertices. `row` is valid where `stamp` is now.
  struct Numbered {
    std::int32_t stamp = 0, there = 0, row = 0;
  };
  std::vector<Numbered> numbered_;       // [F]
  std::vector<std::int32_t> columns_;    // memory of found_
  std::span<const std::int32_t> found_;  // places of the columns that were found; -1: not in the field
  PlaceSet places_;                      // of the field, empty between calls
  std::int32_t now_ = 0;
};

}  // namespace strobe
