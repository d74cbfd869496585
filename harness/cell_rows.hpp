// Which cells a rank's rows are, for models whose operations depend on the step or draw random numbers per cell.
#pragma once

#include "backends/device.hpp"
#include "harness/placement.hpp"
#include "models/model.hpp"

namespace strobe {

/// The rows of rank `device.rank()` under `placement`. Cost O(rows).
CellRows make_cell_rows(Device& device, const Placement& placement);

}  // namespace strobe
