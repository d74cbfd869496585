#include "harness/measure/run_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/device.hpp"
#include "core/system/machine_limits.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/request/impossible.hpp"
#include "harness/request/output_files.hpp"
#include "harness/run/plan_digest.hpp"
#include "harness/run/run_outputs.hpp"

namespace strobe {
namespace {

/// Plans every case before the first is measured, so that impossible cases are found now and not after hours. Returns
/// the digest of each plan if several ranks compare them.
std::vector<std::string> check_plans(const RunRequest& request, Suite& suite, bool several, KeptPlans& plans) {
  std::vector<std::string> digests;
  for (const Case& c : suite.cases) {
    const auto plan = plan_or_note(request, suite, c, [&] { return plans.get(c); });
    if (plan != nullptr) check_offered(*plan, request.outputs);
    if (several) digests.push_back(plan ? plan_digest(*plan) : suite.impossible.at(case_id(c)).message());
  }
  refuse_if_all_impossible(suite);
  return digests;
}

void check_checkpoint_request(const ModelOutputs& outputs, const Suite& suite, bool kept) {
  if (outputs.checkpoint.empty()) {
    if (!outputs.resume_training && outputs.checkpoint_every == 0) return;
    throw InvalidRequest(outputs.resume_training ? "--resume-training" : "--checkpoint-every",
                         "name the file with --checkpoint");
  }
  if (const Case& c = suite.cases.front(); c.repeat > 1) {
    throw InvalidRequest(suite.place_of(case_id(c), "/repeat"),
                         fmt::format("a checkpoint holds one training run, not {}; set repeat=1", c.repeat));
  }
  std::error_code ignored;
  if (kept || outputs.resume_training || !std::filesystem::exists(outputs.checkpoint, ignored)) return;
  throw InvalidRequest(
      "--checkpoint",
      fmt::format(
          "{} already exists and would be overwritten; continue from it with --resume-training, or name another file",
          outputs.checkpoint));
}

/// Finds a checkpoint that cannot be continued before a run directory is made.
void check_checkpoint(const ModelOutputs& outputs, const Suite& suite, bool first_process, KeptPlans& plans) {
  if (!outputs.resume_training) return;
  const Case& c = suite.cases.front();
  const std::shared_ptr<const PlannedCase> plan = plans.get(c);
  const TrainingState state = load_checkpoint(outputs.checkpoint, c, plan->schedule->summary().parameters);
  if (!outputs.resume_over) refuse_over(c, plan->until, state, outputs.checkpoint);
  if (first_process && is_over(c, plan->until, state))
    narrate(fmt::format("{} is at the last epoch of its training, {}; only the row is still to be written",
                        outputs.checkpoint, state.epoch));
  else if (first_process)
    narrate(fmt::format("continuing after epoch {} of {}", state.epoch, c.warmup + c.epochs));
}

/// If the first case's device is missing on this machine, the run ends before a directory is made. For later cases, a
/// missing device becomes a row.
void check_first_device(const Suite& suite, const World& world) {
  const Case& c = suite.cases.front();
  if (!c.cluster.empty()) return;
  DeviceRequest request;
  request.rank = world.rank;
  DeviceRegistry::instance().find(c.device, "--device").value(request);
}

/// Warns when ranks are threads and far outnumber the cores. They then take turns, so the times are no measurement. A
/// test of many ranks may want this.
void warn_of_crowded_ranks(const Suite& suite) {
  constexpr std::int64_t far_beyond = 4;
  std::int64_t most = 0;
  for (const Case& c : suite.cases)
    if (c.cluster.empty() && in_one_process(c) && suite.impossible.count(case_id(c)) == 0)
      most = std::max(most, c.ranks);
  const int cores = usable_cores();
  if (most <= far_beyond * cores) return;
  narrate(
      fmt::format("warning: {} ranks are threads that take turns on {}; their times are not those of {} devices, which "
                  "--device sim --cluster NAME predicts",
                  most, counted(static_cast<std::size_t>(cores), "core"), most));
}

}  // namespace

void check_outputs(const ModelOutputs& outputs, const Suite& suite, bool kept) {
  for (const auto& [flag, path, of_plan] : asked_files(outputs)) {
    if (suite.cases.size() != 1)
      throw InvalidRequest(flag, fmt::format("is for one case, but the run has {}", suite.cases.size()));
    if (suite.cases.front().numerics == "none" && !of_plan)
      throw InvalidRequest(flag, "needs values, but numerics=none computes none; give --numerics cpu");
    path == outputs.checkpoint ? check_replaced_file(flag, path) : check_output_file(flag, path);
  }
  check_checkpoint_request(outputs, suite, kept);
}

CaseResult skipped_case(const Case& c, const std::string& reason) {
  CaseResult result;
  result.status = "skipped";
  result.reason = reason;
  if (!c.cluster.empty()) result.time_source = "virtual";  // like the rows that it is compared with
  return result;
}

std::shared_ptr<const PlannedCase> plan_or_note(const RunRequest& request, Suite& suite, const Case& c,
                                                const std::function<std::shared_ptr<const PlannedCase>()>& make) {
  const std::string id = case_id(c);
  if (suite.impossible.count(id) != 0) return nullptr;
  const auto checked = [&] {
    std::shared_ptr<const PlannedCase> plan = make();
    if (suite.learning_required && plan->until) refuse_target_of_rules(*plan->until, c.until);
    return plan;
  };
  if (request.strict || suite.cases.size() == 1) return with_place(suite, c, checked);
  try {
    return checked();
  } catch (const InvalidRequest& error) {
    const InvalidRequest here(suite.place_of(id, error.where()), error.message());
    if (!is_impossible_combination(error)) throw InvalidRequest(here.where(), id + ": " + here.message());
    suite.impossible.emplace(id, here);
    return nullptr;
  }
}

void check_all(const RunRequest& request, Suite& suite, const Ranks& ranks, KeptPlans& plans, bool kept) {
  std::vector<std::string> digests;
  const auto check = [&]() -> std::string {
    check_outputs(request.outputs, suite, kept);
    digests = check_plans(request, suite, ranks.several(), plans);
    if (!kept) check_checkpoint(request.outputs, suite, ranks.first(), plans);
    if (!request.resume) check_first_device(suite, ranks.world());
    return ranks.several() ? agreed_digest(request, suite, digests) : "";
  };
  ranks.agree_or_end(check, [&] { return account_of(request, suite, digests); });
  if (ranks.first()) warn_of_crowded_ranks(suite);
}

}  // namespace strobe
