// Invariant: the choice is a function of the trials' rows alone, and the plan of the suite is written when all of them
// are there. So a run that ends at any moment is continued with the same trials and the same choice.
#include "harness/measure/tuning/tuned_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/units.hpp"
#include "harness/measure/kept_request.hpp"
#include "harness/measure/run_checks.hpp"
#include "harness/measure/run_ranks.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/node_data.hpp"
#include "harness/request/json_text.hpp"
#include "harness/training/host_memory.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* tune_flag = "--tune";

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// A folder with a run in it is refused before the first trial, not after the last one.
void check_folder(const RunRequest& request) {
  const bool holds_run = is_file(request.out + "/plan.json");
  const bool holds_trials = is_file(fmt::format("{}/{}/plan.json", request.out, trials_folder));
  if (!request.resume && (holds_run || holds_trials))
    throw InvalidRequest("--out", fmt::format("{} already holds a run; add --resume to continue it, or name another "
                                              "folder",
                                              request.out));
  if (request.resume && holds_run && !holds_trials)
    throw InvalidRequest(tune_flag,
                         fmt::format("{} was begun without --tune; leave it out, or name another folder", request.out));
}

Tuning tuning_for(const RunRequest& request, const Suite& suite, KeptPlans& plans) {
  const Json open = request.tuning.is_null() ? Json::object() : request.tuning.at("open");
  return plan_tuning(suite, parse_tune(request.tune), plans, open);
}

/// Which settings are tried, one line for each family.
void tell(const Suite& suite, const Tuning& tuning) {
  for (const TunedFamily& family : tuning.families) {
    std::vector<std::string> open;
    for (const OpenSettingOfTrial& setting : family.open)
      open.push_back(fmt::format("{} ({})", setting.path(), fmt::join(setting.values, ", ")));
    narrate(fmt::format("tuning {} by {}: {} of {} epochs; {}", case_id(suite.cases[family.cases.front()]),
                        family.metric, counted(family.trials.size(), "trial"),
                        family.trials.front().warmup + family.trials.front().epochs, fmt::join(open, "; ")));
  }
}

RunRequest request_of_trials(const RunRequest& request, const Suite& suite, const Tuning& tuning) {
  RunRequest trials = request;
  trials.out = fmt::format("{}/{}", request.out, trials_folder);
  trials.outputs = {};
  trials.rounds = trials.until_interval = "";
  trials.trace = false;
  trials.tuned = tuning_of_trials(tuning);
  trials.tuning = {{"tune", request.tune},
                   {"cases", plan_json(suite.cases)},
                   {"open", open_by_case(suite, tuning)},
                   {"outputs", kept_outputs(request)}};
  return trials;
}

/// [trial, value] of each family, or null, as the first process reads them.
Json choices_in(const std::string& folder, const Tuning& tuning) {
  const std::vector<Row> rows = read_summary(folder + "/summary.json").rows;
  Json choices = Json::array();
  for (const TunedFamily& family : tuning.families) {
    const std::optional<ChosenTrial> best = best_trial(family, rows);
    choices.push_back(best ? Json{best->trial, best->value} : Json());
  }
  return choices;
}

std::vector<std::optional<ChosenTrial>> choices_of(const Json& choices) {
  std::vector<std::optional<ChosenTrial>> chosen;
  for (const Json& one : choices)
    chosen.push_back(one.is_null() ? std::nullopt
                                   : std::optional(ChosenTrial{one[0].get<std::size_t>(), one[1].get<double>()}));
  return chosen;
}

/// "model.hidden=64, optimizer.rate=0.01"
std::string settings_text(const Json& settings) {
  std::vector<std::string> parts;
  for (const auto& [path, value] : settings.items())
    parts.push_back(path + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void tell_choices(const Suite& suite, const Tuning& tuning, const std::vector<std::optional<ChosenTrial>>& chosen,
                  const std::string& folder) {
  for (std::size_t f = 0; f < chosen.size(); ++f) {
    const TunedFamily& family = tuning.families[f];
    const std::string id = case_id(suite.cases[family.cases.front()]);
    if (!chosen[f])
      narrate(fmt::format("warning: {} is left out: none of its {} ended with a {}; see {}", id,
                          counted(family.trials.size(), "trial"), family.metric, folder));
    else
      narrate(fmt::format("{}: trial {} of {} is the best, {} {:.4g}: {}", id, chosen[f]->trial + 1,
                          family.trials.size(), family.metric, chosen[f]->value,
                          settings_text(family.settings[chosen[f]->trial])));
  }
}

}  // namespace

bool asks_for_tuning(const RunRequest& request) { return !request.tune.empty(); }

int run_tuned(RunRequest& request, Suite& suite, const World& world, const RunSuite& run_suite) {
  if (!request.launch.empty())
    throw InvalidRequest("--launch",
                         "does not start the trials of --tune; tune without it, and give the chosen "
                         "settings to a run with --rounds");
  const Ranks ranks = ranks_of(suite, world);
  Tuning tuning;
  Suite trials;
  {
    KeptPlans plans(node_store_of(ranks, least_host_limit(suite.cases), any_lies_by_node(suite.cases)),
                    ranks_of_node(ranks));
    RunRequest base = request;
    base.outputs.resume_training = false;
    base.outputs.checkpoint.clear(), base.outputs.checkpoint_every = 0;
    check_all(base, suite, ranks, plans, true);
    tuning = tuning_for(request, suite, plans);
    trials = trials_of(suite, tuning, plans);
  }
  request.out = ranks.first_does([&] {
    const std::string folder = output_folder(request, suite);
    RunRequest there = request;
    there.out = folder;
    check_folder(there);
    tell(suite, tuning);
    return folder;
  });
  RunRequest of_trials = request_of_trials(request, suite, tuning);
  run_suite(of_trials, trials, false);  // a trial that failed is a trial
  const std::vector<std::optional<ChosenTrial>> chosen =
      choices_of(Json::parse(ranks.first_does([&] { return choices_in(of_trials.out, tuning).dump(); })));
  if (ranks.first()) tell_choices(suite, tuning, chosen, of_trials.out);
  Suite best = tuned_suite(suite, tuning, chosen, request.tuned);
  if (best.cases.empty())
    throw InvalidRequest(tune_flag,
                         fmt::format("no trial ended with a value of the metric; see the rows in {}", of_trials.out));
  request.tuning = nullptr;
  return run_suite(request, best, true);
}

Suite trials_to_show(const RunRequest& request, Suite& suite) {
  KeptPlans plans;
  return trials_of(suite, tuning_for(request, suite, plans), plans);
}

Json kept_tuning(const std::string& folder) {
  const std::string path = fmt::format("{}/{}/plan.json", folder, trials_folder);
  if (is_file(folder + "/plan.json") || !is_file(path)) return nullptr;
  Json plan = read_json_file(path);
  take_digest(plan, path);
  if (!plan.is_object() || !plan.value("outputs", Json::object()).contains("tuning"))
    throw InvalidInput(path, 0, 0, "the file is not a plan of trials that Strobe wrote");
  return plan.at("outputs").at("tuning");
}

}  // namespace strobe
