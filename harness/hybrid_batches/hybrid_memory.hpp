// The host memory of hybrid batches that the rehearsal of their training leaves out.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/schedule/schedule.hpp"

namespace strobe {

struct HybridMemory {
  /// The same training. Its rehearsal also evaluates the weights, and its peak is that of the last evaluation.
  std::shared_ptr<const SchedulePlan> judged;
  std::shared_ptr<const SchedulePlan> evaluated;  // the full batch that the weights are evaluated on
  /// Most bytes of the batches that a rank keeps, or makes before their use, [P]. The list of a process that trains one
  /// rank has only that rank's.
  std::vector<double> feed;
};

/// Nothing for another kind of training.
std::optional<HybridMemory> hybrid_memory(const SchedulePlan& schedule);

}  // namespace strobe
