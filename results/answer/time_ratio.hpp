// The ratio of two times with its interval and verdict.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "results/answer/trial.hpp"
#include "results/run/loaded_run.hpp"

namespace strobe {

/// A verdict is wrong in one comparison of a hundred at most.
inline constexpr double verdict_confidence = 0.99;

struct AnswerOptions {
  double threshold = 0.05;            // smallest relative difference that counts
  bool allow_different_host = false;  // compare wall times of different machines all the same
  int resamples = 1000;               // of the bootstrap
};

enum class Verdict : std::uint8_t { faster, slower, same, unsure, none };

/// "faster", "slower", "same", "unsure"; "" for none.
std::string verdict_name(Verdict verdict);

/// By the ratio and its interval: `faster` or `slower` when the interval excludes 1 and the ratio is further from it
/// than `threshold`, `same` when the interval lies within 1 +- threshold.
Verdict verdict_of(double ratio, ConfidenceInterval interval, double threshold);

/// A time as a multiple of another one. NaN where there is none.
struct TimeRatio {
  double ratio = std::numeric_limits<double>::quiet_NaN();  // the quotient of the two levels
  ConfidenceInterval interval{ratio, ratio};                // 99 %; NaN without one
  ConfidenceInterval interval95{ratio, ratio};              // the same at 95 %
  std::optional<ConfidenceInterval> band;                   // of two predictions, what their 90 % bands allow, or what
                                                            // 90 % of their common draws give
  std::size_t draws = 0;                                    // common draws; 0: the band is not of draws
  Verdict verdict = Verdict::none;
  std::string note;  // why there is no verdict
};

/// The measurements of a row: its rounds, or one round where one process measured it. A simulated row is exact.
Trial trial_of(const LoadedRun& run, const Row& row);

/// A predicted time with its 90 % band, if it has one.
Trials predicted(double seconds, std::optional<ConfidenceInterval> band);

/// The time of `changed` as a multiple of that of `base`. Both have the rounds that `keep_common` leaves. Two
/// predictions with bands have the verdict that holds for all times in their bands; those in common draws have the one
/// that holds in 90 % of these, from the 5th to the 95th percentile of the ratio.
TimeRatio compare_trials(const Trials& base, const Trials& changed, const AnswerOptions& options,
                         SeedSpread spread = SeedSpread::as_found);

}  // namespace strobe
