// Bytes that the exchanges of a case take to plan and to hold. They follow from the placements alone, before any memory
// is taken.
#pragma once

#include "harness/placement/placement.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// The quantities that decide how many exchanges a case has, and how long their lists are.
struct ExchangeDemand {
  const Placement& spatial;
  const Placement& temporal;
  const std::vector<Run>& blocks;         // ranges of steps
  const std::vector<LayerShape>& layers;  // these say which layers remember, and where
  double pairs_limit = 0;                 // the most pairs of ranks that a halo lists: entries of the graph
  std::int64_t step_supports = 0;         // halos of every single step
  std::int64_t overlap = 1;               // slices of a block
  int servers = 0;                        // that carry halos and states; 0: peers do
};

/// Bytes that the plans of all exchanges take, plus the bytes that the ranks of one process hold of them. Includes
/// hand-overs of state, and the memory that is needed only while a plan is made. Lists are counted as they are made:
/// neighbouring peers with equal rows are one entry. Peers of halos depend on the graph, so halos count with the most
/// that they can take. Index lists, which exist only where values move, are left out. Cost O(T + P + N) per block.
double exchange_bytes(const ExchangeDemand& demand);

/// Returns the same. Throws InvalidRequest("/ranks", ...) when it exceeds the memory of this machine or the process's
/// limit.
double exchange_bytes_within_memory(const ExchangeDemand& demand);

}  // namespace strobe
