#include "harness/plan/full_batch_plan.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backends/communicator.hpp"
#include "core/machine_limits.hpp"
#include "core/units.hpp"
#include "harness/plan/transfer_plan.hpp"
#include "harness/request/until.hpp"

namespace strobe {
namespace {

/// A world that others started has as many ranks as it has.
void check_world(const Case& c) {
  const int world = CommunicatorRegistry::instance().find(c.comm, "/comm").value.world_size();
  if (world == 0 || world == c.ranks) return;
  throw Unavailable("communicator " + c.comm + ": " + std::to_string(c.ranks) +
                    " ranks were asked for, but this world has " + std::to_string(world) + "; start with: mpirun -n " +
                    std::to_string(c.ranks) + " strobe run ... --comm " + c.comm + " --ranks " +
                    std::to_string(c.ranks));
}

void check_supported(const StrategyPlan& strategy, std::int64_t blocks) {
  const Schedule& schedule = strategy.schedule;
  if ((schedule.kind != "full_batch" && schedule.kind != "blocks") || strategy.staleness != "exact") {
    throw InvalidRequest("/strategy", "this run loop walks exact schedules of all steps or of blocks of them, not " +
                                          schedule.kind + " with " + strategy.staleness + " reads");
  }
  if (static_cast<std::int64_t>(schedule.blocks.size()) != blocks) {
    throw InvalidRequest("/nb", "this strategy cannot go through the timeline in blocks; set nb=1");
  }
}

/// An exchange knows four counts of every pair of ranks (RankExchange); a block has four exchanges, the test samples
/// one more, and while one of them is made a pair takes eight numbers. Measured at 3000 ranks in one block: 239 bytes a
/// pair where this gives 224.
void refuse_too_many_pairs(const Case& c, std::size_t blocks) {
  const double ranks = static_cast<double>(c.ranks), exchanges = 4.0 * static_cast<double>(blocks) + 1;
  const double bytes = ranks * ranks * (4 * exchanges + 8) * sizeof(std::int64_t), memory = usable_memory_bytes();
  if (bytes <= memory) return;
  throw InvalidRequest(
      "/ranks",
      fmt::format("the exchanges of {} ranks with nb={} take about {} to plan, {} are there; take fewer ranks{}",
                  c.ranks, blocks, format_bytes(bytes), format_bytes(memory), blocks > 1 ? " or a smaller nb" : ""));
}

}  // namespace

FullBatchOptions full_batch_options(const Case& c) {
  return {block_count(c), c.inputs == "resident", c.transfer, c.transfer_format == "coo64", c.overlap, c.rerun_last};
}

ListScope FullBatchCase::list_scope() const {
  if (request.numerics == "none" || use == PlanUse::report) return {ListScope::Kind::none, 0};
  const auto& comm = CommunicatorRegistry::instance().find(request.comm, "/comm").value;
  if (comm.world_size() > 0) return {ListScope::Kind::one, comm.process_rank()};
  return {};
}

std::vector<std::int64_t> useful_block_counts(std::int64_t steps) {
  std::vector<std::int64_t> counts;
  for (std::int64_t size = steps; size >= 1; --size) {
    const std::int64_t blocks = (steps + size - 1) / size;
    if (counts.empty() || counts.back() != blocks) counts.push_back(blocks);
  }
  return counts;
}

std::vector<std::vector<std::uint64_t>> byte_matrix(const ExchangePlan& plan, std::uint64_t row_bytes) {
  std::vector<std::vector<std::uint64_t>> matrix;
  for (const RankExchange& rank : plan.ranks) {
    std::vector<std::uint64_t> row;
    for (const std::int64_t rows : rank.send_count) row.push_back(static_cast<std::uint64_t>(rows) * row_bytes);
    matrix.push_back(std::move(row));
  }
  return matrix;
}

FullBatchCase begin_full_batch(const Case& request, PlanUse use) {
  const ModelChoice choice = choose_model(request);
  if (request.ranks < 1)
    throw InvalidRequest("/ranks", "at least 1 rank is needed, not " + std::to_string(request.ranks));
  if (use == PlanUse::run) check_world(request);
  DataPlan data = load_data(request, choice);
  check_until(request, *choice.task, data.samples->validation.count() > 0);
  ModelPlan model = plan_model(
      request, choice, data.graph->feature_width / choice.equations->preparation().inputs.feature_terms.count());
  const FullBatchOptions options = full_batch_options(request);
  if (options.blocks > data.graph->steps) {
    throw InvalidRequest("/nb", std::to_string(options.blocks) + " blocks, but only " +
                                    std::to_string(data.graph->steps) + " steps are trained on; a block needs a step");
  }
  return {request, use, options, std::move(data), std::move(model)};
}

std::shared_ptr<const FullBatchPlan> lay_out(const FullBatchCase& c, std::int64_t blocks) {
  const auto& entry = StrategyRegistry::instance().find(c.request.strategy.at("name").get<std::string>(), "/strategy");
  StrategyPlan strategy = entry.value(
      {*c.data.graph, c.ranks(), static_cast<std::uint64_t>(c.request.seed), even_blocks(c.data.graph->steps, blocks)},
      c.request.strategy);
  check_supported(strategy, blocks);
  return lay_out(c, std::move(strategy));
}

std::shared_ptr<const FullBatchPlan> lay_out(const FullBatchCase& c, StrategyPlan strategy) {
  refuse_too_many_pairs(c.request, strategy.schedule.blocks.size());
  std::vector<BlockPlan> block_plans = derive_blocks(c, strategy);
  std::vector<std::string> notes = c.data.notes;
  check_transfer(c, block_plans, notes);
  EvaluationPlan evaluation = place_evaluated(c, strategy.spatial);
  if (const std::string note = overlap_note(c, block_plans); !note.empty()) notes.push_back(note);
  const bool keeps_last = block_plans.size() == 1 || !c.options.rerun_last;
  const auto bytes = count_planned_bytes(c, block_plans, keeps_last);
  return std::make_shared<const FullBatchPlan>(
      FullBatchPlan{c, std::move(strategy), std::move(block_plans), std::move(evaluation), std::move(notes), bytes});
}

}  // namespace strobe
