// Why one configuration is faster than another, from the phases and bytes of their rows.
#pragma once

#include <string>

#include "results/answer/answer.hpp"

namespace strobe {

/// The phases, and bytes sent, that make most of the difference between the fastest contender and the slowest that has
/// a time; "" when they are not known, or when epochs do different work.
std::string reasons_of(const Answer& answer);

}  // namespace strobe
