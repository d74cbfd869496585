// Where the cells of a rank's units lie among the rows that the rank holds, and that its halo brings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// The units of one rank, and what they read.
struct UnitCells {
  const Placement* placement = nullptr;  // of cells to the units of all ranks, as if these were ranks
  const HaloNeeds* reads = nullptr;      // cells that each unit reads and does not hold
  Run own;                               // units of the rank

  bool given() const { return placement != nullptr; }
};

/// The rows of one unit among own and halo rows of its rank.
struct UnitRows {
  std::vector<std::int64_t> read;  // its own cells in the order of steps, then those that it reads, likewise
  std::int64_t own_count = 0;

  /// How many of them are among the rank's `own_rows` own rows.
  std::int64_t of_rank(std::int64_t own_rows) const {
    return std::count_if(read.begin(), read.end(), [own_rows](std::int64_t row) { return row < own_rows; });
  }
  std::vector<std::int64_t> own() const {
    return {read.begin(), read.begin() + static_cast<std::ptrdiff_t>(own_count)};
  }
};

/// By unit of `rank`, whose halo brings `needs` under `placement`; every cell that a unit reads is an own or a halo
/// cell. Cost O(own and halo cells + cells read by units + T * units).
std::vector<UnitRows> unit_rows(const Placement& placement, const HaloNeeds& needs, const UnitCells& units, Rank rank);

}  // namespace strobe
