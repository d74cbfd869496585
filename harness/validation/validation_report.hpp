// Writes a validation as JSON (for programs and the figure), as CSV and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/validation/earlier_measurements.hpp"
#include "harness/validation/judgement.hpp"

namespace strobe {

/// The machine's two ceilings as shares of those in the cluster file: 1 = as in the calibration.
struct MachineShare {
  double flops = 0, memory = 0;  // fp32 products; bytes that a copy reads and writes
};

/// Everything that `strobe validate` on this machine reports.
struct ValidationReport {
  std::string suite, cluster;
  bool calibrated = false;
  std::vector<LeftOut> left_out;
  Judgement judgement;
  std::vector<MachineShare> machine = {};           // before and after the cases; empty: the cluster is another machine
  std::optional<MeasurementOrigin> elsewhere = {};  // origin of the measured rows; empty: this validation ran them
};

inline constexpr const char* validation_schema_version = "1.3.0";

/// Why the machine allows no verdict; empty when it does. There are two reasons:
/// - a ceiling was more than 5 % off the cluster file's before or after the cases;
/// - the cluster is calibrated, and for half of the judged cases the 95 % interval of the epochs is wider than 20 % of
///   their median.
std::vector<std::string> void_reasons(const ValidationReport& report);

/// The report; docs/reference/validation_files.md describes the keys. Absent values are null.
Json validation_to_json(const ValidationReport& report);

/// One line per case, RFC 4180.
std::string validation_csv(const Judgement& judgement);

/// The report for people. It explains the `explained` cases with the largest errors by operation.
std::string validation_text(const ValidationReport& report, std::size_t explained);

/// The `most` judged cases with the largest epoch errors, largest first.
std::vector<const CaseJudgement*> largest_errors(const Judgement& judgement, std::size_t most);

/// Writes a share as "+12.3 %", and NaN as "-".
std::string signed_percent(double fraction);

}  // namespace strobe
