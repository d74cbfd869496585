#include "harness/cli/planned_memory.hpp"

#include <nlohmann/json.hpp>

#include "harness/run/run_case.hpp"
#include "harness/training/planned_peak.hpp"

namespace strobe {

void describe_planned_memory(const PlannedCase& plan, Json& described) {
  described["planned_memory_bytes"] = describe_memory(planned_peak(plan));
  if (const auto evaluation = planned_evaluation_peak(plan))
    described["planned_evaluation_bytes"] = describe_memory(*evaluation);
}

}  // namespace strobe
