// A validation as JSON, which programs and the figure read, as CSV and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/validation/earlier_measurements.hpp"
#include "harness/validation/judgement.hpp"

namespace strobe {

/// What the machine's two ceilings are, as a share of what the cluster file says: 1 = as in the calibration.
struct MachineShare {
  double flops = 0, memory = 0;  // fp32 products; bytes that a copy reads and writes
};

/// Everything that `strobe validate` on this machine reports.
struct ValidationReport {
  std::string suite, cluster;
  bool calibrated = false;
  std::vector<LeftOut> left_out;
  Judgement judgement;
  std::vector<MachineShare> machine = {};  // before and after the cases; empty: the cluster is not of this machine
  std::optional<MeasurementOrigin> elsewhere = {};  // where the measured rows are from; nothing: they were made now
};

inline constexpr const char* validation_schema_version = "1.3.0";

/// Why the machine allows no verdict: a ceiling more than 5 % off the cluster file's before or after the cases, or,
/// with a calibrated cluster, 95 % intervals of half of the judged cases' epochs that are wider than 20 % of their
/// median. Empty: it allows them.
std::vector<std::string> void_reasons(const ValidationReport& report);

/// The report; docs/validation.md describes the keys. Absent values are null.
Json validation_to_json(const ValidationReport& report);

/// One line per case, RFC 4180.
std::string validation_csv(const Judgement& judgement);

/// The report for reading; the `explained` cases with the largest errors are explained by operation.
std::string validation_text(const ValidationReport& report, std::size_t explained);

/// Judged cases by size of their epoch error, largest first, at most `most`.
std::vector<const CaseJudgement*> largest_errors(const Judgement& judgement, std::size_t most);

/// "12.3 %" with its sign, "-" for what is not a number.
std::string signed_percent(double fraction);

}  // namespace strobe
