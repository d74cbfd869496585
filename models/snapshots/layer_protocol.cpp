#include "models/snapshots/layer_protocol.hpp"

#include "models/ops/ops.hpp"

namespace strobe {
namespace {

/// Whether this rank's rows are whole timelines whose state nobody asks for.
bool whole_timelines(LayerStages& stages, const CellRows& own) {
  const Timelines lines = stages.timelines();
  return stages.own_timelines() && lines.segments.size() == 1 && lines.cells->first_step == 0 && stages.last() &&
         own.step_rows.back() > 0;
}

/// The joint form of layer `layer` and those behind it, where something follows with nothing in between.
JointOutput joint_form(const ModelCall& call, LayerStages& stages, std::size_t layer, const SpatialInput& spatial) {
  JointInput input{spatial};
  input.whole_timelines = walks_timelines(call.layers[layer]) && stages.packed(static_cast<int>(layer)) == nullptr &&
                          whole_timelines(stages, *spatial.cells);
  SpatialInput next;
  if (layer + 1 < call.layers.size() && call.layers[layer + 1].joins_previous && stages.own_neighbours()) {
    next = stages.spatial_input(static_cast<int>(layer) + 1, nullptr);
    input.next = &next;
  }
  if (!input.whole_timelines && input.next == nullptr) return {};
  JointOutput output = call.model.joint(call.tape, call.parameters, static_cast<int>(layer), input);
  if (input.next != nullptr && !output.y) throw Error("a layer that joins the previous one needs a joint form");
  return output;
}

Var zero_state(const ModelCall& call, const CellRows& cells, std::size_t layer) {
  const StateShape shape = state_shape(call.layers[layer], 0);
  const Tensor zero = call.tape.device().allocate(shape.rows_per_vertex * cells.step_rows[1], shape.width);
  call.tape.device().run(Fill{zero, 0.0});
  return Tape::constant(zero);
}

/// The steps of a layer that goes step by step, from the output x of its spatial stage.
Var step_by_step(const ModelCall& call, LayerStages& stages, std::size_t layer, const Var& x) {
  const int number = static_cast<int>(layer);
  const Timelines lines = stages.steps();
  const bool has_state = remembers(call.layers[layer].need);
  LayerMemory* const memory = stages.memory(number);
  Var state = memory != nullptr ? memory->before : nullptr;
  if (has_state && !state) state = zero_state(call, *lines.cells, layer);
  std::vector<Var> parts;
  for (std::size_t s = 0; s < lines.segments.size(); ++s) {
    if (s > 0 && has_state) state = stages.hand_over(number, s, state);
    const std::int64_t begin = lines.segments[s].first_step;
    for (std::int64_t t = begin; t < begin + lines.segments[s].steps; ++t) {
      const auto step = static_cast<std::size_t>(t);
      const std::int64_t first = lines.cells->step_rows[step], rows = lines.cells->step_rows[step + 1] - first;
      const TemporalOutput output =
          call.model.step(call.tape, call.parameters, number,
                          {slice_rows(call.tape, x, first, rows), state, &stages.neighbours(t), &call.pass});
      parts.push_back(output.y);
      state = output.state;
    }
  }
  if (memory != nullptr) memory->after = stages.last() ? nullptr : state;
  return concat_rows(call.tape, parts);
}

Var empty_rows(const ModelCall& call, std::int64_t width) {
  return Tape::constant(call.tape.device().allocate(0, width));
}

/// One round of a packed stage on a rank that has a part in it; `state` null where no piece is given one.
TemporalOutput packed_round(const ModelCall& call, const LayerStages& stages, std::size_t layer,
                            const PackedRound& round, const Var& x, const Var& state, bool want_state) {
  TemporalInput input;
  input.x = round.lanes == 0 ? x : pack_rows(call.tape, x, round.in, round.steps * round.lanes);
  input.steps = round.steps;
  input.rows_per_step = round.lanes;
  input.state = state;
  input.want_state = want_state;
  input.cells = stages.timelines().cells;
  input.pass = &call.pass;
  input.packed = &round.timelines;
  return call.model.temporal(call.tape, call.parameters, static_cast<int>(layer), input);
}

/// Rounds of a recurrence, from what was remembered before the block on.
Var packed_recurrence(const ModelCall& call, LayerStages& stages, std::size_t layer, const PackedStage& stage,
                      const Var& x) {
  const int number = static_cast<int>(layer);
  const std::int64_t state_width = state_shape(call.layers[layer], 0).width;
  LayerMemory* const memory = stages.memory(number);
  std::vector<Var> parts, left;
  std::vector<PackedRows> lists, remembered;
  Var state = memory != nullptr ? memory->before : nullptr;
  for (std::size_t k = 0; k < stage.rounds.size(); ++k) {
    const PackedRound& round = stage.rounds[k];
    if (k > 0) state = stages.hand_over(number, k, state);
    TemporalOutput output;
    if (round.lanes > 0) {
      const bool leaves = round.handed > 0 || round.remembered.count > 0;
      output = packed_round(call, stages, layer, round, x, round.given > 0 ? state : nullptr, leaves);
    }
    parts.push_back(output.y);
    lists.push_back(round.out);
    left.push_back(round.remembered.count > 0 ? output.state : nullptr);
    remembered.push_back(round.remembered);
    // A rank that hands nothing on takes part in the exchange all the same.
    state = round.handed > 0 ? output.state : empty_rows(call, state_width);
    if (round.handed > 0 && round.handed_rows.defined())
      state = gather_rows(call.tape, state, {round.handed_rows}, round.handed_rows.rows());
  }
  if (memory != nullptr && !stages.last())
    memory->after = collect_rows(call.tape, left, remembered, stage.remembered_rows, state_width);
  return collect_rows(call.tape, parts, lists, stage.rows, call.layers[layer].temporal_width);
}

/// A window, whose products are those of own rows as they lie, or an attention in lanes: from the rows of the block and
/// those remembered before it.
Var packed_stage(const ModelCall& call, LayerStages& stages, std::size_t layer, const PackedStage& stage,
                 const Var& x) {
  if (call.layers[layer].need == TemporalNeed::recurrent) return packed_recurrence(call, stages, layer, stage, x);
  const int number = static_cast<int>(layer);
  LayerMemory* const memory = stages.memory(number);
  const Var own = memory != nullptr && memory->before ? concat_rows(call.tape, {memory->before, x}) : x;
  if (memory != nullptr && !stages.last()) {
    const std::int64_t rows = stage.remembered_rows;
    memory->after = slice_rows(call.tape, own, own->value.rows() - rows, rows);
  }
  const Var read = stages.with_temporal_halo(number, own);
  const PackedRound& round = stage.rounds[0];
  const std::int64_t width = call.layers[layer].temporal_width;
  if (stage.rows == 0) return empty_rows(call, width);
  const Var y = packed_round(call, stages, layer, round, read, nullptr, false).y;
  return round.lanes == 0 ? y : collect_rows(call.tape, {y}, {round.out}, stage.rows, width);
}

}  // namespace

const Neighbours& LayerStages::neighbours(std::int64_t) { throw Error("nobody brings the neighbours of single steps"); }

Var temporal_stage(const ModelCall& call, LayerStages& stages, std::size_t layer, const Var& x) {
  const int number = static_cast<int>(layer);
  if (const PackedStage* stage = stages.packed(number)) return packed_stage(call, stages, layer, *stage, x);
  const bool at_once = stages.brings_earlier_steps(number);
  const auto [cells, segments] = stages.timelines();
  LayerMemory* const memory = stages.memory(number);
  Var state = at_once ? stages.earlier_steps(number, x) : memory != nullptr ? memory->before : nullptr;
  std::vector<Var> parts;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto begin = static_cast<std::size_t>(segments[s].first_step);
    const std::int64_t steps = segments[s].steps, first = cells->step_rows[begin];
    const std::int64_t rows = cells->step_rows[begin + static_cast<std::size_t>(steps)] - first;
    const std::int64_t first_step = cells->first_step + segments[s].first_step;
    if (s > 0 && !at_once) state = stages.hand_over(number, s, state);
    TemporalOutput output;
    const bool want_state = !at_once && (s + 1 < segments.size() || !stages.last());
    if (rows > 0) {
      const TemporalInput input{slice_rows(call.tape, x, first, rows), steps,      rows / steps, first_step,
                                first_step > 0 ? state : nullptr,      want_state, cells,        &call.pass};
      output = call.model.temporal(call.tape, call.parameters, number, input);
      parts.push_back(output.y);
    }
    // A rank without rows of this segment hands nothing on, but takes part in the exchange.
    if (want_state && rows == 0) {
      const std::int64_t width = state_shape(call.layers[layer], first_step + steps).width;
      output.state = Tape::constant(call.tape.device().allocate(0, width));
    }
    if (!at_once) state = output.state;
  }
  if (memory != nullptr && !at_once) memory->after = state;
  if (parts.size() == 1) return parts[0];
  if (parts.empty()) return Tape::constant(call.tape.device().allocate(0, call.layers[layer].temporal_width));
  return concat_rows(call.tape, parts);
}

std::size_t spatial_stages(const ModelCall& call, LayerStages& stages, std::size_t first, Var& x) {
  for (std::size_t l = first; l < call.layers.size(); ++l) {
    const int layer = static_cast<int>(l);
    if (call.layers[l].reads_neighbours) x = stages.with_halo(layer, x);
    const SpatialInput input = stages.spatial_input(layer, x);
    JointOutput output = joint_form(call, stages, l, input);
    if (!output.y) output = {call.model.spatial(call.tape, call.parameters, layer, input), 1, true};
    x = output.y;
    l += static_cast<std::size_t>(output.layers) - 1;
    if (!output.spatial_only) continue;
    if (walks_timelines(call.layers[l])) return l;
    if (call.layers[l].step_by_step) x = step_by_step(call, stages, l, x);
  }
  return call.layers.size();
}

Var walk_layers(const ModelCall& call, LayerStages& stages, Var x) {
  for (std::size_t l = 0;;) {
    l = spatial_stages(call, stages, l, x);
    if (l == call.layers.size()) return x;
    x = stages.to_temporal(x);
    x = temporal_stage(call, stages, l++, x);
    x = stages.to_spatial(x);
  }
}

}  // namespace strobe
