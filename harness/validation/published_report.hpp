// Writes predictions of published values as JSON, CSV and text.
#pragma once

#include <string>
#include <vector>

#include "harness/validation/published.hpp"

namespace strobe {

inline constexpr const char* published_schema_version = "1.3.0";

/// Every value of every paper; docs/reference/validation_files.md describes the keys. Absent values are null.
Json published_to_json(const std::vector<PublishedPaper>& papers);

/// One line per value with a case (CSV, RFC 4180).
std::string published_csv(const std::vector<PublishedPaper>& papers);

/// The report for people: predicted values next to printed ones and the baseline's, reasons for values without a case,
/// means, and goals.
std::string published_text(const std::vector<PublishedPaper>& papers);

}  // namespace strobe
