// Measurements of one configuration under several seeds, and the ratio of two configurations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/row/statistics.hpp"

namespace strobe {

/// The measurements of one configuration under one seed.
struct Trial {
  std::map<int, std::vector<double>> rounds;    // seconds of the measured epochs, by round
  std::string session;                          // rounds of one session ran next to each other; "" = one process
  bool exact = false;                           // times of a simulation, which has no noise
  std::optional<ConfidenceInterval> band = {};  // the 90 % band of a prediction, in seconds
  std::vector<double> draws = {};               // [draws] seconds in drawn clusters (TimeDraws)
  std::string draws_of = {};                    // names these clusters
};

/// By seed.
using Trials = std::map<std::int64_t, Trial>;

/// Leaves only the seeds that all configurations have and, where all were measured in one session, only the rounds that
/// all have. Then the quotient of two levels is the geometric mean of their ratios. Without a seed in common, seeds
/// stay as they are.
void keep_common(std::vector<Trials*> all);

/// Geometric mean over seeds, and over their rounds, of the median epoch. NaN without a measurement.
double level_of(const Trials& trials);

/// The 90 % band of a prediction, the geometric mean over seeds. Empty when a seed has none.
std::optional<ConfidenceInterval> band_of(const Trials& trials);

/// [draws] `level_of` in each drawn cluster. Empty unless all seeds were predicted in the same ones.
std::vector<double> drawn_levels(const Trials& trials);

/// Whether all of these were predicted in the same drawn clusters, so that they compare draw by draw.
bool share_draws(const std::vector<const Trials*>& all);

/// Whether a number depends on the seed. An epoch takes about as long under every seed; the number of epochs until a
/// metric is reached does not.
enum class SeedSpread : std::uint8_t { as_found, always };

/// The ratio changed / base. Seeds are paired where both sides have the same ones; rounds of one session are paired as
/// well. The standard error is the larger of two: that of the rounds within seeds, and that of the spread over seeds.
/// With `always` it is the latter. Empty when no interval can be given: a side without measurement or measured by one
/// process, or with `always` a single seed.
std::optional<LogEstimate> ratio_of_trials(const Trials& base, const Trials& changed, int resamples,
                                           SeedSpread spread = SeedSpread::as_found);

/// "one process a side", the reason why there is no interval.
std::string why_no_interval(const Trials& base, const Trials& changed);

}  // namespace strobe
