// What can be wrong with a run before its first case is measured.
#pragma once

#include <functional>

#include "harness/measure/run_ranks.hpp"
#include "harness/run/kept_plans.hpp"

namespace strobe {

/// The work on a case; a refusal of it names the option or the place in the suite file that can be mended.
template <class Work>
auto blaming(const Suite& suite, const Case& c, const Work& work) {
  try {
    return work();
  } catch (const InvalidRequest& error) {
    const std::string id = case_id(c), &where = error.where();
    const std::string& message = error.message();
    throw InvalidRequest(suite.place_of(id, where), suite.cases.size() == 1 ? message : id + ": " + message);
  }
}

/// Weights and embeddings are of one case, and their folders must be there before hours are spent on them. Throws
/// InvalidRequest that names the flag. `kept`: the one case has its row and is not run again, so its checkpoint is left
/// alone whatever it says.
void check_outputs(const ModelOutputs& outputs, const Suite& suite, bool kept = false);

/// Everything that can be wrong before a run directory is made, found by every process and compared between them. Plans
/// every case, so that an impossible one is found now and not after hours.
/// A combination that does not go together is noted in `suite.impossible` while others run, unless --strict refuses it.
void check_all(const RunRequest& request, Suite& suite, const Ranks& ranks, KeptPlans& plans, bool kept);

/// What the row of a combination that does not go together says: why it is not there, which is no failure.
CaseResult skipped_case(const Case& c, const std::string& reason);

/// Makes the plan of a case of a sweep by `make`. Null where the case cannot run though others of the suite may: the
/// suite then holds why.
std::shared_ptr<const PlannedCase> plan_or_note(const RunRequest& request, Suite& suite, const Case& c,
                                                const std::function<std::shared_ptr<const PlannedCase>()>& make);

}  // namespace strobe
