// Runs the operations of a captured model on the tape (captured_graph.hpp): those of one call of a stage, and the
// weights of each step. Parts of models of events (models/events/event_parts.hpp) run here too.
#pragma once

#include <map>
#include <vector>

#include "models/snapshots/captured_graph.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// The values of one call of a stage. Weights are looked up, and computed from each other, when they are first read.
/// The graph and the parameters must outlive this object.
class CapturedValues {
 public:
  CapturedValues(Tape& tape, const CapturedGraph& graph, const Parameters& parameters)
      : tape_(tape), graph_(graph), parameters_(parameters), values_(graph.values()) {}

  void set(std::size_t value, Var var) { values_[value] = std::move(var); }
  /// Throws Error for a value that no operation makes and that was not set.
  Var get(std::size_t value);
  /// The values side by side.
  Var beside(const std::vector<std::size_t>& values);
  /// A matrix product whose weights are `w` [steps * F, G], one matrix for the rows of each step.
  Var dense_of_steps(const CapturedOperation& op, const Var& w, const Tensor& step_rows);

 private:
  /// Any operation but those whose results the caller sets, such as a product.
  Var compute(const CapturedOperation& op);
  /// The values, a copy of each that is there again. Two values may be one variable.
  std::vector<Var> distinct(const std::vector<std::size_t>& values);

  Tape& tape_;
  const CapturedGraph& graph_;
  const Parameters& parameters_;
  std::vector<Var> values_;
};

/// The weights `values` of all steps of the input's block, [steps * rows, columns] each. States of weights begin as the
/// steps before left them. Where rows are computed in parts, the parts share the values
/// (SpatialInput::shared_weights).
std::map<std::size_t, Var> evolved_weights(Tape& tape, const CapturedGraph& graph, const Parameters& parameters,
                                           const std::vector<std::size_t>& values, const SpatialInput& input);

}  // namespace strobe
