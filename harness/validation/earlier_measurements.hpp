// Measurements that a validation judges without running anything: made earlier, on this machine or on one that is gone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/request/suite.hpp"
#include "harness/validation/measure_pairs.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// Where measurements are from, as far as the files say.
struct MeasurementOrigin {
  std::string path;          // as it was given
  std::string date;          // UTC, "2026-11-26"; "" = not known
  std::string machine;       // host class of every machine that ran cases; "" = not known
  Json environment;          // env.json of the run; null when there is none
  std::string what() const;  // one line: path, date and machine
};

/// One measured case: its row, and the samples that it was made of where they were kept.
struct EarlierRow {
  Row row;
  std::vector<EpochSample> samples;
};

/// What a file of measurements has for a validation.
struct EarlierCases {
  Suite suite;                             // the cases that were measured, in the order of the file or of the suite
  std::map<std::string, EarlierRow> rows;  // by case id
  std::vector<LeftOut> left_out;           // causes not_measured and not_in_suite
  MeasurementOrigin origin;
};

/// Whether `path` is a run directory or a summary.json, whose rows name their cases in full; anything else is taken for
/// a validation.csv. Throws InvalidRequest("--measured", ...) when there is no such file, or a folder without a run.
bool holds_whole_cases(const std::string& path);

/// The rows of a run directory, given as its folder or its summary.json, whose ids match `filter` (as --filter reads
/// it). Left out are simulated rows, rows of cases that this program does not know, and cases of plan.json without a
/// row. Throws InvalidInput for files that are not what `strobe run` writes, InvalidRequest when no row is left.
EarlierCases cases_of_run(const std::string& path, const std::string& filter);

/// The lines of a validation.csv that are of cases of `suite`, by case id, and match `filter`. Of a line only the
/// status and the median epoch count, since the rest of it is about its own prediction. Left out are cases of the suite
/// that the file lacks and lines that no case of the suite has. Throws InvalidInput for another file, InvalidRequest
/// when they have no case in common.
EarlierCases cases_of_csv(const std::string& path, const Suite& suite, const std::string& filter);

/// Pairs with their measured side from `cases`, to be simulated.
std::vector<PairResult> earlier_results(const std::vector<ValidationPair>& pairs, const EarlierCases& cases);

}  // namespace strobe
