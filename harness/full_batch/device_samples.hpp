// One rank's samples on its device, and test outputs of all ranks in the task's order.
#pragma once

#include <vector>

#include "backends/device.hpp"
#include "harness/full_batch/exchange/placed_samples.hpp"

namespace strobe {

struct DeviceSamples {
  std::vector<Tensor> rows;  // i64 [n, 1] per vertex of a sample
  LossTargets targets;
  std::int64_t count = 0;
};

/// Moves in the rows and, unless `rows_only`, the expected results.
DeviceSamples move_in(Device& device, const LocalSamples& local, bool rows_only);

/// `outputs` [n, width] of all samples hold rank after rank, each rank's in the order of the task's list. Returns them
/// in the order of the list. `placed` were placed under `spatial`, the placement of the graph's steps.
std::vector<double> in_task_order(const std::vector<double>& outputs, const Samples& samples,
                                  const PlacedSamples& placed, const Placement& spatial, std::int64_t width);

}  // namespace strobe
