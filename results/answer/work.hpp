// The unit of work in which the times of several epochs can be compared.
#pragma once

#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// Whether two epochs do the same work, as far as both are known. A number that only one side knows is a difference.
bool same_work(const EpochWork& a, const EpochWork& b);

/// Whether events, cells or edges of an epoch are known.
bool is_known(const EpochWork& work);

/// "1 update on 160 cells". The work must be known.
std::string work_text(const EpochWork& work);

/// A unit of work: times per unit can be compared.
enum class WorkUnit : std::uint8_t { epoch, event, cell, edge, none };

/// `epoch` when all do the same work and know it. Otherwise the first of event, cell, edge that all of them know;
/// `none` when there is no such unit. `works` is not empty.
WorkUnit common_unit(const std::vector<EpochWork>& works);

/// The number of units in an epoch; 1 for `epoch`.
double units_in(const EpochWork& work, WorkUnit unit);

/// "epoch", "event", "cell", "edge", "".
std::string unit_name(WorkUnit unit);

}  // namespace strobe
