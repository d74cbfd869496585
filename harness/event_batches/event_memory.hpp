// The host memory of batches of events that the rehearsal of their training leaves out: what the host draws and judges
// with, next to tensors.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/event_batches/groups/group_plan.hpp"
#include "harness/schedule/schedule.hpp"

namespace strobe {

struct EventMemory {
  std::vector<double> bytes;  // [P] at the most of each rank, next to its tensors
  std::vector<double> start;  // [P] before the first epoch, with all tensors: while static memory is trained; 0: less
};

/// Times of mails and tables of vertices of each walk, the largest draws of training and evaluation, node memory of
/// daemons as an equal share of each rank, static memory, and what rank 0 judges events with. `files` names the output
/// files that the run writes at its end: rank 0 holds the embeddings, memory and scores that go into them. Cost: two
/// draws.
EventMemory memory_of_events(const GroupPlan& plan, const std::set<std::string>& files);

/// Nothing for another kind of training.
std::optional<EventMemory> event_memory(const SchedulePlan& schedule, const std::set<std::string>& files);

}  // namespace strobe
