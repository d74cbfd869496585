// A planned case: everything that is decided before ranks start, shared by all of them and immutable. `--dry-run`
// prints it, the run loop walks it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/schedule/schedule.hpp"

namespace strobe {

struct PlannedCase {
  Case request;
  std::shared_ptr<const SchedulePlan> schedule;
  std::vector<std::string> notes;  // the schedule's, and how it was chosen, one sentence each

  int ranks() const { return static_cast<int>(request.ranks); }
  bool fp64() const { return request.precision == "fp64"; }
};

}  // namespace strobe
