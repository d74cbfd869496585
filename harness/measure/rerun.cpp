#include "harness/measure/rerun.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "harness/measure/rounds.hpp"
#include "harness/measure/run_request.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/python.hpp"
#include "harness/process/signals.hpp"
#include "harness/process/world.hpp"
#include "harness/request/bundled_suite.hpp"
#include "harness/request/impossible.hpp"
#include "harness/request/json_text.hpp"
#include "harness/request/suite.hpp"
#include "results/row/row.hpp"
#include "results/run/environment.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* bundled = "self-check";
constexpr const char* default_rounds = "5";

/// The plan of one side. Cases keep the plan's JSON, because another program will read them.
struct SidePlan {
  Json cases = Json::array();
  std::vector<std::string> ids;
  std::vector<Case> parsed;
};

Json cases_of_side(const std::string& run) {
  if (run.empty()) return plan_json(load_suite(bundled_suite(bundled), {}).cases);
  const std::string path = (fs::path(run) / "plan.json").string();
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    throw InvalidRequest("--rerun", fmt::format("'{}' is not a run directory: it has no plan.json", run));
  }
  Json plan = read_json_file(path);
  take_digest(plan, path);
  if (!plan.is_object() || !plan.contains("cases") || !plan["cases"].is_array() || plan["cases"].empty())
    throw InvalidInput(path, 0, 0, "the plan has no cases");
  return plan["cases"];
}

/// Ids of the skipped combinations among the run's rows. They were not measured, so there is nothing to measure again.
std::set<std::string> skipped_in(const std::string& run) {
  std::set<std::string> skipped;
  std::error_code ignored;
  const fs::path summary = fs::path(run) / "summary.json";
  if (run.empty() || !fs::is_regular_file(summary, ignored)) return skipped;
  for (const Row& row : read_summary(summary.string()).rows) {
    if (row.status == "skipped") skipped.insert(row.case_id);
  }
  return skipped;
}

SidePlan plan_of_side(const std::string& run, const std::string& filter) {
  SidePlan plan;
  const auto matches = id_filter(filter);
  const std::set<std::string> skipped = skipped_in(run);
  std::size_t number = 0;
  for (const Json& json : cases_of_side(run)) {
    const std::string pointer = fmt::format("/cases/{}", number++);
    std::optional<InvalidRequest> refusal;
    Case c = case_or_refusal(json, pointer, CaseRuns::elsewhere, refusal);
    const std::string id = case_id(c);
    if (refusal || skipped.contains(id) || !matches(id) || !c.cluster.empty()) continue;
    plan.cases.push_back(json);
    plan.ids.push_back(id);
    plan.parsed.push_back(std::move(c));
  }
  if (plan.cases.empty())
    throw InvalidRequest(
        "--rerun", "no measured case is left; simulated cases need no rerun, because their virtual time never varies");
  return plan;
}

void check_program(const std::string& flag, const std::string& program) {
  if (program.empty() || ::access(program.c_str(), X_OK) == 0) return;
  throw InvalidRequest(flag, fmt::format("'{}' is not an executable file", program));
}

/// The version that the program prints.
std::string version_of(const std::string& flag, const std::string& program) {
  if (program.empty()) return version_text();
  const ScratchFolder scratch;
  const std::string words = scratch.file("version");
  const int status = run_program({program, "--version"}, words);
  const std::string said = words_in(words);
  if (status == 0 && said.starts_with("strobe ")) return said;
  throw InvalidRequest(
      flag, fmt::format("'{}' is not strobe: --version prints '{}'", program, said.substr(0, said.find('\n'))));
}

/// Puts the shared cases first, in the order of base, so that both sides of a case run next to each other.
void put_side_by_side(const SidePlan& base, SidePlan& changed) {
  SidePlan ordered;
  std::set<std::string> taken;
  const auto take = [&](const std::string& id) {
    for (std::size_t i = 0; i < changed.ids.size(); ++i) {
      if (changed.ids[i] != id || !taken.insert(id).second) continue;
      ordered.cases.push_back(changed.cases[i]);
      ordered.ids.push_back(id);
      ordered.parsed.push_back(changed.parsed[i]);
    }
  };
  for (const std::string& id : base.ids) take(id);
  for (const std::string& id : changed.ids) take(id);
  changed = std::move(ordered);
}

/// The folder's name tells the sides apart. env.json names each side's program.
RunDirectory directory_of(const std::string& folder, const SidePlan& plan, const std::string& flag,
                          const ProcessRequest& process, const RoundPlan& rounds) {
  Json about = environment();
  about["program"] = {{"path", process.program}, {"version", version_of(flag, process.program)}};
  const Json outputs{{"rounds", std::to_string(rounds.rounds)}, {"session", rounds.session}};
  return {folder, plan.cases, about, false, data_digests(plan.parsed), false, outputs};
}

RoundSide rerun_side(const std::string& label, const SidePlan& plan, ProcessRequest process, RunDirectory& directory) {
  RoundSide side;
  side.label = label;
  side.process = std::move(process);
  side.directory = &directory;
  for (std::size_t i = 0; i < plan.ids.size(); ++i) side.cases.push_back({plan.cases[i], plan.ids[i], {}, {}, false});
  return side;
}

void check_request(const RerunRequest& request) {
  if (const World world = launched_world(); world.size > 1)
    throw InvalidRequest(
        "--rerun", fmt::format("starts its processes itself, but {} were launched (according to {}); start one process",
                               world.size, world.launcher));
  check_program("--base-program", request.base_program);
  check_program("--new-program", request.changed_program);
  if (request.launch.empty()) return;
  if (const std::string fault = fault_of_launch(request.launch); !fault.empty())
    throw InvalidRequest("--launch", fault);
}

}  // namespace

std::pair<std::string, std::string> rerun(const RerunRequest& request) {
  check_request(request);
  RoundPlan rounds{number_of_rounds(request.rounds.empty() ? default_rounds : request.rounds), ""};
  const SidePlan base = plan_of_side(request.base, request.filter);
  SidePlan changed = plan_of_side(request.changed, request.filter);
  put_side_by_side(base, changed);
  RunRequest output;
  output.out = request.out;
  Suite named;
  named.name = "compare";
  const std::string folder = output_folder(output, named);
  refuse_foreign_folder("--out", folder, {});
  make_output_folder("--out", folder);
  rounds.session = new_session(folder);
  const ProcessRequest before{request.base_program, request.launch}, after{request.changed_program, request.launch};
  install_signal_handlers();
  RunDirectory base_directory = directory_of(folder + "/base", base, "--base-program", before, rounds),
               new_directory = directory_of(folder + "/new", changed, "--new-program", after, rounds);
  narrate(fmt::format("{} and {} in {} rounds into {}", counted(base.ids.size(), "case"), changed.ids.size(),
                      rounds.rounds, folder));
  std::vector<RoundSide> sides{rerun_side("base ", base, before, base_directory),
                               rerun_side("new ", changed, after, new_directory)};
  run_rounds(sides, rounds);
  return {folder + "/base", folder + "/new"};
}

}  // namespace strobe
