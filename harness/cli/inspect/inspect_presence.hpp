// Cells that exist and how long the sequences of vertices are, by each way to say which do (DGC, SIGMOD'23, Fig. 3).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Values of `presence`, "seen,lifetime,...": at least one, none twice. Throws InvalidRequest("--presence", ...).
std::vector<std::string> presences_to_inspect(const std::string& text);

/// Of the steps of `workload`, for each of `kinds` under its name: {"cells", "share" of all T N cells, "vertices" that
/// have any, "sequences", "sequence_length" in steps: {"count", "mean", "min", "p25", ..., "max", "counts": [[length,
/// sequences of it], ...]}, and "cells_per_step" [T]}. Quantiles are `nearest_rank`'s, all of them exact.
Json inspect_presence(const std::vector<std::string>& kinds, const std::string& workload, const Json& parameters,
                      std::uint64_t seed);

}  // namespace strobe
