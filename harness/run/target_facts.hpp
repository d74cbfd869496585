// Row keys about the target of `until`, and about how the settings of a case were tuned.
#pragma once

#include "harness/schedule/planned_case.hpp"
#include "harness/training/training.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// Adds the resolved target of `until` and the levels that it lies between.
void add_target_facts(const PlannedCase& plan, Facts& facts);

/// Reports when the first repetition reached the goal `until`; there is one loss per epoch. Epochs before a resumed
/// checkpoint were measured by another run, so the total of seconds is unknown then.
void fill_until(const PlannedCase& plan, const RankOutcome& rank, std::int64_t epochs_before, CaseResult& result);

/// The best rule of each metric: of those known before training, and of those that metrics state as well.
std::map<std::string, double> best_rules(const MetricNames& metrics,
                                         const std::map<std::string, std::vector<double>>& curves);

/// States in `row` how its settings were chosen: `tuning` is the value of the key, null for a case that was not tuned.
void state_tuning(const Json& tuning, Row& row);

}  // namespace strobe
