// The frontier of a batch: which vertices each layer computes at each step, so
// that the targets come out as on the whole graph cut to the batch's steps
// (DynaHB, VLDB'24, Definition 3 and section 4.1; readings D17, D23 of the
// project's decisions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "harness/hybrid_batches/encoding/layer_reads.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// The cells whose embeddings a batch wants: `targets` at every step of
/// `steps`, and `others[i]` at its step i.
struct BatchCells {
  std::vector<VertexId> targets;              // ascending
  Run steps;                                  // of the graph
  std::vector<std::vector<VertexId>> others;  // [steps.count] lists in any order, or empty
};

/// How far a batch reaches. `exact`: layer l - 1 computes at step t every
/// vertex that layer l reads at t or at a later step of the batch. `layers`:
/// the hops of one step alone, as if a temporal stage read nothing but its own
/// vertex; vertices on the way have timelines with gaps, which is an
/// approximation where a temporal stage stands before a product.
enum class FrontierKind { exact, layers };

/// What is cut out: the matrices of a model over the whole graph, and what its
/// layers read.
struct BatchSource {
  const PreparedGraph* inputs = nullptr;       // A~ and X
  std::vector<const PreparedGraph*> supports;  // of Preparation::supports, over the same vertices and steps
  std::vector<LayerReads> layers;
  FrontierKind frontier = FrontierKind::exact;
};

/// What is computed at one step. The sets are nested, so they are beginnings of
/// one list.
struct StepFrontier {
  std::vector<std::int32_t> rows;      // vertices by their place in the field, in the order in which they are needed
  std::vector<std::int64_t> computed;  // [L] the first so many are the outputs of layer l that are read
  std::vector<std::int64_t> inner;     // [L] of the first so many, layer l's temporal stage or its products read a row
  /// Of A~ [0] and of each support [1 + s]: the first so many have their row of entries in the batch.
  std::vector<std::int64_t> with_row;

  /// The vertices whose output of `layer` is needed, ascending, by their place
  /// in the field; layer -1: those whose input is read.
  std::vector<std::int32_t> computed_rows(int layer) const;
  /// Likewise the vertices whose spatial stage of `layer` is needed.
  std::vector<std::int32_t> inner_rows(int layer) const;
};

struct Frontier {
  std::vector<VertexId> field;      // [F] ascending: every vertex that is needed at some step
  std::vector<StepFrontier> steps;  // [steps.count]
  /// Cells that some layer computes or reads, all steps together; their number
  /// times layers bounds the work.
  std::int64_t cells() const;
};

/// Room that is used again from batch to batch, so that a batch costs what it
/// holds and not what the graph holds. It belongs to one thread at a time.
class BatchScratch {
 public:
  explicit BatchScratch(std::int64_t vertices);

  /// Adds vertices to those of the current step, each once. `room` for all of
  /// them must have been asked for.
  void add_to_step(const VertexId* first, const VertexId* last) {
    VertexId* const list = list_.data();
    std::int64_t count = count_;
    for (; first != last; ++first) {
      std::uint64_t& word = step_[static_cast<std::size_t>(*first) / 64];
      const std::uint64_t bit = std::uint64_t{1} << (static_cast<std::size_t>(*first) % 64);
      list[count] = *first;  // stays where the vertex is new: no branch, which
                             // nobody could foresee
      count += (word & bit) == 0 ? 1 : 0;
      word |= bit;
    }
    count_ = count;
  }
  /// Makes room for so many more vertices in the step.
  void make_room(std::int64_t vertices) {
    const auto needed = static_cast<std::size_t>(count_ + vertices);
    if (needed > list_.size()) list_.resize(2 * needed);
  }
  /// Puts the vertices that came since the last call in ascending order: what is read of them then lies in order too.
  void order_new();
  /// The vertices of the current step in that order.
  const VertexId* step() const { return list_.data(); }
  std::int64_t step_count() const { return count_; }
  /// Ends the step, whose vertices it gives and which join the field.
  std::vector<VertexId> end_step();
  /// Ends the field: its vertices, ascending, each of which knows its place
  /// from then on.
  std::vector<VertexId> take_field();
  /// The place of a vertex of the last field taken. Of others it means nothing.
  std::int32_t place(VertexId v) const { return place_[static_cast<std::size_t>(v)]; }
  std::int64_t vertices() const { return static_cast<std::int64_t>(place_.size()); }

 private:
  std::vector<VertexId> list_;  // the step's vertices, and room behind them
  std::int64_t count_ = 0, ordered_ = 0;
  std::vector<std::uint64_t> step_,
      field_;                                    // [N / 64] a bit a vertex; zero between steps, between batches
  std::vector<std::uint64_t> filled_;            // [N / 4096] which words of field_ are not zero
  std::vector<std::uint64_t> new_, new_filled_;  // likewise of vertices while they are put in order
  std::vector<std::int32_t> place_;              // [N]
};

/// The frontier of `cells`. Cost O(entries of the rows in it + cells in it),
/// whatever N is. Leaves in `scratch` the places of the field. Cells that do
/// not exist are in no frontier. Throws InvalidRequest for a step outside the
/// graph and for a graph of which only the shape is known, Error for a vertex
/// outside the graph.
Frontier batch_frontier(const BatchSource& source, const BatchCells& cells, BatchScratch& scratch);

}  // namespace strobe
