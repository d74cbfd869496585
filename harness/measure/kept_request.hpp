// Reads the request that a run directory holds, so that `strobe run --resume DIR` needs no other argument.
#pragma once

#include "harness/measure/run_request.hpp"

namespace strobe {

/// The part of a request that plan.json keeps in addition to the cases: output files, trace and time limit. Paths are
/// absolute, so that the run can be resumed from any folder.
Json kept_outputs(const RunRequest& request);

/// Whether the request names a run to resume and no cases: `--resume DIR`, or `--resume --out DIR`.
bool asks_for_kept_cases(const RunRequest& request);

/// Returns the cases of that run. Outputs that `request` does not name are taken from the run. Training continues from
/// the --checkpoint file when that exists. Throws InvalidRequest when flags would change the plan. Throws InvalidInput
/// when plan.json is not a plan.
Suite kept_cases(RunRequest& request);

/// Takes the rounds of a resumed run from its plan. Throws InvalidRequest when the request names other rounds.
void settle_rounds(RunRequest& request);

/// Applies --resume to the training files. Training that is already over gives its row. Training starts from the
/// beginning when its checkpoint does not exist yet.
void settle_resumption(RunRequest& request);

/// The status of each case of `folder` that is not run again, by id. Returns {} unless the request resumes.
Json finished_in(const RunRequest& request, const std::string& folder);

}  // namespace strobe
