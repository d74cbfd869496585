// The request that a run directory holds, so that `strobe run --resume DIR` needs no other word.
#pragma once

#include "harness/measure/run_request.hpp"

namespace strobe {

/// What plan.json keeps of a request beside its cases: the files that it leaves, its trace and its time limit. Paths
/// are absolute, so that they mean the same wherever the run is continued from.
Json kept_outputs(const RunRequest& request);

/// Whether the request names a run to go on with and no cases: `--resume DIR`, or `--resume --out DIR`.
bool asks_for_kept_cases(const RunRequest& request);

/// The cases of that run, with its outputs put into `request` where it names none itself; --checkpoint's file is
/// continued when it is there. Throws InvalidRequest when flags would change the plan, and InvalidInput for a plan.json
/// that is none.
Suite kept_cases(RunRequest& request);

/// Takes the rounds of a run that is continued from its plan. Throws InvalidRequest where the request names others.
void settle_rounds(RunRequest& request);

/// What --resume makes of the request in any case: training that is over gives its row, and training of which there is
/// no checkpoint yet begins.
void settle_resumption(RunRequest& request);

/// The status of each case of `folder` that is not run again, by id; {} unless the request resumes.
Json finished_in(const RunRequest& request, const std::string& folder);

}  // namespace strobe
