#include "harness/cli/described/planned_cases.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "core/shown_text.hpp"
#include "harness/cli/byte_matrix.hpp"
#include "harness/cli/planned_memory.hpp"
#include "harness/cli/readable.hpp"
#include "harness/measure/run_checks.hpp"
#include "harness/measure/run_ranks.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/node_data.hpp"
#include "harness/run/run_case.hpp"
#include "harness/run/run_outputs.hpp"
#include "harness/training/host_memory.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

/// The plan of a case as --dry-run shows it. A case of one process is refused as its run would be.
std::shared_ptr<const PlannedCase> plan_to_show(const Case& c, const DataCache& cache, const NodeRanks& here) {
  check_room_to_read(c);
  std::shared_ptr<const PlannedCase> plan = make_plan_here(c, PlanUse::report, cache, here);
  const std::string note = in_one_process(c) ? check_host_memory(*plan, here, 0).note : "";
  if (note.empty()) return plan;
  PlannedCase noted = *plan;
  noted.notes.push_back(note);
  return std::make_shared<const PlannedCase>(std::move(noted));
}

}  // namespace

int dry_run(const RunRequest& request, Suite& suite, const World& world) {
  Json plans = Json::array();
  std::size_t matrices = 0;
  const Ranks alone;
  NodeRanks here = ranks_of_node(alone);
  here.files = files_of_training(request.outputs);
  const DataCache cache(node_store_of(alone, least_host_limit(suite.cases)));
  for (const Case& c : suite.cases) {
    const auto plan = plan_or_note(request, suite, c, [&] { return plan_to_show(c, cache, here); });
    if (plan == nullptr) {
      const std::string id = case_id(c);
      plans.push_back({{"case_id", id}, {"skipped", suite.impossible.at(id).message()}});
      continue;
    }
    check_offered(*plan, request.outputs);
    if (world.rank == 0) write_planned_outputs(*plan, request.outputs);
    plans.push_back(describe(*plan));
    if (world.rank != 0) continue;
    if (request.outputs.planned_memory) describe_planned_memory(*plan, plans.back());
    if (request.byte_matrix.empty()) continue;
    alone_in_world(world, [&] { matrices += write_byte_matrices(request.byte_matrix, plans.back()); });
  }
  refuse_if_all_impossible(suite);
  if (world.rank != 0) return 0;
  if (!request.byte_matrix.empty()) {
    narrate(fmt::format("wrote {} into {}", counted(matrices, "byte matrix file"), request.byte_matrix));
  }
  const std::string hash = plan_hash(plan_json(suite.cases));
  if (request.json) {
    print_data(Json{{"plan_hash", hash}, {"cases", plans}}.dump(2) + "\n");
    return 0;
  }
  for (Json& plan : plans) {
    const std::string id = plan.at("case_id").get<std::string>();
    plan.erase("case_id");
    print_data(shown_lines(fmt::format("{}\n{}", id, readable(plan, "  "))));
  }
  narrate(fmt::format("{}, plan {}; nothing was run", counted(plans.size(), "case"), hash.substr(0, 12)));
  return 0;
}

}  // namespace strobe
