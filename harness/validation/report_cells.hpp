// Writes figures that may not exist into the reports of `strobe validate`: null in JSON, "-" in text, nothing in CSV.
#pragma once

#include <optional>
#include <string>

#include "core/fields.hpp"

namespace strobe {

Json number(double value);
Json number(const std::optional<double>& value);

/// Writes 0.207 as "20.7 %".
std::string percent(double fraction);

std::string cell(double value);
std::string cell(const std::optional<double>& value);

}  // namespace strobe
