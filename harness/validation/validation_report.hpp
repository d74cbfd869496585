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

/// The pledge that a report judges.
struct PledgeOrigin {
  std::string path;  // as the user typed it
  std::string date, program, sha256;
  std::size_t points = 0;
};

/// Everything that `strobe validate` on this machine reports.
struct ValidationReport {
  std::string suite, cluster;
  bool calibrated = false;
  std::vector<LeftOut> left_out;
  Judgement judgement;
  std::vector<MachineShare> machine = {};           // before and after the cases; empty: the cluster is another machine
  std::optional<MeasurementOrigin> elsewhere = {};  // origin of the measured rows; empty: this validation ran them
  std::optional<PledgeOrigin> pledge = {};          // origin of the predictions; empty: this validation made them
};

inline constexpr const char* validation_schema_version = "1.4.0";

/// Why there is no verdict; empty when there is. The reasons:
/// - a ceiling was more than 5 % off the cluster file's before or after the cases;
/// - the cluster is calibrated, and for half of the judged cases the 95 % interval of the epochs is wider than 20 % of
///   their median;
/// - the predictions are pledged, and the run does not say that it began after the pledge.
std::vector<std::string> void_reasons(const ValidationReport& report);

/// The exit status of `strobe validate`: 1 when a case failed, sent other bytes than predicted, or none is judged; 6
/// when there is no verdict; else 0.
int validation_status(const ValidationReport& report);

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
