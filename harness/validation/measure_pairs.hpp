// Runs the pairs of a validation.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "harness/validation/pairs.hpp"
#include "harness/validation/span_parts.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// The 90 % band of a predicted epoch.
struct PredictedBand {
  double low_seconds = 0;
  double high_seconds = 0;
};

/// The band that a row states; nothing when its cluster has none.
std::optional<PredictedBand> band_of(const Row& row);

/// Both runs of a pair. Results of failed runs carry their status and no times.
struct PairResult {
  ValidationPair pair;
  CaseResult measured;  // all rounds
  CaseResult simulated;
  SpanParts measured_parts, simulated_parts;
  std::optional<PredictedBand> band;
  double baseline_seconds = 0;      // roofline_ring_seconds of the simulated epoch; 0 when it failed
  std::optional<Row> earlier = {};  // the measured row when it is from a file; `measured` then has its samples at most
};

/// The row of the measured side.
Row measured_row(const PairResult& result);

/// Who is told what: `begin` before a run, `end` after it; `keep` after every round of a pair, with all that there is
/// of it so far. Until the last round its measured status is "interrupted", since that is what it is if nothing
/// follows.
struct PairListener {
  std::function<void(const std::string& what)> begin;
  std::function<void(const std::string& what, const CaseResult& result)> end;
  std::function<void(const PairResult& result)> keep;
};

/// Runs the pairs in rounds, as many as the largest `repeat` of the cases: each round runs every real case once from
/// fresh parameters, the first one also simulates each right behind its real run. So a drift of the machine falls on
/// all cases alike. In a world of several processes all call this; only the first one (`first`) simulates. A run that
/// fails ends as a result of that status and stops nothing. Throws Interrupted.
std::vector<PairResult> measure_pairs(const std::vector<ValidationPair>& pairs, bool first,
                                      const PairListener& listener);

/// Simulates pairs whose measured side is known already; `begin` and `end` are told of the simulations, `keep` of each
/// pair. Nothing runs for real. Throws Interrupted.
void simulate_pairs(std::vector<PairResult>& results, const PairListener& listener);

}  // namespace strobe
