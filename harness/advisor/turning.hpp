// Finds constants of the best point's cluster that, changed by a factor, make another choice better.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/advisor/front.hpp"

namespace strobe {

/// The nearest factor of a constant at which another point is better, and that point's id.
struct Turn {
  double factor = 1;
  std::string point;
};

/// A constant of the cluster, by its key in the cluster's file.
struct TurnedConstant {
  std::string key;
  double value = 0;
  std::optional<Turn> below, above;  // the turn with a smaller and with a larger value; nothing within the range
};

struct TurningStudy {
  std::vector<TurnedConstant> constants;
  std::vector<std::string> rivals;  // ids of the points that were compared with the best one
  std::size_t simulations = 0;
  std::string summary;  // one sentence
};

/// Factors from 1 / `widest_factor` to `widest_factor` are tried.
inline constexpr double widest_factor = 4;
/// A factor is found to this ratio: halving the logarithm of the range five times.
inline constexpr int factor_halvings = 5;
/// Points that are compared with the best one.
inline constexpr std::size_t most_rivals = 4;

/// The parts of a plan's request that a study needs.
struct TurningRules {
  PlanLimits limits;
  JobCosts costs;
  PlanGoal goal = PlanGoal::time;
  std::int64_t epochs = 1;
  int threads = 1;
};

/// Compares the best point, verdicts.front(), with the best points of up to `most_rivals` other choices of strategy,
/// cluster and number of GPUs. Each factor is judged by simulating both points again, so a turn that is found is exact;
/// a range at whose end the best point still wins counts as without a turn. Simulates at most
/// constants x 2 x (1 + halvings) x (rivals + 1) points, usually a fifth of that. The data may be in `cache`.
TurningStudy study_turning(const std::vector<PlanOutcome>& outcomes, const std::vector<PlanVerdict>& verdicts,
                           const TurningRules& rules, const DataCache& cache = {});

/// The numbers of a cluster that a study changes, with their values.
std::vector<TurnedConstant> constants_of(const std::string& cluster, const std::string& precision);

}  // namespace strobe
