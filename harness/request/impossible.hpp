// Combinations of a sweep that do not go together: each value is one that Strobe has, but no run can have them all.
#pragma once

#include <optional>

#include "core/errors.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// Whether a refusal is one of a combination: so many ranks, blocks or parts do not divide the workload, the model
/// trains under other strategies, no number of blocks fits the memory. Not one of a name that nothing has, of a value
/// of another type, or of a file.
bool is_impossible_combination(const InvalidRequest& refusal);

/// As case_from_json, but for an impossible combination, which is put into `refusal`. The case's JSON then gives the
/// same case and the same refusal again.
Case case_or_refusal(const Json& json, const std::string& pointer, CaseRuns runs,
                     std::optional<InvalidRequest>& refusal);

}  // namespace strobe
