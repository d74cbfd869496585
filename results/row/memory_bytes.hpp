// The parts of memory of a row, from the samples of its ranks.
#pragma once

#include "results/row/row.hpp"

namespace strobe {

/// Fills in `row.memory_bytes`: of each rank, the parts at the highest of its epochs' peaks. Samples of an older
/// version tell of no parts; the row then has none.
void take_memory_bytes(const CaseResult& result, Row& row);

/// The planned parts of a row, [ranks]; empty if it has none.
std::vector<PerMemoryPart<std::uint64_t>> planned_memory_of(const Row& row);

}  // namespace strobe
