// Describes the plan of a case as JSON, for `--dry-run`.
#include <nlohmann/json.hpp>
#include <numeric>

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

/// The helper processes, and the trainers that each serves.
Json describe_helpers(const std::vector<HelperRequest>& helpers) {
  Json list = Json::array();
  for (const HelperRequest& helper : helpers) {
    Json channels = Json::array();
    for (const ChannelShape& channel : helper.channels) {
      channels.push_back({{"name", channel.name},
                          {"trainer", channel.trainer},
                          {"request_bytes", channel.request_bytes},
                          {"answer_bytes", channel.answer_bytes}});
    }
    list.push_back({{"name", helper.name}, {"threads", helper.threads}, {"channels", channels}});
  }
  return list;
}

}  // namespace

Json describe(const PlannedCase& plan) {
  Json report = {{"case_id", case_id(plan.request)}, {"case", case_to_json(plan.request)}};
  const Json schedule = plan.schedule->describe();
  for (const auto& [key, value] : schedule.items()) report[key] = value;
  const std::vector<HelperRequest> helpers = plan.schedule->helpers();
  if (!helpers.empty()) report["helpers"] = describe_helpers(helpers);
  report["notes"] = plan.notes;
  report["planned_bytes_per_epoch"] = describe_bytes(plan.schedule->budget(0));
  return report;
}

Json describe_memory(const PlannedPeak& planned) {
  Json json = Json::object();
  for (int i = 0; i < memory_part_count; ++i) json[std::string(memory_part_names[i])] = Json::array();
  json["total"] = Json::array();
  for (const PerMemoryPart<std::uint64_t>& parts : planned.parts) {
    for (int i = 0; i < memory_part_count; ++i) json[std::string(memory_part_names[i])].push_back(parts[i]);
    json["total"].push_back(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}));
  }
  return json;
}

Json plan_case(const Case& c) { return describe(*make_plan(c, PlanUse::report)); }

}  // namespace strobe
