// The host memory of batches of events that the rehearsal of their training leaves out: what the host draws and judges
// with, next to tensors.
#pragma once

#include <optional>
#include <vector>

#include "harness/event_batches/groups/group_plan.hpp"
#include "harness/schedule/schedule.hpp"

namespace strobe {

struct EventMemory {
  std::vector<double> bytes;  // [P] at the most of each rank
};

/// Times of mails and tables of vertices of each walk, the largest draws of training and evaluation, node memory of
/// daemons as an equal share of each rank, and what rank 0 judges events with. Cost: two draws.
EventMemory memory_of_events(const GroupPlan& plan);

/// Nothing for another kind of training.
std::optional<EventMemory> event_memory(const SchedulePlan& schedule);

}  // namespace strobe
