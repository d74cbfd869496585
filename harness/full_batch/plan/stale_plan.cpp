#include "harness/full_batch/plan/stale_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/hash.hpp"
#include "harness/full_batch/exchange/stale_exchange.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {
namespace {

void refuse_what_does_not_fit(const FullBatchCase& c) {
  if (c.options.overlap > 1) {
    throw InvalidRequest("/overlap", "exchanges in slices send all of their rows; use overlap=1 with stale rows");
  }
  for (const LayerShape& layer : c.model.layers) {
    if (!layer.step_by_step) continue;
    throw InvalidRequest(
        "/strategy/stale",
        fmt::format("a layer of model {} goes from step to step and asks for neighbours in each, whose "
                    "rows are always sent; use stale=none or another model",
                    c.request.model.at("name").get<std::string>()));
  }
}

bool moves(const ExchangePlan& plan) { return !plan.identity && plan.total_rows() > 0; }

/// Whether naming the rows that come takes at least the bytes of all rows, there and back.
bool costs_more_than_rows(const ExchangePlan& plan, std::uint64_t row_bytes) {
  return StaleExchange::added_bytes(plan) >= 2 * static_cast<std::uint64_t>(plan.total_rows()) * row_bytes;
}

std::uint64_t row_bytes_of(const ModelPlan& model, const CoveredExchange& covered) {
  return static_cast<std::uint64_t>(covered.width) * (model.fp64 ? 8u : 4u);
}

/// Bytes of one exchange in an epoch, all ranks together.
struct ExchangeBytes {
  std::uint64_t exact = 0, first = 0, later = 0;
};

/// `forward` is the number of passes of the exact run. A re-run sends nothing, because the rows of the first pass
/// remain.
ExchangeBytes bytes_of(const ExchangePlan& halo, std::uint64_t row_bytes, bool constant, std::uint64_t forward) {
  const std::uint64_t rows = halo.total_rows();
  const std::uint64_t pass = rows * row_bytes, backward = constant ? 0 : pass;
  return {forward * pass + backward, pass + backward,
          constant ? 0 : pass + backward + StaleExchange::added_bytes(halo)};
}

/// A digest of the placements and blocks, in numbers that fp32 holds exactly.
std::vector<double> layout_of(const StrategyPlan& strategy) {
  Sha256 sha;
  for (const Run& block : strategy.blocks) sha.update(&block.count, sizeof block.count);
  for (const Placement* placement : {&strategy.spatial, &strategy.temporal}) {
    sha.update(&placement->ranks, sizeof placement->ranks);
    sha.update(placement->map_of_step.data(), placement->map_of_step.size() * sizeof placement->map_of_step[0]);
    for (const auto& map : placement->maps) {
      sha.update(&map->single, sizeof map->single);
      sha.update(map->owner.data(), map->owner.size() * sizeof map->owner[0]);
    }
  }
  const std::string hex = sha.hex();
  std::vector<double> layout;
  for (std::size_t i = 0; i + 4 <= hex.size(); i += 4)
    layout.push_back(static_cast<double>(std::stoul(hex.substr(i, 4), nullptr, 16)));
  return layout;
}

}  // namespace

std::vector<CoveredExchange> covered_exchanges(const ModelPlan& model, const BlockPlan& block) {
  const std::vector<LayerShape>& layers = model.layers;
  std::vector<CoveredExchange> covered;
  const auto add = [&](const ExchangePlan& plan, const CoveredExchange& how) {
    if (!moves(plan) || (!how.constant && costs_more_than_rows(plan, row_bytes_of(model, how)))) return;
    covered.push_back(how);
    covered.back().plan = &plan;
  };
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerShape& layer = layers[l];
    if (sends_rows(layers, l)) add(block.spatial_halo, {nullptr, l, "", layer.input_width, Traffic::halo, l == 0});
    if (!walks_timelines(layer)) continue;
    const CoveredExchange earlier{nullptr, l, "earlier", layer.spatial_width, Traffic::halo, false};
    const auto state = [l](std::size_t s, std::int64_t width) {
      return CoveredExchange{nullptr, l, "state" + std::to_string(s), width, Traffic::state, false};
    };
    if (block.earlier_steps[l]) add(*block.earlier_steps[l], earlier);
    const StateHandover& handover = block.handover[l];
    for (std::size_t s = 1; s < handover.plans.size(); ++s) add(handover.plans[s], state(s, handover.shape[s].width));
    if (block.packed[l] == nullptr) continue;
    const PackedPlan& packed = *block.packed[l];
    for (std::size_t k = 0; !block.trains_at_once(l) && k < packed.handover.size(); ++k)
      add(packed.handover[k], state(k + 1, packed.state.width));
    if (packed.rounds.empty()) add(packed.halo, earlier);
  }
  return covered;
}

void StalePlan::check_start(const TrainingState& state) const {
  const auto kept = state.kept.find(layout_name);
  if (layout.empty() || kept == state.kept.end() || kept->second == layout) return;
  throw InvalidRequest("--resume-training",
                       "the checkpoint keeps rows that ranks hold of each other (stale, states) under another "
                       "strategy, rank count or number of blocks; continue with those, or with stale=none and "
                       "states=exact");
}

namespace {

/// Adds the bytes of exchanges that the policy covers, and of all others of their kinds of traffic.
void add_covered(const FullBatchCase& c, const std::vector<BlockPlan>& blocks,
                 const PerTraffic<std::uint64_t>& exact_bytes, StalePlan& plan) {
  PerTraffic<std::uint64_t> first{}, later{};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const bool once = b + 1 == blocks.size() && c.options.keeps_last_block(blocks.size());
    for (const CoveredExchange& covered : covered_exchanges(c.model, blocks[b])) {
      const std::uint64_t row_bytes = row_bytes_of(c.model, covered);
      const ExchangeBytes one = bytes_of(*covered.plan, row_bytes, covered.constant, once ? 1 : 2);
      const auto traffic = static_cast<std::size_t>(covered.traffic);
      plan.traffic.exact[traffic] += one.exact;
      first[traffic] += one.first;
      later[traffic] += one.later;
      plan.active = true;
      plan.approximates = plan.approximates || !covered.constant;
    }
  }
  plan.first_epoch = plan.at_most = exact_bytes;
  for (std::size_t traffic = 0; traffic < traffic_count; ++traffic) {
    if (plan.traffic.exact[traffic] == 0) continue;
    plan.traffic.beside[traffic] = exact_bytes[traffic] - plan.traffic.exact[traffic];
    plan.first_epoch[traffic] = plan.traffic.beside[traffic] + first[traffic];
    // A run may continue training that began without stale rows. Its first epoch then sends all rows.
    plan.at_most[traffic] = plan.traffic.beside[traffic] + std::max(first[traffic], later[traffic]);
  }
}

}  // namespace

StalePlan plan_staleness(const FullBatchCase& c, const StrategyPlan& strategy, const std::vector<BlockPlan>& blocks,
                         const PerTraffic<std::uint64_t>& exact_bytes, std::vector<std::string>& notes) {
  StalePlan plan;
  if (strategy.states == CutStates::previous_epoch && trains_at_once(blocks)) plan.layout = layout_of(strategy);
  if (!strategy.staleness.reuses()) return plan;
  refuse_what_does_not_fit(c);
  add_covered(c, blocks, exact_bytes, plan);
  if (!plan.active) {
    notes.push_back("stale has no effect: no layer reads rows of other ranks, or too few to pay for saying which come");
    return plan;
  }
  if (!plan.approximates)
    notes.push_back("stale changes no value: only constant inputs come from other ranks, and once is enough");
  plan.layout = layout_of(strategy);
  if (c.request.numerics == "none") {
    notes.push_back(fmt::format("without values the share of rows sent after the first epoch is assumed: sent_share={}",
                                strategy.staleness.sent_share));
  }
  return plan;
}

}  // namespace strobe
