// How the reports of `strobe validate` write a figure that may not exist: null in JSON, "-" in text, nothing in CSV.
#pragma once

#include <optional>
#include <string>

#include "core/fields.hpp"

namespace strobe {

Json number(double value);
Json number(const std::optional<double>& value);

/// 0.207 as "20.7 %".
std::string percent(double fraction);

std::string cell(double value);
std::string cell(const std::optional<double>& value);

}  // namespace strobe
