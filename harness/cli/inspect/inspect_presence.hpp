// Counts of cells and lengths of the vertices' sequences, for each kind of presence (DGC, SIGMOD'23, Fig. 3).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Reads kinds of presence from "seen,lifetime,...": at least one, none twice. Throws InvalidRequest("--presence",
/// ...).
std::vector<std::string> presences_to_inspect(const std::string& text);

/// For each of `kinds`, by its name, over the steps of `workload`: {"cells", "share" of all T N cells, "vertices" with
/// a cell, "sequences", "sequence_length" in steps, "cells_per_step" [T]}. "sequence_length" is {"count", "mean",
/// "min", "p25", ..., "max", "counts": [[length, number of sequences], ...]}. Quantiles are exact (`nearest_rank`).
Json inspect_presence(const std::vector<std::string>& kinds, const std::string& workload, const Json& parameters,
                      std::uint64_t seed);

}  // namespace strobe
