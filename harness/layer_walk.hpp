// The forward pass of one rank: per layer spatial stage, exchange, temporal stage, exchange. It knows neither the
// equations nor the links.
#pragma once

#include <vector>

#include "harness/cell_rows.hpp"
#include "harness/exchange.hpp"
#include "harness/local_graph.hpp"
#include "harness/planned_case.hpp"

namespace strobe {

/// What stays on a rank from pass to pass: its part of the graph and its exchanges.
class LayerWalk {
 public:
  LayerWalk(const PlannedCase& plan, Device& device);

  /// Embeddings of this rank's cells [own rows, F]. All ranks must call it.
  Var forward(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass) const;

  /// Bytes of the graph's structure and features on this rank.
  std::uint64_t graph_bytes() const { return local_.a.bytes() + local_.features.bytes(); }

 private:
  Var temporal(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass,
               std::size_t layer, const Var& x) const;
  Var zero_state(Tape& tape, std::size_t layer) const;
  Var step_by_step(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass,
                   std::size_t layer, const Var& x) const;

  const PlannedCase& plan_;
  LocalGraph local_;
  CellRows spatial_cells_, temporal_cells_;
  Exchange spatial_halo_, to_temporal_, to_spatial_;
  std::vector<std::vector<Exchange>> handover_;  // [layers][segments - 1]
  StepProducts products_;
};

}  // namespace strobe
