// Whether a row reached its target as it says.
#pragma once

#include <string>

#include "results/row/row.hpp"

namespace strobe {

/// The fault in what a row says of `until`; "" = none. The target is resolved again, and whether the
/// last epoch reached it is computed again. A RowJudge of verify_run, which itself adds up the seconds.
std::string fault_of_until(const Row& row);

/// Why a row has no time to a target of quality, as the end of a sentence about the case; "" when it has one. For rows
/// that verify_run accepts.
std::string fault_of_target(const Row& row);

}  // namespace strobe
