// What the exchanges of a case take to plan and to hold, from its placements alone: told before any of it is taken.
#pragma once

#include "harness/placement/placement.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// What decides how many exchanges a case has, and how long their lists are.
struct ExchangeDemand {
  const Placement& spatial;
  const Placement& temporal;
  const std::vector<Run>& blocks;         // step ranges
  const std::vector<LayerShape>& layers;  // which of them remember, and where
  double pairs_limit = 0;                 // pairs of ranks that a halo lists at most; entries of the graph
  std::int64_t step_supports = 0;         // halos of every single step
  std::int64_t overlap = 1;               // slices of a block
};

/// Bytes that the plans of all exchanges take and that the ranks of one process hold of them, hand-overs of state
/// included, with what making them takes meanwhile. Lists are counted as they are made: peers that follow each other
/// with equal rows are one entry. Of halos, whose peers only the graph tells, it is the most that they can take; index
/// lists, which are made where values move, are not in it. Cost O(T + P + N) per block.
double exchange_bytes(const ExchangeDemand& demand);

/// The same; throws InvalidRequest("/ranks", ...) when that is more than this machine, or the process's limit, has.
double exchange_bytes_within_memory(const ExchangeDemand& demand);

}  // namespace strobe
