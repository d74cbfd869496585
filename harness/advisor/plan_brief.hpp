// The parts of a plan's report that a manager reads: what each number of GPUs gives, and what would change the answer.
#pragma once

#include <string>

#include "harness/advisor/plan_report.hpp"

namespace strobe {

/// "12.3 USD", or "not sold".
std::string priced_text(const PlanOutcome& outcome);

/// One table for each cluster and model, with what its efficiencies compare with and why it stops scaling; "" without
/// --gpus.
std::string gpu_tables_text(const PlanReport& report);

/// The answer to the question which strategy is best at the point's place, in sentences; "" if it has no rival there.
std::string place_text(const PlanReport& report, const PlanOutcome& outcome);

/// One line: the parts of the device memory of the rank that needs most; "" if its row has none.
std::string memory_text(const PlanOutcome& best);

/// One sentence that names what would change the answer.
std::string turning_text(const PlanReport& report);

/// Adds the keys `by_gpus` and `turning`; docs/reference/plan_json.md describes them.
void add_brief(const PlanReport& report, Json& json);

}  // namespace strobe
