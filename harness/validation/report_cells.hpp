// Writes figures that may not exist into the reports of `strobe validate`: null in JSON, "-" in text, nothing in CSV.
#pragma once

#include <optional>
#include <string>

#include "core/fields.hpp"
#include "harness/validation/agreement_statistics.hpp"

namespace strobe {

Json errors_json(const ErrorSummary& errors);
Json share_json(const Share& share);

/// "7 of 9".
std::string share_text(const Share& share);

/// Writes 0.207 as "20.7 %".
std::string percent(double fraction);

std::string cell(double value);
std::string cell(const std::optional<double>& value);

}  // namespace strobe
