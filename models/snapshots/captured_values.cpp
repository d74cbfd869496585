#include "models/snapshots/captured_values.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_evolve.hpp"
#include "models/ops/ops_gate.hpp"
#include "models/ops/ops_memory.hpp"
#include "models/ops/ops_pointwise.hpp"
#include "models/snapshots/captured_stages.hpp"

namespace strobe {

Var CapturedValues::get(std::size_t value) {
  Var& known = values_[value];
  if (known) return known;
  if (value < graph_.first_weight()) throw Error("a captured stage reads a value that it is not given");
  if (value < graph_.first_result()) return known = parameters_.at(graph_.weights[value - graph_.first_weight()].name);
  return known = compute(graph_.operations[value - graph_.first_result()]);
}

Var CapturedValues::beside(const std::vector<std::size_t>& values) {
  if (values.size() == 1) return get(values[0]);
  return concat_columns(tape_, distinct(values));
}

Var CapturedValues::dense_of_steps(const CapturedOperation& op, const Var& w, const Tensor& step_rows) {
  const bool biased = op.reads.size() == 3;
  const Var y = step_dense(tape_, get(op.reads[0]), w, step_rows, biased ? Activation::none : op.activation);
  if (!biased) return y;
  const Var sum = add_row(tape_, y, get(op.reads[2]));
  return op.activation == Activation::relu ? pointwise(tape_, sum, Curve::leaky_relu, 0) : sum;
}

Var CapturedValues::compute(const CapturedOperation& op) {
  const auto read = [&](std::size_t i) { return get(op.reads[i]); };
  switch (op.kind) {
    case CapturedKind::dense:
      return dense(tape_, read(0), read(1), op.reads.size() == 3 ? read(2) : nullptr, op.activation);
    case CapturedKind::combine:
      return combine(tape_, read(0), op.p, read(1), op.q);
    case CapturedKind::multiply:
      return multiply(tape_, read(0), read(1));
    case CapturedKind::pointwise:
      return pointwise(tape_, read(0), op.curve, op.p, op.q);
    case CapturedKind::tanh:
      return tanh_of(tape_, read(0));
    case CapturedKind::concat:
      return beside(op.reads);
    case CapturedKind::columns:
      return slice_columns(tape_, read(0), op.first, op.count);
    case CapturedKind::rows:
      return slice_rows(tape_, read(0), op.first, op.count);
    case CapturedKind::stack:
      return concat_rows(tape_, distinct(op.reads));
    case CapturedKind::transpose:
      return transpose_blocks(tape_, read(0), 1);
    case CapturedKind::add_row:
      return add_row(tape_, read(0), read(1));
    case CapturedKind::layer_norm:
      return layer_norm(tape_, read(0), read(1), read(2));
    default:
      break;
  }
  throw Error("a captured stage computes a value that its caller has not set");
}

std::vector<Var> CapturedValues::distinct(const std::vector<std::size_t>& values) {
  std::vector<Var> parts;
  for (const std::size_t value : values) {
    const Var var = get(value);
    const bool again = std::find(parts.begin(), parts.end(), var) != parts.end();
    parts.push_back(again ? pointwise(tape_, var, Curve::affine) : var);
  }
  return parts;
}

namespace {

/// States of weights as one tensor: one below the other, those with fewer columns filled with zeros.
class StackedStates {
 public:
  explicit StackedStates(Tape& tape) : tape_(tape) {}

  Var stack(const std::map<std::size_t, Var>& states) const {
    std::int64_t widest = 0;
    for (const auto& [state, var] : states) widest = std::max(widest, var->value.columns());
    std::vector<Var> parts;
    for (const auto& [state, var] : states) parts.push_back(widened(var, widest));
    return parts.size() == 1 ? parts[0] : concat_rows(tape_, parts);
  }
  /// The states of such a tensor, of the shapes in `states`.
  void unstack(const Var& stacked, std::map<std::size_t, Var>& states) const {
    std::int64_t first = 0;
    for (auto& [state, var] : states) {
      const std::int64_t rows = var->value.rows(), columns = var->value.columns();
      const Var part = slice_rows(tape_, stacked, first, rows);
      var = columns == stacked->value.columns() ? part : slice_columns(tape_, part, 0, columns);
      first += rows;
    }
  }

 private:
  Var widened(const Var& var, std::int64_t columns) const {
    const Tensor& value = var->value;
    if (value.columns() == columns) return var;
    const Tensor zeros = tape_.device().allocate(value.rows(), columns - value.columns(), value.type());
    tape_.device().run(Fill{zeros, 0.0});
    return concat_columns(tape_, {var, Tape::constant(zeros)});
  }

  Tape& tape_;
};

std::map<std::size_t, Var> made_before(const std::vector<std::size_t>& values, const std::vector<Var>& vars) {
  std::map<std::size_t, Var> all;
  for (std::size_t i = 0; i < values.size(); ++i) all[values[i]] = vars.at(i);
  return all;
}

}  // namespace

std::map<std::size_t, Var> evolved_weights(Tape& tape, const CapturedGraph& graph, const Parameters& parameters,
                                           const std::vector<std::size_t>& values, const SpatialInput& input) {
  if (input.shared_weights != nullptr) return made_before(values, *input.shared_weights);
  std::map<std::size_t, Var> current;
  for (const std::size_t state : states_behind(graph, values))
    current[state] = parameters.at(graph.weights[graph.states[state - 1].start - graph.first_weight()].name);
  if (current.empty()) return {};
  if (input.weights_state) StackedStates(tape).unstack(input.weights_state, current);
  std::map<std::size_t, std::vector<Var>> steps;
  for (std::int64_t t = 0; t < input.cells->steps; ++t) {
    CapturedValues step(tape, graph, parameters);
    for (const auto& [state, var] : current) step.set(state, var);
    for (const std::size_t value : values) steps[value].push_back(step.get(value));
    for (auto& [state, var] : current) var = step.get(graph.next[state - 1]);
  }
  if (input.next_weights_state != nullptr) *input.next_weights_state = StackedStates(tape).stack(current);
  std::map<std::size_t, Var> all;
  for (const auto& [value, vars] : steps) all[value] = vars.size() == 1 ? vars[0] : concat_rows(tape, vars);
  return all;
}

}  // namespace strobe
