#include "harness/measure/kept_request.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "harness/measure/tuning/tuned_run.hpp"
#include "harness/request/impossible.hpp"
#include "harness/request/json_text.hpp"
#include "harness/request/output_files.hpp"
#include "results/row/row.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

/// The keys of paths in plan.json, with the fields of `outputs` that they fill.
std::vector<std::pair<std::string, std::string*>> kept_paths(ModelOutputs& outputs) {
  std::vector<std::pair<std::string, std::string*>> paths{{"save_model", &outputs.weights},
                                                          {"checkpoint", &outputs.checkpoint}};
  for (const std::string& name : OutputFileRegistry::instance().names())
    paths.emplace_back("dump_" + name, &outputs.files[name]);
  return paths;
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && fs::is_directory(path, ignored);
}

Json read_plan(const std::string& path) {
  Json plan = read_json_file(path);
  take_digest(plan, path);
  return plan;
}

/// The first flag that would change the plan's cases; "" when there is none.
std::string flag_about_cases(const RunRequest& request) {
  if (!request.plugins.empty()) return "--" + request.plugins.begin()->first;
  if (!request.scalars.empty()) return "--" + request.scalars.begin()->first;
  if (!request.sets.empty()) return "--set";
  if (!request.varied.empty()) return "--vary";
  if (!request.tune.empty()) return "--tune";
  return request.filter.empty() ? "" : "--filter";
}

/// Fills in the plan's outputs where the user gives none now. Throws Json::exception.
void take_outputs(const Json& outputs, RunRequest& request) {
  for (const auto& [key, path] : kept_paths(request.outputs))
    if (path->empty()) *path = outputs.value(key, "");
  if (request.checkpoint_every.empty() && outputs.contains("checkpoint_every"))
    request.outputs.checkpoint_every = outputs.at("checkpoint_every").get<std::int64_t>();
  request.outputs.checkpoint_on_signal =
      request.outputs.checkpoint_on_signal && outputs.value("checkpoint_on_signal", true);
  if (request.time_limit.empty()) request.limit_seconds = outputs.value("time_limit_seconds", 0.0);
  request.outputs.planned_memory = request.outputs.planned_memory || outputs.value("planned_memory", false);
  request.trace = request.trace || outputs.value("trace", false);
  request.tuned = outputs.value("tuned", Json::object());
  if (!request.outputs.checkpoint.empty()) request.outputs.resume_training = true;
}

Suite cases_in(const Json& plan, const std::string& path) {
  Suite suite;
  suite.name = fs::path(path).parent_path().filename().string();
  std::size_t number = 0;
  for (const Json& json : plan.at("cases")) {
    const std::string pointer = fmt::format("/cases/{}", number++);
    std::optional<InvalidRequest> refusal;
    try {
      suite.cases.push_back(case_or_refusal(json, pointer, CaseRuns::here, refusal));
    } catch (const InvalidRequest& error) {
      throw InvalidInput(path, 0, 0, error.where() + ": " + error.message());
    }
    if (refusal) suite.impossible.emplace(case_id(suite.cases.back()), *refusal);
    suite.origins[case_id(suite.cases.back())]["/comm"] = path;
  }
  if (suite.cases.empty()) throw InvalidInput(path, 0, 0, "the plan has no cases");
  return suite;
}

/// The cases of a run whose trials are not over.
Suite cases_to_tune(Json tuning, const std::string& path, RunRequest& request) {
  try {
    Suite suite = cases_in(tuning, path);
    take_outputs(tuning.at("outputs"), request);
    request.rounds = tuning.at("outputs").value("rounds", request.rounds);
    request.tune = tuning.at("tune").get<std::string>();
    request.tuning = std::move(tuning);
    request.out = fs::path(path).parent_path().string();
    request.suite.clear();
    return suite;
  } catch (const Json::exception&) {
    throw InvalidInput(path, 0, 0, "the plan of its trials is not one that Strobe wrote");
  }
}

}  // namespace

Json kept_outputs(const RunRequest& request) {
  Json outputs = Json::object();
  ModelOutputs files = request.outputs;
  for (const auto& [key, path] : kept_paths(files))
    if (!path->empty()) outputs[key] = fs::absolute(*path).lexically_normal().string();
  if (request.outputs.checkpoint_every > 0) outputs["checkpoint_every"] = request.outputs.checkpoint_every;
  if (!request.outputs.checkpoint_on_signal) outputs["checkpoint_on_signal"] = false;
  if (request.limit_seconds > 0) outputs["time_limit_seconds"] = request.limit_seconds;
  if (request.outputs.planned_memory) outputs["planned_memory"] = true;
  if (request.trace) outputs["trace"] = true;
  if (!request.rounds.empty()) outputs["rounds"] = request.rounds;
  if (!request.launch.empty()) outputs["launch"] = request.launch;
  if (!request.session.empty()) outputs["session"] = request.session;
  if (!request.tuned.empty()) outputs["tuned"] = request.tuned;
  if (!request.tuning.is_null()) outputs["tuning"] = request.tuning;
  return outputs;
}

bool asks_for_kept_cases(const RunRequest& request) {
  if (is_folder(request.suite)) return true;
  return request.resume && request.suite.empty() && !request.out.empty() && flag_about_cases(request).empty();
}

Suite kept_cases(RunRequest& request) {
  if (!request.resume) {
    throw InvalidRequest("suite", fmt::format("'{}' is a folder; to continue the run in it, type --resume {}",
                                              request.suite, request.suite));
  }
  const std::string folder = request.suite.empty() ? request.out : request.suite;
  const std::string flag = flag_about_cases(request);
  if (!flag.empty())
    throw InvalidRequest(flag, fmt::format("--resume cannot change the plan of {}; leave this option out", folder));
  if (!request.out.empty() && request.out != folder)
    throw InvalidRequest("--out", fmt::format("--resume continues the run in {}; omit --out", folder));
  const std::string path = folder + "/plan.json";
  if (Json tuning = kept_tuning(folder); !tuning.is_null()) return cases_to_tune(std::move(tuning), path, request);
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    throw InvalidRequest("--resume", fmt::format("'{}' has no plan.json to continue; name its run directory, or say "
                                                 "what to run: a suite file or --workload NAME",
                                                 folder));
  }
  const Json plan = read_plan(path);
  try {
    Suite suite = cases_in(plan, path);
    take_outputs(plan.value("outputs", Json::object()), request);
    request.out = folder;
    request.suite.clear();
    return suite;
  } catch (const Json::exception&) {
    throw InvalidInput(path, 0, 0, "the file is not a plan that Strobe wrote");
  }
}

void settle_rounds(RunRequest& request) {
  const std::string path = request.out + "/plan.json";
  std::error_code ignored;
  if (!request.resume || !fs::is_regular_file(path, ignored)) return;
  const Json plan = read_plan(path);
  const Json outputs = plan.value("outputs", Json::object());
  try {
    const std::string rounds = outputs.value("rounds", ""), launch = outputs.value("launch", "");
    if (!request.rounds.empty() && request.rounds != rounds) {
      throw InvalidRequest("--rounds",
                           fmt::format("{} was begun with {}, and --resume cannot change that; leave --rounds out",
                                       request.out, rounds.empty() ? "none" : rounds + " rounds"));
    }
    request.rounds = rounds;
    request.session = outputs.value("session", "");
    if (request.launch.empty()) request.launch = launch;
  } catch (const Json::exception&) {
    throw InvalidInput(path, 0, 0, "the file is not a plan that Strobe wrote");
  }
}

void settle_resumption(RunRequest& request) {
  if (!request.resume) return;
  request.outputs.resume_over = true;
  std::error_code ignored;
  const std::string& checkpoint = request.outputs.checkpoint;
  if (!checkpoint.empty() && !fs::exists(checkpoint, ignored)) request.outputs.resume_training = false;
}

Json finished_in(const RunRequest& request, const std::string& folder) {
  Json finished = Json::object();
  std::error_code ignored;
  if (!request.resume || !fs::exists(folder + "/summary.json", ignored)) return finished;
  for (const Row& row : read_summary(folder + "/summary.json").rows) {
    if (row.status == "interrupted" || (row.status != "ok" && request.retry_failed)) continue;
    finished[row.case_id] = row.status;
  }
  return finished;
}

}  // namespace strobe
