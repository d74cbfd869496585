// Runs the operations of a captured model on a tape (captured_graph.hpp). Captured models of snapshots and captured
// parts of models of events (models/events/event_parts.hpp) share it.
#pragma once

#include <vector>

#include "models/snapshots/captured_graph.hpp"
#include "models/tape/parameters.hpp"

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

 private:
  Var compute(const CapturedOperation& op);
  std::vector<Var> distinct(const std::vector<std::size_t>& values);

  Tape& tape_;
  const CapturedGraph& graph_;
  const Parameters& parameters_;
  std::vector<Var> values_;
};

}  // namespace strobe
