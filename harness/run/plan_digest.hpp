// The digest of a planned case. Processes compare it before training, to check that all compute the same.
#pragma once

#include <string>

#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// SHA-256, as 32 bytes, over everything that decides the results of a planned case: its canonical JSON, the files of
/// its model, the prepared graphs, the samples, the initial weights, and the owner of each cell. Cost: one pass over
/// each graph.
std::string plan_digest(const PlannedCase& plan);

/// Converts a hexadecimal SHA-256 to its 32 bytes.
std::string digest_bytes(const std::string& hex);

}  // namespace strobe
