// How the operations of a captured model fall into stages: what one layer computes of all steps at once, and what
// follows step by step.
#pragma once

#include <cstddef>
#include <vector>

#include "models/snapshots/captured_graph.hpp"

namespace strobe {

/// The part of the operations that one layer computes.
struct CapturedStage {
  bool reads_neighbours = false;
  std::vector<std::size_t> spatial;   // operations of all steps at once
  std::vector<std::size_t> carried;   // values that the spatial part hands on, side by side
  bool steps = false;                 // whether `stepwise` follows
  std::vector<std::size_t> stepwise;  // operations of each step
};

/// The stages of a model, and which matrix they multiply with.
struct CapturedStages {
  int matrix = -1;           // of spatial stages; -1: none
  bool precomputed = false;  // x is only read by products with `matrix`: layer 0 is given the product in place of x
  std::vector<CapturedStage> stages;
};

CapturedStages captured_stages(const CapturedGraph& graph);

}  // namespace strobe
