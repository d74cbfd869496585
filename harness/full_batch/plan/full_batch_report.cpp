// The part of `--dry-run` for full-batch training: the plan as plain data.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/hash.hpp"
#include "harness/full_batch/exchange/server_route.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/full_batch/plan/transfer_plan.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "workloads/partitioners/load_aware.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

std::string kind_of(const Placement& placement) {
  if (placement.keeps_timelines()) return "by vertex";
  const bool whole_steps =
      std::all_of(placement.maps.begin(), placement.maps.end(), [](const auto& map) { return map->single >= 0; });
  return whole_steps ? "by time" : "by time and vertex";
}

/// Rows that one spatial pass over all steps must carry between ranks. They are counted from the graph, not from the
/// exchanges. Null for a graph that is known by its shape only.
Json spatial_cut(const Placement& placement, const PreparedGraph& graph) {
  if (!graph.has_structure()) return nullptr;
  std::int64_t rows = 0;
  for (Step t = 0; t < placement.steps(); ++t) {
    const VertexMap& map = placement.map(t);
    if (map.single < 0) rows += connectivity_minus_one(graph, t, map.owner.copy(), placement.ranks);
  }
  return rows;
}

Json describe_placement(const Placement& placement) {
  std::vector<std::int64_t> rows;
  for (Rank r = 0; r < placement.ranks; ++r) rows.push_back(placement.rows(r));
  return Json{{"kind", kind_of(placement)},
              {"cells_per_rank", rows},
              {"max_over_mean_cells",
               static_cast<double>(*std::max_element(rows.begin(), rows.end())) * static_cast<double>(rows.size()) /
                   static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}))}};
}

/// The bytes that servers hold in one pass, and those that cross on the way to them and from them.
Json describe_route(const ServerRoute& route, std::uint64_t row_bytes) {
  const auto bytes = [row_bytes](std::int64_t rows) { return static_cast<std::uint64_t>(rows) * row_bytes; };
  Json held = Json::array();
  for (int k = 0; k < route.servers; ++k) {
    const Rank rank = rank_of_server(k, route.servers, route.push.rank_count);
    held.push_back({{"rank", rank},
                    {"held_bytes", bytes(route.push.of(rank).output_rows)},
                    {"held_gradient_bytes", bytes(route.push_back.of(rank).output_rows)}});
  }
  return Json{{"pushed_bytes", bytes(route.push.total_rows())},
              {"pulled_bytes", bytes(route.pull.total_rows())},
              {"pushed_gradient_bytes", bytes(route.push_back.total_rows())},
              {"pulled_gradient_bytes", bytes(route.pull_back.total_rows())},
              {"stores", held}};
}

Json describe_exchange(const std::string& name, const std::string& traffic, const ExchangePlan& plan,
                       std::int64_t width, bool fp64) {
  const auto row_bytes = static_cast<std::uint64_t>(width) * (fp64 ? 8u : 4u);
  Json exchange = {{"name", name},
                   {"traffic", traffic},
                   {"width", width},
                   {"identity", plan.identity},
                   {"rows", plan.total_rows()},
                   {"bytes_per_pass", static_cast<std::uint64_t>(sent_rows(plan, false)) * row_bytes}};
  std::int64_t packed = 0;
  for (const ExchangePlan* const carrier : carriers(plan, false)) {
    for (const RankExchange& rank : carrier->ranks) packed += rank.send.in_place ? 0 : rank.send.total;
  }
  exchange["packed_rows"] = packed;
  exchange["byte_matrix"] = byte_matrix(plan, row_bytes);
  if (plan.servers != nullptr) exchange["servers"] = describe_route(*plan.servers, row_bytes);
  return exchange;
}

/// The exchanges of states or earlier cells in a layer that walks its timelines packed.
void describe_packed(const std::string& prefix, const PackedPlan& packed, std::int64_t width, bool fp64,
                     Json& exchanges) {
  for (std::size_t k = 0; k < packed.handover.size(); ++k) {
    const std::string to = packed.rounds.size() == 1 ? "the next epoch" : "round " + std::to_string(k + 2);
    exchanges.push_back(
        describe_exchange(prefix + "state to " + to, "state", packed.handover[k], packed.state.width, fp64));
  }
  if (packed.rounds.empty())
    exchanges.push_back(describe_exchange(prefix + "earlier steps", "halo", packed.halo, width, fp64));
}

/// Rounds and pieces of a layer's timelines in training; null for a layer that walks none, or rectangles.
Json describe_rounds(const BlockPlan& block) {
  Json layers = Json::array();
  for (const auto& packed : block.trained) {
    if (packed == nullptr) {
      layers.push_back(nullptr);
      continue;
    }
    std::int64_t pieces = 0;
    for (const RoundPieces& round : packed->rounds) {
      for (const auto& rank : round) pieces += static_cast<std::int64_t>(rank.size());
    }
    layers.push_back({{"rounds", std::max<std::size_t>(1, packed->rounds.size())},
                      {"pieces", packed->rounds.empty() ? Json() : Json(pieces)}});
  }
  return layers;
}

std::int64_t product_rows(const BlockPlan& block, const LayerShape& layer) {
  std::int64_t rows = 0;
  for (const StepProduct& product : layer.products)
    for (const StepSupport& step : block.supports.at(product.support)) rows += step.halo.total_rows();
  return rows;
}

/// The cut of ranks: the rows that ranks send in one forward pass of training over all blocks, each row once for each
/// rank that reads it, and the most rounds in which a layer's states pass along timelines.
Json describe_cut_of_ranks(const FullBatchPlan& plan) {
  std::int64_t neighbours = 0, earlier = 0, states = 0, samples = 0;
  std::size_t rounds = 1;
  for (const BlockPlan& block : plan.blocks) {
    samples += block.train.halo.total_rows();
    for (std::size_t l = 0; l < plan.model.layers.size(); ++l) {
      const LayerShape& layer = plan.model.layers[l];
      if (sends_rows(plan.model.layers, l)) neighbours += block.spatial_halo.total_rows();
      if (layer.step_by_step) neighbours += product_rows(block, layer);
      if (block.earlier_steps[l]) earlier += block.earlier_steps[l]->total_rows();
      for (const ExchangePlan& handover : block.handover[l].plans) states += handover.total_rows();
      rounds = std::max(rounds, block.handover[l].plans.size());
      if (block.trained[l] == nullptr) continue;
      earlier += block.trained[l]->halo.total_rows();
      for (const ExchangePlan& handover : block.trained[l]->handover) states += handover.total_rows();
      rounds = std::max(rounds, block.trained[l]->rounds.size());
    }
  }
  return {{"neighbour_rows", neighbours},
          {"earlier_rows", earlier},
          {"state_rows", states},
          {"sample_rows", samples},
          {"rounds", rounds}};
}

Json describe_exchanges(const FullBatchPlan& plan, const BlockPlan& block) {
  Json exchanges = Json::array();
  for (std::size_t l = 0; l < plan.model.layers.size(); ++l) {
    const LayerShape& layer = plan.model.layers[l];
    const std::string prefix = "layer " + std::to_string(l + 1) + " ";
    if (sends_rows(plan.model.layers, l)) {
      exchanges.push_back(
          describe_exchange(prefix + "neighbours", "halo", block.spatial_halo, layer.input_width, plan.model.fp64));
    }
    if (!walks_timelines(layer)) continue;
    exchanges.push_back(describe_exchange(prefix + "to temporal", "redistribute", block.to_temporal,
                                          layer.spatial_width, plan.model.fp64));
    exchanges.push_back(describe_exchange(prefix + "to spatial", "redistribute", block.to_spatial, layer.temporal_width,
                                          plan.model.fp64));
    if (block.earlier_steps[l]) {
      exchanges.push_back(describe_exchange(prefix + "earlier steps", "halo", *block.earlier_steps[l],
                                            layer.spatial_width, plan.model.fp64));
    }
    if (block.trained[l] != nullptr)
      describe_packed(prefix, *block.trained[l], layer.spatial_width, plan.model.fp64, exchanges);
  }
  exchanges.push_back(describe_exchange("training samples", "halo", block.train.halo,
                                        plan.model.layers.back().temporal_width, plan.model.fp64));
  return exchanges;
}

/// Each block with its exchanges. "steps" is [first step, one past the last).
Json describe_blocks(const FullBatchPlan& plan) {
  Json blocks = Json::array();
  for (const BlockPlan& block : plan.blocks) {
    blocks.push_back({{"steps", {block.first_step, block.first_step + block.steps()}},
                      {"slices", std::max<std::size_t>(1, block.slices.size())},
                      {"packed_layers", describe_rounds(block)},
                      {"exchanges", describe_exchanges(plan, block)}});
  }
  return blocks;
}

/// Content hash of the drawn samples: two runs with the same hash learnt from the same pairs.
std::string samples_sha256(const Samples& samples) {
  std::string text;
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    for (int k = 0; k < samples.arity; ++k) {
      text +=
          std::to_string(samples.vertices[i * static_cast<std::size_t>(samples.arity) + static_cast<std::size_t>(k)]) +
          " ";
    }
    text += std::to_string(samples.step[i]) + " " + std::to_string(samples.label[i]);
    if (!samples.value.empty()) text += " " + fmt::format("{:a}", samples.value[i]);
    if (!samples.weight.empty()) text += " " + fmt::format("{:a}", samples.weight[i]);
    if (!samples.candidate_of.empty()) text += " " + std::to_string(samples.candidate_of[i]);
    for (std::size_t k = 0; k < samples.coded(); ++k)
      text += " " + std::to_string(samples.codes[i * samples.coded() + k]);
    text += "\n";
  }
  return sha256_hex(text);
}

/// Null when blocks move in one piece, because not every device counts that.
Json describe_transfer(const FullBatchPlan& plan) {
  if (!plan.options.moves_snapshots()) return nullptr;
  const TransferBytes bytes = planned_transfer_bytes(plan);
  return Json{{"snapshots", bytes.snapshots}, {"features", bytes.features}, {"total", bytes.total()}};
}

Json describe_staleness(const FullBatchPlan& plan) {
  const std::string policy = plan.stale.active ? text_of(plan.strategy.staleness) : "none";
  Json staleness = {{"policy", policy}};
  if (!plan.stale.active) return staleness;
  Json at_most = Json::object();
  for (std::size_t i = 0; i < plan.stale.at_most.size(); ++i)
    at_most[std::string(traffic_names[i])] = plan.stale.at_most[i];
  staleness["distances"] = plan.strategy.staleness.distances_on_host ? "host" : "device";
  staleness["bytes_after_the_first_epoch_at_most"] = at_most;
  return staleness;
}

Json describe_graph(const FullBatchPlan& plan) {
  return Json{{"vertices", plan.data.graph->vertices},
              {"steps", plan.data.graph->steps},
              {"nonzeros", plan.data.graph->nonzeros()},
              {"feature_width", plan.model.feature_width}};
}

Json describe_samples(const TaskData& samples) {
  return Json{{"train", samples.train.count()},
              {"validation", samples.validation.count()},
              {"test", samples.test.count()},
              {"train_sha256", samples_sha256(samples.train)},
              {"test_sha256", samples_sha256(samples.test)}};
}

/// Loads of the vertices of each rank, if a strategy divided vertices by load.
Json describe_loads(const StrategyPlan& strategy) {
  std::vector<double> ranks(strategy.spatial.ranks);
  for (std::size_t v = 0; v < strategy.loads->load.size(); ++v) {
    const Rank owner = strategy.spatial.owner(static_cast<VertexId>(v), 0);
    if (owner >= 0) ranks[owner] += strategy.loads->load[v];
  }
  return Json{{"load_per_rank", ranks}};
}

}  // namespace

Json describe(const FullBatchPlan& plan) {
  Json blocks = Json::array();
  for (const Run& block : plan.strategy.blocks) blocks.push_back({block.first, block.first + block.count});
  Json parameters = Json::array();
  for (const ParameterShape& shape : plan.model.parameters)
    parameters.push_back({{"name", shape.name}, {"shape", {shape.rows, shape.columns}}});
  Json described{
      {"graph", describe_graph(plan)},
      {"spatial_placement", describe_placement(plan.strategy.spatial)},
      {"temporal_placement", describe_placement(plan.strategy.temporal)},
      {"connectivity_minus_one", spatial_cut(plan.strategy.spatial, *plan.data.graph)},
      {"cut_of_ranks", describe_cut_of_ranks(plan)},
      {"schedule", {{"kind", plan.strategy.blocks.size() == 1 ? "full_batch" : "blocks"}, {"blocks", blocks}}},
      {"staleness", describe_staleness(plan)},
      {"approximations", plan.strategy.approximations},
      {"samples", describe_samples(*plan.data.samples)},
      {"parameters", parameters},
      {"blocks", describe_blocks(plan)},
      {"notes", plan.notes},
      {"planned_transfer_bytes_per_epoch", describe_transfer(plan)}};
  if (plan.strategy.chunks != nullptr) described["chunks"] = describe_chunks(*plan.strategy.chunks);
  if (plan.strategy.loads != nullptr) described["loads"] = describe_loads(plan.strategy);
  if (plan.fusion != nullptr) described["fusion"] = describe_fusion(plan);
  return described;
}

}  // namespace strobe
