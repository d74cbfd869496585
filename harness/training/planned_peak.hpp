// The greatest device memory that a plan will take, known before it runs.
#pragma once

#include "harness/schedule/planned_case.hpp"

namespace strobe {

struct PlannedPeak {
  std::uint64_t bytes = 0;        // of the rank that needs most
  std::uint64_t limit_bytes = 0;  // what a rank's device has for tensors; 0 = no limit

  bool fits() const { return limit_bytes == 0 || bytes <= limit_bytes; }
};

/// Peak of accounted device memory over the ranks of `plan`: the shape-only program of two epochs with their updates
/// and metrics, one rank after the other, on a device that only accounts. Exact wherever the program is (law 1);
/// buffers of a communicator are not part of it. Cost O(operations), and where the case's device stores matrices in
/// forms that depend on their values, the construction of these forms.
PlannedPeak planned_peak(const PlannedCase& plan);

}  // namespace strobe
