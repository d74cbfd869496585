// A planned case: everything that is decided before ranks start. All ranks share it and nobody changes it. `--dry-run`
// prints it, and the run loop executes it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/request/until.hpp"
#include "harness/schedule/schedule.hpp"

namespace strobe {

struct PlannedCase {
  Case request;
  std::shared_ptr<const SchedulePlan> schedule;
  std::vector<std::string> notes;       // the schedule's notes and how it was chosen, one sentence each
  double load_seconds = 0;              // wall time to read and prepare the data and to plan, in this process
  std::optional<UntilRule> until = {};  // the rule of the request, with its target as a value
  double host_bytes = 0;                // of a node in training, planned; 0 without a limit of host memory

  int ranks() const { return static_cast<int>(request.ranks); }
  bool fp64() const { return request.precision == "fp64"; }
};

}  // namespace strobe
