// Impossible combinations of a sweep: each value is valid alone, but no run can have them all.
#pragma once

#include <optional>

#include "core/errors.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// Whether a refusal is about a combination. Examples: the workload cannot be divided into that many ranks, blocks or
/// parts; the model trains under other strategies; no number of blocks fits the memory. Unknown names, values of
/// another type and files are not combinations.
bool is_impossible_combination(const InvalidRequest& refusal);

/// Like case_from_json, but an impossible combination is put into `refusal` and not thrown. The returned case's JSON
/// gives the same case and the same refusal again.
Case case_or_refusal(const Json& json, const std::string& pointer, CaseRuns runs,
                     std::optional<InvalidRequest>& refusal);

}  // namespace strobe
