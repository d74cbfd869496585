// Reads the measurements of a validation.csv, which `strobe validate` wrote.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace strobe {

/// A line of a validation.csv.
struct ValidationLine {
  std::string id;                                             // of the real case
  std::string status;                                         // of the real run
  double seconds = std::numeric_limits<double>::quiet_NaN();  // median epoch; NaN where the file leaves it empty
};

/// The lines of a validation.csv: at least one, each case once. It finds columns by name, so that it can read files of
/// other versions. Throws InvalidInput with the line number when one of the columns case_id, measured_status and
/// measured_seconds is missing or malformed.
std::vector<ValidationLine> read_validation_csv(const std::string& path);

}  // namespace strobe
