// Reads what `strobe validate` wrote as validation.csv, as far as it is about measurements.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace strobe {

/// A line of a validation.csv.
struct ValidationLine {
  std::string id;                                             // of the real case
  std::string status;                                         // of its real run
  double seconds = std::numeric_limits<double>::quiet_NaN();  // median epoch; NaN where the file leaves it empty
};

/// The lines of a validation.csv, at least one, each case once. Columns are found by name, so files of other versions
/// are read, too. Throws InvalidInput, with the line, for a file that has no columns case_id, measured_status and
/// measured_seconds, or holds something else in them.
std::vector<ValidationLine> read_validation_csv(const std::string& path);

}  // namespace strobe
