// The frontier of a batch: the vertices that each layer computes at each step. With them the targets have the same
// results as on the whole graph, cut to the batch's steps (DynaHB, VLDB'24, Definition 3 and section 4.1; readings D17,
// D23 of the project's decisions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "harness/hybrid_batches/encoding/layer_reads.hpp"
#include "harness/hybrid_batches/encoding/vertex_places.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// The cells whose embeddings a batch needs: `targets` at every step of `steps`, and `others[i]` at its step i.
struct BatchCells {
  std::vector<VertexId> targets;              // ascending
  Run steps;                                  // of the graph
  std::vector<std::vector<VertexId>> others;  // [steps.count] lists in any order, or empty
};

/// How far a batch reaches. `exact`: layer l - 1 computes at step t every vertex that layer l reads at t or at a later
/// step of the batch. `layers`: only the hops of one step, as if a temporal stage read nothing but its own vertex.
/// Vertices on the way then have timelines with gaps. That is an approximation if a temporal stage precedes a product.
enum class FrontierKind { exact, layers };

/// The source of a batch: the matrices of a model over the whole graph, and the cells that its layers read.
struct BatchSource {
  const PreparedGraph* inputs = nullptr;       // A~ and X
  std::vector<const PreparedGraph*> supports;  // of Preparation::supports, over the same vertices and steps
  std::vector<LayerReads> layers;
  FrontierKind frontier = FrontierKind::exact;
};

/// The vertices that are computed at one step. The sets are nested, so each is a prefix of one list.
struct StepFrontier {
  std::vector<std::int32_t> rows;      // vertices by their place in the field, in the order in which they are needed
  std::vector<std::int64_t> computed;  // [L] size of the prefix whose outputs of layer l are read
  std::vector<std::int64_t> inner;     // [L] size of the prefix that layer l's temporal stage, or its products, read
  /// Size of the prefix whose row of entries is in the batch, for A~ [0] and for each support [1 + s].
  std::vector<std::int64_t> with_row;

  /// The vertices whose output of `layer` is needed, ascending, by their place in the field. For layer -1, those whose
  /// input is read.
  std::vector<std::int32_t> computed_rows(int layer) const;
  /// The vertices whose spatial stage of `layer` is needed, in the same form.
  std::vector<std::int32_t> inner_rows(int layer) const;
};

struct Frontier {
  std::vector<VertexId> field;      // [F] ascending: every vertex that is needed at some step
  std::vector<StepFrontier> steps;  // [steps.count]
  /// Cells that some layer computes or reads, all steps together. This number times the layers bounds the work.
  std::int64_t cells() const;
};

/// Scratch memory that is reused from batch to batch, so that the cost of a batch depends on its own size, not the
/// graph's. It belongs to one thread at a time.
class BatchScratch {
 public:
  explicit BatchScratch(std::int64_t vertices);

  /// Adds vertices to those of the current step, each once. make_room must have been called for all of them.
  void add_to_step(const VertexId* first, const VertexId* last) {
    VertexId* const list = list_.data();
    std::int64_t count = count_;
    for (; first != last; ++first) {
      std::uint64_t& word = step_[static_cast<std::size_t>(*first) / 64];
      const std::uint64_t bit = std::uint64_t{1} << (static_cast<std::size_t>(*first) % 64);
      list[count] = *first;  // kept only if the vertex is new; a branch would be unpredictable
      count += (word & bit) == 0 ? 1 : 0;
      word |= bit;
    }
    count_ = count;
  }
  /// Makes room for `vertices` more vertices in the step.
  void make_room(std::int64_t vertices) {
    const std::size_t needed = count_ + vertices;
    if (needed > list_.size()) list_.resize(2 * needed);
  }
  /// Sorts the vertices that came since the last call, so that the data read for them are also in order.
  void order_new();
  /// The vertices of the current step in that order.
  const VertexId* step() const { return list_.data(); }
  std::int64_t step_count() const { return count_; }
  /// Ends the step. Returns its vertices and adds them to the field.
  std::vector<VertexId> end_step();
  /// Ends the field, whose places are known then.
  const VertexPlaces& take_field();
  /// The places in the last field taken.
  const VertexPlaces& places() const { return places_; }

 private:
  std::vector<VertexId> list_;  // the step's vertices, then free room
  std::int64_t count_ = 0, ordered_ = 0;
  std::vector<std::uint64_t> step_,
      field_;                                    // [N / 64] a bit per vertex; zero between steps, and between batches
  std::vector<std::uint64_t> filled_;            // [N / 4096] which words of field_ are not zero
  std::vector<std::uint64_t> new_, new_filled_;  // the same for vertices while they are sorted
  VertexPlaces places_;
};

/// The frontier of `cells`. Cost O(entries of the rows in it + cells in it), whatever N is. Leaves the places of the
/// field in `scratch`. Cells that do not exist are in no frontier. Throws InvalidRequest for a step outside the graph,
/// and for a graph that is known by its shape only. Throws Error for a vertex outside the graph.
Frontier batch_frontier(const BatchSource& source, const BatchCells& cells, BatchScratch& scratch);

}  // namespace strobe
