// The answer in words.
#pragma once

#include <string>
#include <vector>

#include "results/answer/answer.hpp"

namespace strobe {

/// Whole sentences: who is fastest and by how much, who reaches the metric first, and whose times cannot be compared.
/// `place` begins the first one, such as "On 2 ranks".
std::vector<std::string> sentences_of(const Answer& answer, const std::string& place, double threshold);

/// "1.30 ± 0.05 times", "9.83 (2.62 to 36.9) times"; with bands what they allow; without the interval where it has no
/// width or is not known.
std::string times_text(const TimeRatio& times);

}  // namespace strobe
