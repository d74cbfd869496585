// The purpose of a pass over a model, the cells of its rows, and sums over the ranks that share it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/step_rows.hpp"
#include "models/tape/range_log.hpp"
#include "models/tape/tape.hpp"

namespace strobe {

/// The cells of a tensor's rows: those of the steps [first_step, first_step + steps) that this rank holds. Rows are
/// time-major; rows of one step are contiguous.
struct CellRows {
  std::int64_t vertices = 0;    // N of the whole graph
  std::int64_t all_steps = 0;   // T whose embeddings are computed
  std::int64_t first_step = 0;  // of the block that is being computed; 0 when all steps are
  std::int64_t steps = 0;       // S of that block
  StepRows step_rows;           // [S + 1] first row of each step; empty ranges for steps held elsewhere
  Tensor step_rows_on_device;   // i64 [S + 1, 1]
  /// i64 [rows, 1]: step * N + vertex of each row, ascending, steps counted from 0. Set only for models that request it
  /// (ModelTraits::reads_ids).
  Tensor ids;
  /// i32 [columns of a, 1]: the vertex of each own and halo row. Set only for models that request it
  /// (ModelTraits::reads_column_ids).
  Tensor column_ids = {};
  /// i64 [S, 1]: cells of each step that exist, on all ranks; undefined where all do.
  Tensor existing = {};
  std::int64_t trained_steps = 0;  // of all_steps, up to the last one that a training sample reads
  /// Set where sums and choices over vertices use only some rows, the same number in each step: i64 [C, 1] these rows,
  /// ascending, i64 [S + 1, 1] the first of each step among them, and ids with -1 for all others. `existing` holds
  /// their number on all ranks. Undefined: all rows.
  Tensor counted = {};
  Tensor counted_step_rows = {};
  Tensor counted_ids = {};
};

/// Sums over all ranks as tape operations, for what spans cells that other ranks hold: batch statistics, summaries.
class RankSums {
 public:
  virtual ~RankSums() = default;
  virtual int ranks() const = 0;
  virtual int rank() const = 0;
  /// Sum of the ranks' `part` [R, F], the same bits on every rank; the gradient is the sum of the ranks' gradients.
  /// Every rank must call it, with one shape, whether or not it holds cells. Counted as Traffic::state.
  virtual Var sum(Tape& tape, const Var& part) const = 0;
};

/// The purpose of one pass over the model. Every random number in a pass is keyed by (seed, epoch, layer, cell), never
/// by rank or row, so that it does not depend on the placement.
struct Pass {
  std::uint64_t seed = 1;
  std::int64_t epoch = 0;
  bool training = true;  // false: evaluation, nothing is dropped
  const RankSums* ranks = nullptr;
  RangeLog* ranges = nullptr;  // null: nobody asks what part of the program an operation belongs to
};

/// Input of a spatial stage on one rank: x [own rows + halo rows, F]; a [own rows, own + halo rows]; `cells` describes
/// the own rows.
struct SpatialInput {
  Var x;
  const SparseMatrix* a = nullptr;
  const CellRows* cells = nullptr;
  const Pass* pass = nullptr;
  /// [own rows, feature width]: X on the own rows, or A~ X where that replaces it (Preprocessing::keep_features).
  Var features;
  /// Only for layers whose weights evolve: the state that the weights of earlier steps left, the same values on every
  /// rank; null when the steps begin at 0.
  Var weights_state = nullptr;
  /// Receives what later steps start from; null when no steps follow.
  Var* next_weights_state = nullptr;
  /// Where a rank's rows are computed in parts: what Model::before_rows has made, else null.
  const std::vector<Var>* shared_weights = nullptr;
};

}  // namespace strobe
