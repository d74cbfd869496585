// How often each of several predicted times is the least of a draw.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// By contender, in how many draws it takes least; `seconds` holds lists of equal length. Contenders that tie in a draw
/// share it equally, so the numbers add up to the number of draws.
std::vector<double> times_first(const std::vector<const std::vector<double>*>& seconds);

/// "in 87 of 100 draws", or "in 87" where `draws` is 0; shared draws may make it a fraction.
std::string draws_text(double first, std::size_t draws);

}  // namespace strobe
