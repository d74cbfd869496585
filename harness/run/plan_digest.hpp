// What ranks of several processes compare before they train together: whether they are about to compute the same.
#pragma once

#include <string>

#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// SHA-256, as 32 bytes, over all that decides the numbers of a planned case: its canonical JSON, the prepared graphs,
/// the samples, the weights to start from, and who owns which cell. Cost: a pass over the graph, once a graph.
std::string plan_digest(const PlannedCase& plan);

/// The 32 bytes of a hexadecimal SHA-256.
std::string digest_bytes(const std::string& hex);

}  // namespace strobe
