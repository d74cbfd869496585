// Moves nodes between ranks so that fewer columns are sent: k-way local search after Fiduccia and Mattheyses (DAC'82)
// on pairs of pairs of nodes first and on single nodes last, as multilevel partitioners refine (Karypis and Kumar, VLSI
// Design 11(3), 2000).
// Invariants: no rank gets more load than the limit, or than it has, none loses its last node, and what is sent never
// grows. The result depends on the input and the seed alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/placement/chunks/assign/cell_nets.hpp"

namespace strobe {

struct RefinementLimits {
  int ranks = 1;
  double most_load = 0;  // of a rank
  std::uint64_t seed = 1;
  std::uint64_t first_round = 0, rounds = 3;  // rounds of all levels, numbered: each has a seed of its own
};

/// Loads of the ranks: [P].
std::vector<double> load_of_ranks(const CellNets& nets, std::span<const Rank> rank, int ranks);

/// Moves nodes away from ranks with more than `most_load`, those that cost least first, while another rank has room.
void balance_ranks(const CellNets& nets, const RefinementLimits& limits, std::span<Rank> rank);

/// Improves rank [nodes] until a round of all levels gains nothing, or the rounds are over. Cost of a round O(pins
/// ranks log).
void refine_ranks(const CellNets& nets, const RefinementLimits& limits, std::span<Rank> rank);

}  // namespace strobe
