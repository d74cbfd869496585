// The positions of the cells of a rank's units among the rank's own rows and halo rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// The units of one rank, and the cells that they read.
struct UnitCells {
  const Placement* placement = nullptr;  // assigns cells to the units of all ranks, as if units were ranks
  const HaloNeeds* reads = nullptr;      // cells that each unit reads and does not hold
  Run own;                               // the rank's units

  bool given() const { return placement != nullptr; }
};

/// The rows of one unit among own and halo rows of its rank.
struct UnitRows {
  std::vector<std::int64_t> read;  // its own cells in the order of steps, then the cells that it reads, also by step
  std::int64_t own_count = 0;

  /// The number of them among the rank's `own_rows` own rows.
  std::int64_t of_rank(std::int64_t own_rows) const {
    return std::count_if(read.begin(), read.end(), [own_rows](std::int64_t row) { return row < own_rows; });
  }
  std::vector<std::int64_t> own() const {
    return {read.begin(), read.begin() + static_cast<std::ptrdiff_t>(own_count)};
  }
};

/// Rows of each unit of `rank`, whose halo brings `needs` under `placement`. Every cell that a unit reads must be an
/// own cell or a halo cell. Cost O(own and halo cells + cells read by units + T * units).
std::vector<UnitRows> unit_rows(const Placement& placement, const HaloNeeds& needs, const UnitCells& units, Rank rank);

}  // namespace strobe
