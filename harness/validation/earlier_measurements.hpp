// Earlier measurements, of this or another machine, that a validation judges without running anything for real.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/request/suite.hpp"
#include "harness/validation/measure_pairs.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// The origin of measurements, as far as the files state it.
struct MeasurementOrigin {
  std::string path;           // as the user typed it
  std::string date;           // UTC, "2026-11-26"; "" = not known
  std::string machine;        // host classes of all machines that ran cases; "" = not known
  Json environment;           // env.json of the run; null when there is none
  std::string what() const;   // one line: path, date and machine
  std::string began() const;  // date_utc of the environment, "2026-11-26T09:01:30Z"; "" = not known
};

/// One measured case: its row, and its samples if they were kept.
struct EarlierRow {
  Row row;
  std::vector<EpochSample> samples;
};

/// The cases that a validation takes from a file of measurements.
struct EarlierCases {
  Suite suite;                             // the cases that were measured, in the order of the file or of the suite
  std::map<std::string, EarlierRow> rows;  // by case id
  std::vector<LeftOut> left_out;           // causes not_measured and not_in_suite
  MeasurementOrigin origin;
};

/// Whether `path` is a run directory or a summary.json. Their rows hold whole cases. Any other file counts as a
/// validation.csv. Throws InvalidRequest("--measured", ...) for a missing file or a folder without a run.
bool holds_whole_cases(const std::string& path);

/// The rows whose ids match `filter` (in the syntax of --filter). `path` is a run directory or its summary.json.
/// Leaves out simulated rows, rows of cases that this program does not know, and cases of plan.json without a row.
/// Throws InvalidInput for files that `strobe run` did not write, InvalidRequest when no row is left.
EarlierCases cases_of_run(const std::string& path, const std::string& filter);

/// The lines of a validation.csv whose case ids are in `suite` and match `filter`. It reads only the status and the
/// median epoch of a line; the rest concerns an earlier prediction.
/// Leaves out cases of the suite without a line, and lines without a case of the suite.
/// Throws InvalidInput for another kind of file, InvalidRequest when the file and the suite have no case in common.
EarlierCases cases_of_csv(const std::string& path, const Suite& suite, const std::string& filter);

/// The pairs with their measured side from `cases`. Their simulated side is still empty.
std::vector<PairResult> earlier_results(const std::vector<ValidationPair>& pairs, const EarlierCases& cases);

}  // namespace strobe
