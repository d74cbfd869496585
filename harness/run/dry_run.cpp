// What `--dry-run` prints: the plan of a case as plain data.
#include <nlohmann/json.hpp>

#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"

namespace strobe {
namespace {

Json describe_bytes(const ByteBudget& budget) {
  Json bytes = Json::object();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < budget.bytes.size(); ++i) {
    bytes[std::string(traffic_names[i])] = budget.bytes[i];
    total += budget.bytes[i];
  }
  bytes["total"] = total;
  return bytes;
}

}  // namespace

Json describe(const PlannedCase& plan) {
  Json report = {{"case_id", case_id(plan.request)}, {"case", case_to_json(plan.request)}};
  const Json schedule = plan.schedule->describe();
  for (const auto& [key, value] : schedule.items()) report[key] = value;
  report["notes"] = plan.notes;
  report["planned_bytes_per_epoch"] = describe_bytes(plan.schedule->budget());
  return report;
}

Json plan_case(const Case& c) { return describe(*make_plan(c, PlanUse::report)); }

}  // namespace strobe
