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
  std::vector<std::size_t> evolving;  // weights of each step, which the spatial part multiplies by
  std::vector<std::size_t> carried;   // values that the spatial part hands on, side by side
  bool steps = false;                 // whether `stepwise` follows
  std::vector<std::size_t> stepwise;  // operations of each step
};

/// The stages of a model, and which matrix they multiply with.
struct CapturedStages {
  int matrix = -1;           // of spatial stages; -1: none
  bool precomputed = false;  // x is only read by products with `matrix`: layer 0 is given the product in place of x
  std::vector<CapturedStage> stages;
  /// An operation that no stage can compute: an attention that reads a state, or an evolving weight that is read other
  /// than as the matrix of a product in a spatial stage. 0: none.
  std::size_t refused = 0;
};

CapturedStages captured_stages(const CapturedGraph& graph);

/// The states of weights that `values`, all of weights, are made of.
std::vector<std::size_t> states_behind(const CapturedGraph& graph, std::vector<std::size_t> values);

}  // namespace strobe
