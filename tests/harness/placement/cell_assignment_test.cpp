// Cells assigned to ranks one by one: what the hypergraph counts is what plans send, moves gain what it says, and
// refinement keeps its limits, never sends more than its start, and finds good cuts of tiny graphs.
#include "harness/placement/chunks/assign/cell_assignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/placement/chunks/assign/cell_blocks.hpp"
#include "harness/placement/chunks/assign/cell_nets.hpp"
#include "harness/placement/chunks/assign/net_ranks.hpp"
#include "harness/placement/chunks/assign/rank_refinement.hpp"
#include "harness/placement/chunks/cell_placement.hpp"
#include "harness/request/case.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/harness/placement/tried_cells.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

using test::kinds_of_layers;
using test::random_ranks;
using test::Tried;

using CellRanks = std::map<test::Cell, Rank>;

/// Ranks other than the owner's among readers.
std::int64_t other_ranks(const CellRanks& rank, const test::Cell& owner, const std::vector<test::Cell>& readers) {
  std::set<Rank> ranks;
  for (const test::Cell& reader : readers) ranks.insert(rank.at(reader));
  ranks.erase(rank.at(owner));
  return static_cast<std::int64_t>(ranks.size());
}

/// The later cells that read a cell of the timeline through this layer.
std::vector<test::Cell> later_readers(const PreparedGraph& graph, const LayerShape& layer, VertexId v, Step t) {
  std::vector<test::Cell> readers;
  for (Step later = t + 1; later < graph.steps && test::one_sequence(graph, v, t, later); ++later) {
    const bool window = layer.need == TemporalNeed::window && later - t < layer.window;
    const bool anew = layer.reset_every > 0 && later % layer.reset_every == 0;
    const bool state = layer.need == TemporalNeed::recurrent && later == t + 1 && !anew;
    if (window || state || layer.need == TemporalNeed::all) readers.push_back({v, later});
  }
  return readers;
}

std::int64_t plainly_sent(const PreparedGraph& graph, const std::vector<LayerShape>& layers, const CellRanks& rank) {
  std::map<test::Cell, std::vector<test::Cell>> readers;
  for (Step t = 0; t < graph.steps; ++t) {
    for (VertexId v = 0; v < graph.vertices; ++v) {
      const std::size_t row = t * graph.vertices + v;
      for (auto e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e)
        readers[{graph.columns[e], t}].push_back({v, t});
    }
  }
  std::int64_t sum = 0;
  for (const auto& [cell, ignored] : rank) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const LayerShape& layer = layers[l];
      if (layer.reads_neighbours) sum += (l == 0 ? 1 : 2) * layer.input_width * other_ranks(rank, cell, readers[cell]);
      const std::int64_t columns = layer.need == TemporalNeed::recurrent
                                       ? layer.recurrent_state.rows_per_vertex * layer.recurrent_state.width
                                       : layer.spatial_width;
      sum += 2 * columns * other_ranks(rank, cell, later_readers(graph, layer, cell.first, cell.second));
    }
  }
  return sum;
}

TEST(CellNets, CountEachRowOnceForEachRankThatReadsIt) {
  std::mt19937 draw(5);
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (std::size_t kind = 0; kind < kinds_of_layers().size(); ++kind) {
      const Tried tried(seed, 9, 7, kind);
      const std::vector<test::Cell> cells = test::cells_in_order(tried.graph);
      const std::vector<Rank> rank = random_ranks(draw, cells.size(), 3);
      CellRanks of_cell;
      for (std::size_t i = 0; i < cells.size(); ++i) of_cell[cells[i]] = rank[i];
      EXPECT_EQ(sent_columns(tried.nets(), rank), plainly_sent(tried.graph, tried.layers, of_cell)) << seed << kind;
    }
  }
}

/// Bytes of sums over ranks, which no placement changes.
std::uint64_t bytes_of_sums(const FullBatchPlan& plan) {
  std::uint64_t elements = 0;
  for (const LayerShape& layer : plan.model.layers)
    elements += static_cast<std::uint64_t>(plan.data.graph->steps) *
                (2 * static_cast<std::uint64_t>(layer.sums.values) +
                 static_cast<std::uint64_t>(layer.sums.constants_per_rank) * static_cast<std::uint64_t>(plan.ranks()));
  return 2 * (static_cast<std::uint64_t>(plan.ranks()) - 1) * elements * sizeof(double);
}

/// Layers whose recurrence packs sequences.
std::vector<const LayerShape*> recurrences(const FullBatchCase& c) {
  std::vector<const LayerShape*> found;
  for (const LayerShape& layer : c.model.layers)
    if (layer.need == TemporalNeed::recurrent && !layer.step_by_step) found.push_back(&layer);
  return found;
}

/// The dry run's rounds are the longest chain of owners. Its rows of states are the planned bytes of a lone recurrence.
void expect_cut_of_ranks(const FullBatchPlan& plan, const FullBatchCase& c, std::int64_t rounds) {
  const Json cut = describe(plan).at("cut_of_ranks");
  const std::vector<const LayerShape*> layers = recurrences(c);
  if (layers.empty()) return;
  const bool exact = plan.strategy.states == CutStates::exact;
  EXPECT_EQ(cut.at("rounds").get<std::int64_t>(), exact ? rounds : 1);
  if (layers.size() > 1) return;
  const std::uint64_t width = layers[0]->recurrent_state.width * sizeof(double), passes = exact ? 2 : 1;
  EXPECT_EQ(plan.planned_bytes[Traffic::state] - bytes_of_sums(plan),
            cut.at("state_rows").get<std::uint64_t>() * width * passes);
}

TEST(CellNets, CountWhatPlansOfEveryModelSend) {
  std::mt19937 draw(7);
  unsigned seed = 0;
  for (const std::string& model : names_with<ModelTag>(&ModelTag::Value::family, "snapshots")) {
    const test::ComingsAndGoings events(++seed);
    for (const char* presence : {"all", "active"}) {
      Json request = events.request({{"name", model}}, presence);
      request["strategy"] = {{"name", "vertex"}}, request["ranks"] = 3;
      const FullBatchCase c = begin_full_batch(case_from_json(request, ""), PlanUse::run);
      const PreparedGraph& graph = *c.data.graph;
      const SuperGraph super = super_graph(graph, {});
      const std::vector<Rank> rank = random_ranks(draw, super.nodes(), 3);
      const Placement placement = place_cells(graph, 3, [&rank](NodeId node) { return rank[node]; });
      for (const CutStates states : {CutStates::exact, CutStates::previous_epoch, CutStates::zero}) {
        if (states != CutStates::exact && recurrences(c).empty()) continue;
        const auto plan = lay_out(
            c, StrategyPlan{placement, placement, even_blocks(graph.steps, 1), {}, {}, nullptr, nullptr, states});
        const CellNets nets =
            cell_nets(graph, super, {c.model.layers, &c.data.supports, &c.data.samples->train, states},
                      std::vector<double>(rank.size(), 1));
        const auto sent = static_cast<std::uint64_t>(sent_columns(nets, rank)) * sizeof(double);
        EXPECT_EQ(plan->planned_bytes[Traffic::halo] + plan->planned_bytes[Traffic::state] - bytes_of_sums(*plan), sent)
            << model << " " << presence << " " << text_of(states);
        expect_cut_of_ranks(*plan, c, rounds_of(super, c.model.layers, rank));
      }
    }
  }
  EXPECT_GE(seed, 8u);
}

TEST(CellNets, CountMoreRanksThanAWordHasBits) {
  std::mt19937 draw(3);
  const Tried tried(3, 40, 6, 4);
  const std::vector<test::Cell> cells = test::cells_in_order(tried.graph);
  const std::vector<Rank> rank = random_ranks(draw, cells.size(), 150);
  CellRanks of_cell;
  for (std::size_t i = 0; i < cells.size(); ++i) of_cell[cells[i]] = rank[i];
  EXPECT_EQ(sent_columns(tried.nets(), rank), plainly_sent(tried.graph, tried.layers, of_cell));
}

TEST(CellNets, MergedNodesSendWhatTheirCellsSend) {
  std::mt19937 draw(11);
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const Tried tried(seed, 12, 6, seed % kinds_of_layers().size());
    const CellNets nets = tried.nets();
    constexpr std::uint32_t count = 13;
    std::vector<std::uint32_t> group;
    for (std::size_t i = 0; i < nets.nodes(); ++i)
      group.push_back(i < count ? static_cast<std::uint32_t>(i) : draw() % count);
    const CellNets merged = merged_nodes(nets, group, count);
    const std::vector<Rank> of_group = random_ranks(draw, count, 4);
    std::vector<Rank> rank;
    for (const std::uint32_t g : group) rank.push_back(of_group[g]);
    EXPECT_EQ(sent_columns(merged, of_group), sent_columns(nets, rank)) << seed;
    const std::vector<double> load = load_of_ranks(nets, rank, 4), of_merged = load_of_ranks(merged, of_group, 4);
    for (int r = 0; r < 4; ++r) EXPECT_NEAR(load[r], of_merged[r], 1e-12 * load[r]) << seed;
    // One level of pairs of pairs.
    const auto [pair, pairs] = pair_nodes(merged, of_group, 1e300, seed);
    std::vector<Rank> of_pair(pairs);
    for (std::size_t i = 0; i < pair.size(); ++i) of_pair[pair[i]] = of_group[i];
    for (std::size_t i = 0; i < pair.size(); ++i) EXPECT_EQ(of_pair[pair[i]], of_group[i]) << "pairs lie on one rank";
    EXPECT_EQ(sent_columns(merged_nodes(merged, pair, pairs), of_pair), sent_columns(nets, rank)) << seed;
  }
}

TEST(NetRanks, MovesGainWhatLessIsSentAndTheBestIsTaken) {
  std::mt19937 draw(13);
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Tried tried(seed, 8, 6, seed % kinds_of_layers().size());
    CellNets nets = tried.nets();
    std::vector<std::uint32_t> group;
    for (std::size_t i = 0; i < nets.nodes(); ++i) group.push_back(static_cast<std::uint32_t>(i / 2));
    if (seed % 3 == 0) nets = merged_nodes(nets, group, group.back() + 1);
    std::vector<Rank> rank = random_ranks(draw, nets.nodes(), 4);
    std::vector<double> load = load_of_ranks(nets, rank, 4);
    NetRanks of_nets(nets, 4, rank, load);
    for (int moves = 0; moves < 60; ++moves) {
      const auto node = static_cast<std::uint32_t>(draw() % nets.nodes());
      const NodeMove move = of_nets.best_move(node, 1e300, true);
      const std::int64_t before = sent_columns(nets, rank);
      if (move.to < 0) continue;  // the rank's last node
      std::int64_t best = std::numeric_limits<std::int64_t>::min();
      for (Rank to = 0; to < 4; ++to) {
        std::vector<Rank> other = rank;
        other[node] = to;
        if (to != rank[node]) best = std::max(best, before - sent_columns(nets, other));
      }
      EXPECT_EQ(move.gain, best);
      of_nets.move(node, move.to, [](std::uint32_t) {});
      EXPECT_EQ(before - sent_columns(nets, rank), move.gain);
    }
  }
}

TEST(RankRefinement, KeepsItsLimitsAndNeverSendsMore) {
  std::mt19937 draw(17);
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Tried tried(seed, 30, 8, seed % kinds_of_layers().size());
    const CellNets nets = tried.nets();
    std::vector<Rank> rank = random_ranks(draw, nets.nodes(), 5);
    const std::vector<double> start = load_of_ranks(nets, rank, 5);
    const RefinementLimits limits{5, std::accumulate(start.begin(), start.end(), 0.0) / 5 * 1.03, seed};
    balance_ranks(nets, limits, rank);
    std::vector<double> load = load_of_ranks(nets, rank, 5);
    EXPECT_LE(*std::max_element(load.begin(), load.end()), limits.most_load * (1 + 1e-9)) << seed;
    const std::int64_t before = sent_columns(nets, rank);
    std::vector<Rank> again = rank;
    refine_ranks(nets, limits, rank);
    refine_ranks(nets, limits, again);
    EXPECT_EQ(rank, again) << "the seed decides";
    load = load_of_ranks(nets, rank, 5);
    EXPECT_LE(*std::max_element(load.begin(), load.end()), limits.most_load * (1 + 1e-9)) << seed;
    EXPECT_GT(*std::min_element(load.begin(), load.end()), 0) << seed;
    EXPECT_LT(sent_columns(nets, rank), before) << seed;
  }
}

/// The least that any placement on two ranks sends with loads up to `most`.
std::int64_t least_of_all(const CellNets& nets, double most) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (unsigned bits = 1; bits + 1 < 1u << nets.nodes(); ++bits) {
    std::vector<Rank> rank;
    for (std::size_t i = 0; i < nets.nodes(); ++i) rank.push_back(static_cast<Rank>((bits >> i) & 1));
    const std::vector<double> load = load_of_ranks(nets, rank, 2);
    if (std::max(load[0], load[1]) <= most) least = std::min(least, sent_columns(nets, rank));
  }
  return least;
}

TEST(CellAssignment, FindsTheBestCutOfTinyGraphs) {
  std::int64_t of_best = 0, of_refined = 0;
  int best = 0;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    const Tried tried(2 * seed + 1, 4, 3, seed % kinds_of_layers().size());  // 12 cells
    const CellNets nets = tried.nets();
    const ChunkGraph chunks = tried.chunks(2);
    const std::vector<double> work =
        chunk_workloads(tried.graph, tried.super, chunks, {tried.layers, true}, "cost_model");
    const GrowingColumn<Rank> rank =
        assign_cells({tried.graph, tried.super, {tried.layers}, tried.load, 2, 1, 0}, chunks, work, "refined");
    const std::vector<double> load = load_of_ranks(nets, rank, 2);
    const double most = std::max(load[0], load[1]);
    const std::int64_t least = least_of_all(nets, most * (1 + 1e-9)), sent = sent_columns(nets, rank);
    EXPECT_GE(sent, least);
    best += sent == least ? 1 : 0, of_best += least, of_refined += sent;
    if (!has_metis()) continue;
    const GrowingColumn<Rank> cut = cut_by_metis(tried.super, single_cells(tried.super), tried.load, 2, 1);
    const std::vector<double> of_cut = load_of_ranks(nets, cut, 2);
    if (std::max(of_cut[0], of_cut[1]) <= (of_cut[0] + of_cut[1]) / 2 * 1.03) {
      EXPECT_LE(sent, sent_columns(nets, cut)) << seed;
    }
  }
  EXPECT_GE(best, 20) << "of 24";
  EXPECT_LE(static_cast<double>(of_refined), 1.02 * static_cast<double>(of_best)) << "all graphs together";
}

/// Few cells of several sizes do not fit into 1.03 of the mean, so the heaviest rank of chunks is the limit.
TEST(CellAssignment, KeepsTheLimitWhereCellsAreLarge) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const int ranks = 3 + static_cast<int>(seed % 4);
    const Tried tried(seed, 5, 2, seed % kinds_of_layers().size());
    if (tried.super.nodes() < ranks) continue;
    const ChunkGraph chunks = tried.chunks(1);
    const std::vector<double> work =
        chunk_workloads(tried.graph, tried.super, chunks, {tried.layers, true}, "cost_model");
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    double most = std::accumulate(tried.load.begin(), tried.load.end(), 0.0) / ranks * 1.03;
    double of_least = 0;
    for (const char* method : {"score", "lpt", "score_then_fill"}) {
      const std::vector<Rank> of_chunk = assign_chunks(chunks, work, ranks, method).rank;
      std::vector<Rank> rank;
      for (const std::uint32_t chunk : chunks.of_node) rank.push_back(of_chunk[chunk]);
      const std::vector<double> load = load_of_ranks(tried.nets(), rank, ranks);
      if (const std::int64_t sent = sent_columns(tried.nets(), rank); sent < least)
        least = sent, of_least = *std::max_element(load.begin(), load.end());
    }
    const GrowingColumn<Rank> rank =
        assign_cells({tried.graph, tried.super, {tried.layers}, tried.load, ranks, seed, 0}, chunks, work, "refined");
    const std::vector<double> load = load_of_ranks(tried.nets(), rank, ranks);
    EXPECT_LE(*std::max_element(load.begin(), load.end()), std::max(most, of_least) * (1 + 1e-9)) << seed;
  }
}

TEST(CellAssignment, RefusesAPriceOfRoundsWhereNobodyWaits) {
  const test::ComingsAndGoings events(3);
  const auto refusal = [&](const char* model, const char* states) {
    Json request = events.request({{"name", model}}, "active");
    request["strategy"] = {{"name", "chunk"}, {"assign", "refined"}, {"round_kib", 8.0}, {"states", states}};
    request["ranks"] = 3;
    try {
      test::full_batch_plan(case_from_json(request, ""));
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/strategy/round_kib");
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("t-gcn", "exact"), "accepted");
  EXPECT_NE(refusal("t-gcn", "zero").find("with states=zero no rank waits"), std::string::npos);
  EXPECT_NE(refusal("dysat", "exact").find("this model hands no state"), std::string::npos);
}

TEST(CellAssignment, NeverSendsMoreThanTheAssignmentsOfChunks) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    for (const int ranks : {2, 5}) {
      const Tried tried(seed, 40, 9, seed % kinds_of_layers().size());
      const CellNets nets = tried.nets();
      ChunkGraph chunks = tried.chunks(12);
      const std::vector<double> work =
          chunk_workloads(tried.graph, tried.super, chunks, {tried.layers, true}, "cost_model");
      const CellsToAssign cells{tried.graph, tried.super, {tried.layers}, tried.load, ranks, 1, 0};
      const GrowingColumn<Rank> rank = assign_cells(cells, chunks, work, "refined");
      for (const char* method : {"score", "lpt", "score_then_fill"}) {
        std::vector<Rank> of_cell;
        const ChunkAssignment assignment = assign_chunks(chunks, work, ranks, method);
        for (const std::uint32_t chunk : chunks.of_node) of_cell.push_back(assignment.rank[chunk]);
        EXPECT_LE(sent_columns(nets, rank), sent_columns(nets, of_cell)) << seed << method << ranks;
      }
      const ChunkAssignment split = split_by_rank(tried.super, rank, tried.load, ranks, chunks);
      for (std::size_t cell = 0; cell < rank.size(); ++cell)
        ASSERT_EQ(split.rank[chunks.of_node[cell]], rank[cell]) << "a chunk lies on one rank";
      EXPECT_EQ(std::accumulate(chunks.cells.begin(), chunks.cells.end(), std::int64_t{0}), tried.super.nodes());
    }
  }
}

TEST(CellAssignment, DearRoundsLeaveTimelinesWhole) {
  const Tried tried(4, 60, 12, 0);
  const ChunkGraph chunks = tried.chunks(12);
  const std::vector<double> work =
      chunk_workloads(tried.graph, tried.super, chunks, {tried.layers, true}, "cost_model");
  const auto assigned = [&](double price) {
    return assign_cells({tried.graph, tried.super, {tried.layers}, tried.load, 4, 1, price}, chunks, work, "refined");
  };
  const auto cost = [&](const GrowingColumn<Rank>& rank, double price) {
    return static_cast<double>(sent_columns(tried.nets(), rank)) +
           price * static_cast<double>(rounds_of(tried.super, tried.layers, rank) - 1);
  };
  const GrowingColumn<Rank> free_of_charge = assigned(0);
  for (const double price : {1e1, 1e2, 1e3, 1e9}) {
    const GrowingColumn<Rank> rank = assigned(price);
    EXPECT_LE(cost(rank, price), cost(free_of_charge, price)) << price;
    EXPECT_LE(rounds_of(tried.super, tried.layers, rank), rounds_of(tried.super, tried.layers, free_of_charge))
        << price;
  }
  if (has_metis()) {
    EXPECT_EQ(rounds_of(tried.super, tried.layers, assigned(1e9)), 1);
  }
}

TEST(CellBlocks, AreRunsOfStepsOfEverySequence) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Tried tried(seed, 10, 8, 0);
    for (const std::int64_t windows : {1, 2, 3, 8}) {
      const CellBlocks blocks = windows_of_sequences(tried.super, 8, tried.load, windows);
      const std::vector<std::set<bool>> cut = test::cuts_of_steps(tried.super, blocks, 8);
      for (const std::set<bool>& at_step : cut)
        EXPECT_LE(at_step.size(), 1u) << "all sequences are cut at a step, or none";
      EXPECT_LE(std::count(cut.begin(), cut.end(), std::set<bool>{true}), windows - 1);
      if (windows == 8) {
        EXPECT_EQ(std::count(cut.begin(), cut.end(), std::set<bool>{false}), 0) << "a window for each step";
      }
      if (!has_metis()) continue;
      const GrowingColumn<Rank> rank = cut_by_metis(tried.super, blocks, tried.load, 3, seed);
      EXPECT_LE(rounds_of(tried.super, tried.layers, rank), windows);
      EXPECT_EQ(std::set<Rank>(rank.begin(), rank.end()).size(), 3u);
    }
  }
}

}  // namespace
}  // namespace strobe
