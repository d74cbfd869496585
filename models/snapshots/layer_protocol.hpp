// The protocol of calling a model, written once: the order of stages, the stages that a joint form replaces, the walk
// over timelines segment by segment, and that of a recurrence over neighbours step by step. The caller's LayerStages
// brings cells and states to the rank that computes with them.
#pragma once

#include <span>
#include <vector>

#include "models/ops/ops_packed_rows.hpp"
#include "models/snapshots/model.hpp"
#include "models/snapshots/unit_meter.hpp"

namespace strobe {

/// A maximal run of steps that one rank holds without a change of vertices; steps count from the first of the block.
struct TemporalSegment {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
};

/// The memory of one layer at the beginning and at the end of a block of steps. Temporal state lies on its owners at
/// that step, evolving weights on every rank. Null where there is nothing to remember, and before the first step.
struct LayerMemory {
  Var before, after;
};

/// Cells of a block of steps and the segments [at least 1] in which they are walked.
struct Timelines {
  const CellRows* cells = nullptr;
  std::span<const TemporalSegment> segments;
};

/// A part of a rank's rows that a spatial stage computes separately, from the rows that it loads (DGC, SIGMOD'23,
/// section 5.1.1).
struct RowUnit {
  SparseMatrix a;        // [unit's rows, rows that they read, the unit's own first]
  CellRows cells;        // of the unit's rows
  PackedRows own, read;  // the unit's rows; rows of a layer's input that its rows of A read, the unit's own first
  Tensor features;       // [unit's rows, feature width] if X is kept next to A~ X, else undefined
};

/// One round of a temporal stage on one rank: its pieces in bins, none where the rank has no part. A window has no
/// bins; `in` is empty where all rows are read in place.
struct PackedRound {
  std::int64_t steps = 0, bins = 0;
  PackedRows in, out;  // rows that are read, own and halo, and own rows whose outputs are the round's
  PackedTimelines timelines;
  std::int64_t given = 0, handed = 0;  // pieces that are given a state, and that hand theirs on
  /// Used where a block follows. `handed_rows`: i64 rows, among the states that the round leaves, of those that are
  /// handed on. `remembered`: states of the block's last step as rows of the memory after it. Undefined and empty where
  /// none follows.
  Tensor handed_rows = {};
  PackedRows remembered = {};
  /// Instead, parts that are walked one after the other; `given` and `handed` above count those of all parts.
  std::vector<PackedRound> units = {};
  /// For such a part. `given_rows`: i64 rows of the round's states that the part is given. `handed_to`: the places of
  /// its own states among those handed on.
  Tensor given_rows = {};
  PackedRows handed_to = {};
};

/// A temporal stage whose timelines are no rectangles: rounds that follow each other, the same number on every rank. A
/// window is one round, without bins.
struct PackedStage {
  std::int64_t rows = 0;  // own rows of the block
  /// Used where a block follows: the number of rows remembered after this block. For a recurrence these are states,
  /// otherwise the last of the rows that were read.
  std::int64_t remembered_rows = 0;
  std::vector<PackedRound> rounds;
};

/// A call of a model: the model, the pass that it serves, and the tape that records it.
struct ModelCall {
  Tape& tape;
  const Model& model;
  const std::vector<LayerShape>& layers;  // Model::layers
  const Parameters& parameters;
  const Pass& pass;
};

/// The work of one rank around the stages of a model in one block of steps. The defaults suit a rank that holds every
/// cell of all steps.
class LayerStages {
 public:
  virtual ~LayerStages() = default;

  /// Input of the spatial stage of layer `layer`, whose x is given; null where a joint form does not store it.
  virtual SpatialInput spatial_input(int layer, const Var& x) = 0;
  /// The input of layer `layer`, x [own rows, F], followed by the rows of neighbours that other ranks own. Every rank
  /// must call it.
  virtual Var with_halo(int /*layer*/, const Var& x) { return x; }
  /// Whether with_halo changes nothing on any rank.
  virtual bool own_neighbours() const { return true; }

  /// The parts in which spatial stages compute this rank's rows; null where all rows are computed at once.
  virtual const std::vector<RowUnit>* units() const { return nullptr; }
  /// Whether the backward pass computes these parts again, so that only their outputs are kept.
  virtual bool reruns_units() const { return false; }
  /// Measures the memory of each part; null: nobody measures.
  virtual UnitMeter* unit_meter() { return nullptr; }

  /// The cells of temporal stages.
  virtual Timelines timelines() const = 0;
  /// The rows of a spatial stage in the order of `timelines`, and back. Every rank must call it.
  virtual Var to_temporal(const Var& x) { return x; }
  virtual Var to_spatial(const Var& y) { return y; }
  /// Whether to_temporal changes nothing on any rank.
  virtual bool own_timelines() const { return true; }

  /// How layer `layer` walks timelines that are no rectangles; null where `timelines` are.
  virtual const PackedStage* packed(int /*layer*/) const { return nullptr; }
  /// The rows of such a stage, followed by those of its temporal halo. Every rank must call it.
  virtual Var with_temporal_halo(int /*layer*/, const Var& x) { return x; }
  /// Whether the inputs of earlier steps that segments of layer `layer` read are brought at once, not handed over.
  /// `earlier_steps` brings them to this rank's segment, of state_shape. Every rank must call it.
  virtual bool brings_earlier_steps(int /*layer*/) const { return false; }
  virtual Var earlier_steps(int /*layer*/, const Var& x) { return x; }

  /// The cells of layers that go step by step.
  virtual Timelines steps() const { return timelines(); }
  /// The products of step `step` of the block; valid until the next call.
  virtual const Neighbours& neighbours(std::int64_t step);

  /// The memory of layer `layer` around the block; null where the block has all steps.
  virtual LayerMemory* memory(int /*layer*/) { return nullptr; }
  /// Whether no steps follow this block, so that nothing is remembered after it.
  virtual bool last() const { return true; }
  /// The state before segment `segment` > 0 of `timelines` (of `steps` for a layer that runs step by step, of the
  /// rounds of a packed stage). It moves from the ranks that left it to those that continue. Every rank must call it.
  virtual Var hand_over(int /*layer*/, std::size_t /*segment*/, const Var& state) { return state; }
  /// Takes the states that the last round of a packed recurrence hands on: to the next epoch, in training that does not
  /// wait for them. Every rank calls it.
  virtual void leave(int /*layer*/, const Var& /*state*/) {}
};

/// The output of the last layer, from x, which the first layer reads. All ranks must call it.
Var walk_layers(const ModelCall& call, LayerStages& stages, Var x);

/// The stages from layer `first` on up to the next temporal stage that walks timelines: x, which layer `first` reads,
/// becomes what that stage reads before to_temporal. Gives the layer of that stage; the number of layers, and x the
/// last one's output, where none follows. All ranks must call it.
std::size_t spatial_stages(const ModelCall& call, LayerStages& stages, std::size_t first, Var& x);

/// The temporal stage of layer `layer`, segment by segment. Its input is the result of to_temporal, its output the
/// argument of to_spatial. All ranks must call it.
Var temporal_stage(const ModelCall& call, LayerStages& stages, std::size_t layer, const Var& x);

}  // namespace strobe
