#include "harness/full_batch/plan/full_batch_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/communicator.hpp"
#include "backends/launch_wait.hpp"
#include "core/system/process_memory.hpp"
#include "harness/full_batch/exchange/exchange_bytes.hpp"
#include "harness/full_batch/exchange/server_route.hpp"
#include "harness/full_batch/plan/named_inputs.hpp"
#include "harness/full_batch/plan/transfer_plan.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/request/until.hpp"
#include "workloads/partitioners/run_exchanges.hpp"

namespace strobe {
namespace {

/// A world that mpirun or another launcher has started has a fixed number of ranks.
void check_world(const Case& c) {
  const int world = CommunicatorRegistry::instance().find(c.comm, "/comm").value.world_size();
  if (world == 0 || world == c.ranks) return;
  throw Unavailable("communicator " + c.comm + ": " + std::to_string(c.ranks) +
                    " ranks were asked for, but this world has " + std::to_string(world) + "; start with: mpirun -n " +
                    std::to_string(c.ranks) + " strobe run ... --comm " + c.comm + " --ranks " +
                    std::to_string(c.ranks));
}

/// Adds an approximation. A plan that is laid out again has it already.
void approximate(const std::string& words, StrategyPlan& strategy) {
  auto& known = strategy.approximations;
  if (std::find(known.begin(), known.end(), words) == known.end()) known.push_back(words);
}

/// Adds the approximation of states where timelines are cut, or a note that there are none.
void say_states(const std::vector<BlockPlan>& blocks, StrategyPlan& strategy, std::vector<std::string>& notes) {
  if (strategy.states == CutStates::exact) return;
  if (trains_at_once(blocks)) {
    approximate("states where timelines are cut: " + text_of(strategy.states), strategy);
  } else {
    notes.push_back(text_of(strategy.states) + " has no effect: no recurrence passes from rank to rank");
  }
}

void check_supported(const StrategyPlan& strategy, std::int64_t blocks) {
  if (static_cast<std::int64_t>(strategy.blocks.size()) != blocks) {
    throw InvalidRequest("/nb", "this strategy cannot go through the timeline in blocks; set nb=1");
  }
}

/// A unit of chunks reads the first layer's outputs, which its rank computes for own rows.
void check_units(const FullBatchCase& c, const std::vector<BlockPlan>& blocks) {
  const bool by_units = std::any_of(blocks.begin(), blocks.end(), [](const auto& b) { return b.units != nullptr; });
  if (by_units && c.model.layers.front().sends_input)
    throw InvalidRequest("/strategy/halo",
                         "chunks that ranks compute unit by unit read outputs of the first layer; "
                         "leave halo out, or set fusion=both with more fusion_gib");
}

/// Servers lie on ranks, and their stores follow from the rows that cross, which a shape does not know.
void check_servers(const FullBatchCase& c, const StrategyPlan& strategy) {
  const int servers = c.options.servers;
  if (servers == 0) return;
  const auto refuse = [](const std::string& why) { throw InvalidRequest("/strategy/servers", why); };
  if (servers > c.ranks()) {
    refuse("each server lies on a rank of its own, but there are " + std::to_string(servers) + " servers and " +
           std::to_string(c.ranks()) + " ranks; set servers=" + std::to_string(c.ranks()) + " or fewer");
  }
  if (!c.data.graph->has_structure())
    refuse("a graph that is known by its shape only does not say which rows cross; use servers=0, or a graph");
  if (strategy.staleness.reuses()) refuse("stale rows go from peer to peer; use servers=0, or stale=none");
}

}  // namespace

bool trains_at_once(const std::vector<BlockPlan>& blocks) {
  for (const BlockPlan& block : blocks) {
    for (std::size_t l = 0; l < block.trained.size(); ++l)
      if (block.trains_at_once(l)) return true;
  }
  return false;
}

FullBatchOptions full_batch_options(const Case& c) {
  return {block_count(c),
          c.inputs == "resident",
          c.transfer,
          c.transfer_format == "coo64",
          c.overlap,
          c.rerun_last,
          c.host_memory_limit_gib > 0,
          c.strategy.value("servers", 0)};
}

ListScope FullBatchCase::list_scope() const {
  if (request.numerics == "none" || use == PlanUse::report) return {ListScope::Kind::none, 0, options.servers};
  const auto& comm = CommunicatorRegistry::instance().find(request.comm, "/comm").value;
  if (comm.world_size() > 0) {
    // Processes that cannot meet make the stores of servers from the lists of all ranks.
    const bool as_sums = !comm.in_one_process() && (options.servers == 0 || share_holders().several());
    return {ListScope::Kind::one, comm.process_rank(), options.servers, as_sums, together};
  }
  return {ListScope::Kind::all, 0, options.servers};
}

std::optional<Rank> FullBatchCase::only_rank() const {
  const ListScope scope = list_scope();
  const auto& comm = CommunicatorRegistry::instance().find(request.comm, "/comm").value;
  return scope.kind == ListScope::Kind::one && !comm.in_one_process() ? std::optional(scope.rank) : std::nullopt;
}

ShareHolders FullBatchCase::share_holders() const {
  const auto& comm = CommunicatorRegistry::instance().find(request.comm, "/comm").value;
  if (request.comm != "mpi" || use == PlanUse::report || comm.world_size() <= 1) return {};
  return {comm.process_rank(), comm.world_size(),
          [gather = comm.gather](const std::string& own) { return gather(own, launch_wait_seconds()); },
          [all_to_all = comm.all_to_all](const std::vector<std::string>& to) {
            return all_to_all(to, launch_wait_seconds());
          }};
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
  const std::size_t ranks = plan.rank_count;
  std::vector<std::vector<std::uint64_t>> matrix(ranks, std::vector<std::uint64_t>(ranks, 0));
  for (const ExchangePlan* const carrier : carriers(plan, false)) {
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto sent = rows_of_ranks(carrier->of(static_cast<Rank>(r)).send.parts(), plan.rank_count);
      for (std::size_t q = 0; q < ranks; ++q) matrix[r][q] += static_cast<std::uint64_t>(sent[q].count) * row_bytes;
    }
  }
  return matrix;
}

FullBatchCase begin_full_batch(const Case& request, PlanUse use, const DataCache& cache) {
  const ModelChoice choice = choose_model(request);
  if (request.ranks < 1)
    throw InvalidRequest("/ranks", "at least 1 rank is needed, not " + std::to_string(request.ranks));
  if (use == PlanUse::run) check_world(request);
  DataPlan data = load_data(request, choice, cache);
  check_until(request, choice.task->metric_names(), data.samples->validation.count() > 0);
  ModelPlan model = plan_model(
      request, choice, data.graph->feature_width / choice.equations->preparation().inputs.feature_terms.count());
  if (request.strategy.value("halo", "outputs") == "inputs") send_first_input(request, model);
  const FullBatchOptions options = full_batch_options(request);
  if (options.blocks > data.graph->steps) {
    throw InvalidRequest("/nb", std::to_string(options.blocks) + " blocks, but only " +
                                    std::to_string(data.graph->steps) + " steps are trained on; a block needs a step");
  }
  return {request, use, options, std::move(data), std::move(model), cache.node()};
}

std::shared_ptr<FullBatchPlan> lay_out(const FullBatchCase& c, std::int64_t blocks) {
  const auto& entry = StrategyRegistry::instance().find(c.request.strategy.at("name").get<std::string>(), "/strategy");
  StrategyPlan strategy = entry.value(
      {*c.data.graph, c.ranks(), static_cast<std::uint64_t>(c.request.seed), even_blocks(c.data.graph->steps, blocks),
       &c.model.layers, c.model.fp64, named_inputs(c), c.share_holders(), &c.data.supports, &c.data.samples->train,
       c.only_rank(), c.node.get(), case_to_json(c.request).dump()},
      c.request.strategy);
  check_supported(strategy, blocks);
  return lay_out(c, std::move(strategy));
}

namespace {

/// All exchanges of blocks and evaluations. Through servers, processes that list their own rows meet here.
std::pair<std::vector<BlockPlan>, EvaluationPlan> derive_exchanges(const FullBatchCase& c, const StrategyPlan& strategy,
                                                                   const std::shared_ptr<const FusionPlan>& fusion) {
  std::pair<std::vector<BlockPlan>, EvaluationPlan> made;
  const auto derive = [&](const FullBatchCase& here) {
    made = {derive_blocks(here, strategy, fusion), place_evaluated(here, strategy.spatial)};
  };
  const ListScope scope = c.list_scope();
  if (scope.servers == 0 || !scope.others_as_sums) {
    derive(c);
    return made;
  }
  run_exchanges(c.share_holders(), [&](const ShareHolders& all) {
    FullBatchCase here = c;
    here.together = &all;
    derive(here);
  });
  return made;
}

}  // namespace

std::shared_ptr<FullBatchPlan> lay_out(const FullBatchCase& c, StrategyPlan strategy) {
  if (c.data.graph->presence != nullptr)
    leave_out_missing(*c.data.graph->presence, strategy.spatial, strategy.temporal, listed_owners(c.only_rank()));
  check_servers(c, strategy);
  // Peers of a counted halo are not stored. With stale rows they are listed.
  const double counted_pairs = strategy.staleness.reuses() ? 1e300 : 0;
  const double most_pairs =
      c.data.graph->has_structure() ? static_cast<double>(c.data.graph->nonzeros()) : counted_pairs;
  const double exchange_bytes = exchange_bytes_within_memory(
      {strategy.spatial, strategy.temporal, strategy.blocks, c.model.layers, most_pairs,
       static_cast<std::int64_t>(c.data.supports.size()), c.options.overlap, c.options.servers});
  look_at_process_memory();
  const std::shared_ptr<const FusionPlan> fusion = plan_fusion(c, strategy);
  check_states(c, strategy, fusion.get());
  auto [block_plans, evaluation] = derive_exchanges(c, strategy, fusion);
  look_at_process_memory();
  check_units(c, block_plans);
  std::vector<std::string> notes = c.data.notes;
  if (c.options.from_file && block_plans.size() > 1)
    notes.push_back(
        "host_memory_limit_gib: matrices and features stay in a file, and each block is read before its use");
  if (strategy.chunks != nullptr) notes.push_back(chunk_note(*strategy.chunks));
  if (const std::string note = fusion_note(fusion.get()); !note.empty()) notes.push_back(note);
  if (strategy.chunks != nullptr && !strategy.chunks->measured_note.empty())
    notes.push_back(strategy.chunks->measured_note);
  check_transfer(c, block_plans, notes);
  if (const std::string note = overlap_note(c, block_plans); !note.empty()) notes.push_back(note);
  auto bytes = count_planned_bytes(c, block_plans, c.options.keeps_last_block(block_plans.size()));
  StalePlan stale = plan_staleness(c, strategy, block_plans, bytes, notes);
  if (stale.active) bytes = stale.first_epoch;
  if (stale.approximates) approximate("stale rows: " + text_of(strategy.staleness), strategy);
  say_states(block_plans, strategy, notes);
  return std::make_shared<FullBatchPlan>(FullBatchPlan{c, std::move(strategy), std::move(block_plans),
                                                       std::move(evaluation), std::move(notes), std::move(stale),
                                                       fusion, bytes, static_cast<std::uint64_t>(exchange_bytes)});
}

}  // namespace strobe
