// `--tune N`: random search on a validation metric, with as many trials of as many epochs for every family of cases. A
// trial is an ordinary case, and the trials are an ordinary run in the folder trials/ of the run directory. So trials
// are resumed, ranked and kept like all cases. The best settings of a family are then run under each of its seeds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/run_request.hpp"
#include "harness/measure/tuning/trial_draws.hpp"
#include "harness/run/kept_plans.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// The folder of the trials in a run directory.
inline constexpr const char* trials_folder = "trials";

/// The value of --tune: "20", or "20:metric=auc".
struct TuneRequest {
  std::int64_t trials = 0;
  std::string metric;  // "" = that of `until`, or the task's usual one (usual_metric)
};

/// Throws InvalidRequest("--tune", ...).
TuneRequest parse_tune(const std::string& text);

/// Cases that differ in nothing but their seed. They share their trials, which are drawn and trained under the least
/// seed, for as many epochs as the cases and without their `until`.
struct TunedFamily {
  std::vector<std::size_t> cases;  // numbers in the suite
  std::string metric;              // the series of the choice, such as validation_mrr
  std::vector<OpenSettingOfTrial> open;
  std::vector<Json> settings;  // by trial, from the case's own on
  std::vector<Case> trials;
  std::vector<std::string> ids;  // of the trials' cases
};

struct Tuning {
  std::vector<TunedFamily> families;
};

/// The best trial of a family.
struct ChosenTrial {
  std::size_t trial = 0;  // counts from 0
  double value = 0;       // of the metric, after the last epoch
};

/// The tuning of a suite. Plans each family's first case, to know its metrics. `open` names the open settings by case
/// id, as a resumed run keeps them; without an entry, settings that the user gave are not open. Throws InvalidRequest
/// when a family has no open setting, no validation samples, or no values.
Tuning plan_tuning(const Suite& suite, const TuneRequest& request, KeptPlans& plans, const Json& open);

/// The open settings by case id, for plan_tuning of a resumed run.
Json open_by_case(const Suite& suite, const Tuning& tuning);

/// The trials of all families, each once. Those that cannot be planned are impossible: they count as trials.
Suite trials_of(const Suite& suite, const Tuning& tuning, KeptPlans& plans);

/// The trial with the best last value of the family's metric among `rows` (the trials' rows). The first of several.
/// Only rows that ended well count, and nothing is read of them but this validation metric. Nothing when none counts.
std::optional<ChosenTrial> best_trial(const TunedFamily& family, const std::vector<Row>& rows);

/// The suite with the chosen settings in place of the open ones. Cases that become equal are kept once. Cases of
/// families without a choice are left out. `tuned` gets the value of the row key `tuning` by case id.
Suite tuned_suite(const Suite& suite, const Tuning& tuning, const std::vector<std::optional<ChosenTrial>>& chosen,
                  Json& tuned);

/// The values of the row key `tuning` of the trials, by case id.
Json tuning_of_trials(const Tuning& tuning);

}  // namespace strobe
