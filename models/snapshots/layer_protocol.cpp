#include "models/snapshots/layer_protocol.hpp"

#include <algorithm>

#include "models/ops/ops.hpp"
#include "models/snapshots/unit_stages.hpp"

namespace strobe {
namespace {

/// Whether this rank's rows are whole timelines whose state is not requested.
bool whole_timelines(LayerStages& stages, const CellRows& own) {
  const Timelines lines = stages.timelines();
  return stages.own_timelines() && lines.segments.size() == 1 && lines.cells->first_step == 0 && stages.last() &&
         own.step_rows.back() > 0;
}

/// The joint form of layer `layer` and the layers after it, where another layer follows with nothing in between.
JointOutput joint_form(const ModelCall& call, LayerStages& stages, std::size_t layer, const SpatialInput& spatial) {
  JointInput input{spatial};
  input.whole_timelines = walks_timelines(call.layers[layer]) && stages.packed(static_cast<int>(layer)) == nullptr &&
                          whole_timelines(stages, *spatial.cells);
  SpatialInput next;
  const bool has_neighbours = stages.own_neighbours() || call.layers[layer].sends_input;
  if (layer + 1 < call.layers.size() && call.layers[layer + 1].joins_previous && has_neighbours) {
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
      const std::size_t step = t;
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
  const std::int64_t bin_rows = round.steps * round.bins;
  call.tape.device().stage_rows().add_bins(bin_rows, round.in.count);
  TemporalInput input;
  input.x = bin_rows == 0 && round.in.count == 0
                ? x
                : pack_rows(call.tape, x, round.in, bin_rows == 0 ? round.in.count : bin_rows);
  input.steps = round.steps;
  input.rows_per_step = round.bins;
  input.state = state;
  input.want_state = want_state;
  input.cells = stages.timelines().cells;
  input.pass = &call.pass;
  input.packed = &round.timelines;
  return call.model.temporal(call.tape, call.parameters, static_cast<int>(layer), input);
}

/// The states that a round hands on, among those that it leaves.
Var handed_on(const ModelCall& call, const PackedRound& round, const Var& left) {
  return round.handed_rows.defined() ? gather_rows(call.tape, left, {round.handed_rows}, round.handed_rows.rows())
                                     : left;
}

/// A round whose parts are walked one after the other; gives the states that it hands on. `remembered` receives those
/// of the block's last step.
Var round_by_units(const ModelCall& call, const LayerStages& stages, std::size_t layer, const PackedRound& round,
                   const Var& x, const Var& state, CollectedRows& outputs, CollectedRows& remembered) {
  CollectedRows handed;
  for (const PackedRound& unit : round.units) {
    const Var given =
        unit.given == 0 ? nullptr : gather_rows(call.tape, state, {unit.given_rows}, unit.given_rows.rows());
    const bool leaves = unit.handed > 0 || unit.remembered.count > 0;
    const TemporalOutput output = packed_round(call, stages, layer, unit, x, given, leaves);
    outputs.add(output.y, unit.out);
    if (unit.remembered.count > 0) remembered.add(output.state, unit.remembered);
    if (unit.handed > 0) handed.add(handed_on(call, unit, output.state), unit.handed_to);
  }
  const StateShape shape = state_shape(call.layers[layer], 0);
  if (round.handed == 0) return empty_rows(call, shape.width);
  return collect_rows(call.tape, handed.parts, handed.lists, shape.rows_per_vertex * round.handed, shape.width);
}

/// Rounds of a recurrence, starting from the memory of the block before.
Var packed_recurrence(const ModelCall& call, LayerStages& stages, std::size_t layer, const PackedStage& stage,
                      const Var& x) {
  const int number = static_cast<int>(layer);
  const std::int64_t state_width = state_shape(call.layers[layer], 0).width;
  LayerMemory* const memory = stages.memory(number);
  CollectedRows outputs, left;
  Var state = memory != nullptr ? memory->before : nullptr;
  for (std::size_t k = 0; k < stage.rounds.size(); ++k) {
    const PackedRound& round = stage.rounds[k];
    if (k > 0) state = stages.hand_over(number, k, state);
    if (!round.units.empty()) {
      state = round_by_units(call, stages, layer, round, x, state, outputs, left);
      continue;
    }
    TemporalOutput output;
    if (round.bins > 0) {
      const bool leaves = round.handed > 0 || round.remembered.count > 0;
      output = packed_round(call, stages, layer, round, x, round.given > 0 ? state : nullptr, leaves);
    }
    outputs.add(output.y, round.out);
    left.add(round.remembered.count > 0 ? output.state : nullptr, round.remembered);
    // A rank that hands nothing on takes part in the exchange all the same.
    state = round.handed > 0 ? handed_on(call, round, output.state) : empty_rows(call, state_width);
  }
  stages.leave(number, state);
  if (memory != nullptr && !stages.last())
    memory->after = collect_rows(call.tape, left.parts, left.lists, stage.remembered_rows, state_width);
  return collect_rows(call.tape, outputs.parts, outputs.lists, stage.rows, call.layers[layer].temporal_width);
}

/// A window, whose products use own rows in place, or an attention in bins: from the rows of the block and those
/// remembered before it.
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
  if (!round.units.empty()) {
    CollectedRows outputs;
    for (const PackedRound& unit : round.units)
      outputs.add(packed_round(call, stages, layer, unit, read, nullptr, false).y, unit.out);
    return collect_rows(call.tape, outputs.parts, outputs.lists, stage.rows, width);
  }
  const Var y = packed_round(call, stages, layer, round, read, nullptr, false).y;
  return round.bins == 0 ? y : collect_rows(call.tape, {y}, {round.out}, stage.rows, width);
}

/// The spatial stage of layer `layer`, and the stages after it that a joint form includes.
JointOutput spatial_output(const ModelCall& call, LayerStages& stages, std::size_t layer, const Var& x) {
  if (const std::vector<RowUnit>* units = stages.units())
    return {spatial_by_units(call, stages, layer, *units, x), 1, true};
  const int number = static_cast<int>(layer);
  const SpatialInput input = stages.spatial_input(number, x);
  JointOutput output = joint_form(call, stages, layer, input);
  if (!output.y) output = {call.model.spatial(call.tape, call.parameters, number, input), 1, true};
  for (std::size_t l = layer; l < layer + static_cast<std::size_t>(output.layers); ++l)
    count_loaded(call.tape.device(), call.layers, l, input.a);
  return output;
}

}  // namespace

const Neighbours& LayerStages::neighbours(std::int64_t) { throw Error("nobody brings the neighbours of single steps"); }

namespace {

/// The range of a layer in a profile: forward now, and backward when the tape returns to it.
class LayerRange {
 public:
  LayerRange(const ModelCall& call, std::size_t layer)
      : call_(call), name_(call.pass.ranges == nullptr ? "" : layer_range_name(layer)) {
    if (RangeLog* const log = call.pass.ranges; log != nullptr) {
      log->open(name_);
      call_.tape.on_backward([log] { log->close(); });
    }
  }
  ~LayerRange() {
    if (RangeLog* const log = call_.pass.ranges; log != nullptr) {
      call_.tape.on_backward([log, name = name_] { log->open(name); });
      log->close();
    }
  }
  LayerRange(const LayerRange&) = delete;
  LayerRange& operator=(const LayerRange&) = delete;

 private:
  const ModelCall& call_;
  const std::string_view name_;
};

}  // namespace

Var temporal_stage(const ModelCall& call, LayerStages& stages, std::size_t layer, const Var& x) {
  const int number = static_cast<int>(layer);
  if (const PackedStage* stage = stages.packed(number)) return packed_stage(call, stages, layer, *stage, x);
  const bool at_once = stages.brings_earlier_steps(number);
  const auto [cells, segments] = stages.timelines();
  LayerMemory* const memory = stages.memory(number);
  Var state = at_once ? stages.earlier_steps(number, x) : memory != nullptr ? memory->before : nullptr;
  std::vector<Var> parts;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const std::size_t begin = segments[s].first_step;
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
    const LayerRange range(call, l);
    const int layer = static_cast<int>(l);
    if (sends_rows(call.layers, l)) x = stages.with_halo(layer, x);
    JointOutput output = spatial_output(call, stages, l, x);
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
    const LayerRange range(call, l);
    x = stages.to_temporal(x);
    x = temporal_stage(call, stages, l++, x);
    x = stages.to_spatial(x);
  }
}

}  // namespace strobe
