// The errors of predictions against measurements: per case, per group of strategies, and over all cases.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/validation/agreement_statistics.hpp"
#include "harness/validation/measure_pairs.hpp"

namespace strobe {

struct CaseJudgement {
  std::string id;
  std::string group;     // cases that differ in strategy and ranks only
  std::string strategy;  // with its parameters and ranks: "vertex partitioner=hash r2"
  Row measured, predicted;
  bool judged = false;                                                       // both runs ended ok
  double predicted_seconds = 0, measured_seconds = 0, baseline_seconds = 0;  // median epochs
  double error = 0, baseline_error = 0;                                      // relative to the measured epoch
  PerPhase<double> phase_error{};   // predicted minus measured, as a share of the measured epoch; or NaN
  std::optional<bool> bytes_equal;  // empty when no bytes were measured
  std::string bytes_differ;         // which traffic differs and by how much; "" when none does
  double memory_error = 0;          // of the largest rank's peak; NaN when none was measured
  bool false_fit = false;           // predicted to fit, but the real run went out of memory
  bool below_peak = false;          // predicted peak below the measured one: a limit between them would be a false fit
  std::optional<PredictedBand> band;
  std::optional<bool> within_band;
  std::vector<PartDifference> parts;  // the parts with most of the difference
};

/// The strategies of one workload and model.
struct GroupJudgement {
  std::string group;
  std::size_t strategies = 0;
  std::optional<double> tau, baseline_tau;
  std::string best, picked, baseline_picked;  // strategies: measured fastest, predicted fastest
  double loss = 0;                            // how much slower than the best the pick measured: 0.1 = 10 %
  double baseline_loss = std::numeric_limits<double>::quiet_NaN();  // NaN and no pick: the baseline is not known
  bool right = false, baseline_right = false;  // the pick is the best, or in its 95 % interval and at most 5 % slower
  bool by_interval = false;                    // right only because of the interval
};

/// A goal and whether the predictions reached it.
struct Goal {
  std::string what;
  std::string found;
  bool reached = false;
};

struct Judgement {
  std::vector<CaseJudgement> cases;
  std::vector<GroupJudgement> groups;  // with two strategies or more
  ErrorSummary epoch, baseline, memory;
  PerPhase<ErrorSummary> phases;
  std::optional<double> tau, baseline_tau;  // over all cases
  Share picks, baseline_picks;              // groups
  Share covered;                            // cases with a band
  std::size_t judged = 0, failed = 0, bytes_compared = 0, bytes_wrong = 0, false_fits = 0, below_peak = 0;
  std::vector<Goal> goals;
};

/// Judges results. A case enters the means only when both of its runs ended ok; other cases are listed.
/// A case is no failure when both runs went out of memory, or when it cannot run with this number of processes
/// (skipped).
Judgement judge_pairs(const std::vector<PairResult>& results);

}  // namespace strobe
