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

/// The band that a row states; empty when its cluster has none.
std::optional<PredictedBand> band_of(const Row& row);

/// Both runs of a pair. The result of a failed run has a status and no times.
struct PairResult {
  ValidationPair pair;
  CaseResult measured;  // all rounds
  CaseResult simulated;
  SpanParts measured_parts, simulated_parts;
  std::optional<PredictedBand> band;
  double baseline_seconds = 0;      // roofline_ring_seconds of the simulated epoch; 0 when it failed, NaN if not known
  std::optional<Row> earlier = {};  // the measured row if it is from a file; `measured` then has at most its samples
  std::optional<Row> pledged = {};  // the predicted row if it is from a pledge; `simulated` is then empty
};

/// The row of the measured side.
Row measured_row(const PairResult& result);

/// Callbacks: `begin` before a run, `end` after it, and `keep` after every round of a pair with its result so far.
/// Before the last round, the measured status is "interrupted", which is true if no further round follows.
struct PairListener {
  std::function<void(const std::string& what)> begin;
  std::function<void(const std::string& what, const CaseResult& result)> end;
  std::function<void(const PairResult& result)> keep;
};

/// Runs the pairs in rounds; their number is the largest `repeat` of the cases. Each round runs every real case once,
/// from fresh parameters, so that a drift of the machine affects all cases alike. The first round also simulates each
/// case right after its real run.
/// All processes call this; only the first one (`first`) simulates. A run that fails has its status in the result, and
/// the other runs go on. Throws Interrupted.
std::vector<PairResult> measure_pairs(const std::vector<ValidationPair>& pairs, bool first,
                                      const PairListener& listener);

/// Simulates pairs whose measured side is known already. Nothing runs for real. `begin` and `end` are called around
/// each simulation, `keep` after each pair. Throws Interrupted.
void simulate_pairs(std::vector<PairResult>& results, const PairListener& listener);

}  // namespace strobe
