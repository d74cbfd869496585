// Finds mistakes in a run before its first case is measured.
#pragma once

#include <functional>

#include "harness/measure/run_ranks.hpp"
#include "harness/run/kept_plans.hpp"

namespace strobe {

/// Does the work on a case. If the work throws InvalidRequest, it throws one that names the option or the place in the
/// suite file to correct.
template <class Work>
auto with_place(const Suite& suite, const Case& c, const Work& work) {
  try {
    return work();
  } catch (const InvalidRequest& error) {
    const std::string id = case_id(c), &where = error.where();
    const std::string& message = error.message();
    throw InvalidRequest(suite.place_of(id, where), suite.cases.size() == 1 ? message : id + ": " + message);
  }
}

/// Checks the output files. Weights and embeddings belong to one case, and their folders must exist before hours are
/// spent on them. Throws InvalidRequest that names the flag. `kept`: the only case has its row and is not run again, so
/// its checkpoint is not checked.
void check_outputs(const ModelOutputs& outputs, const Suite& suite, bool kept = false);

/// Checks everything that can be wrong before a run directory is made. Every process does this, and the results are
/// compared. It plans every case, so that impossible cases are found now and not after hours.
/// Impossible combinations are noted in `suite.impossible` and the others run, unless --strict refuses them.
void check_all(const RunRequest& request, Suite& suite, const Ranks& ranks, KeptPlans& plans, bool kept);

/// The row of an impossible combination: `skipped` with the reason, which is not a failure.
CaseResult skipped_case(const Case& c, const std::string& reason);

/// Makes the plan of a case of a sweep with `make`. Returns null when the case is impossible but others of the suite
/// may run; `suite.impossible` then holds the reason.
std::shared_ptr<const PlannedCase> plan_or_note(const RunRequest& request, Suite& suite, const Case& c,
                                                const std::function<std::shared_ptr<const PlannedCase>()>& make);

}  // namespace strobe
