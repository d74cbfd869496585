// Cells assigned to ranks one by one: what the hypergraph counts is what plans send, moves gain what it says, and
// refinement keeps its limits, never sends more than its start, and finds the best cut of tiny graphs.
#include "harness/placement/chunks/assign/cell_assignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "core/registry_names.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/placement/chunks/assign/cell_blocks.hpp"
#include "harness/placement/chunks/assign/net_ranks.hpp"
#include "harness/placement/chunks/assign/rank_refinement.hpp"
#include "harness/placement/chunks/cell_placement.hpp"
#include "harness/placement/chunks/chunk_workload.hpp"
#include "harness/placement/chunks/label_propagation.hpp"
#include "harness/request/case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/harness/placement/random_cells.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

/// Layers of every temporal need, and neighbours of two layers.
std::vector<std::vector<LayerShape>> kinds_of_layers() {
  LayerShape state{3, 6, 6, true, TemporalNeed::recurrent}, restarting = state;
  state.recurrent_state = {2, 6};
  restarting.recurrent_state = {1, 5}, restarting.reset_every = 3;
  const LayerShape window{6, 4, 4, true, TemporalNeed::window, 3}, attention{4, 5, 5, false, TemporalNeed::all};
  return {{state}, {restarting}, {window}, {attention}, {state, window, attention}, {LayerShape{2, 3, 3, true}}};
}

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

std::vector<Rank> random_ranks(std::mt19937& draw, std::size_t count, int ranks) {
  std::vector<Rank> rank;
  for (std::size_t i = 0; i < count; ++i)
    rank.push_back(i < static_cast<std::size_t>(ranks) ? static_cast<Rank>(i) : static_cast<Rank>(draw() % ranks));
  return rank;
}

struct Tried {
  PreparedGraph graph;
  std::vector<LayerShape> layers;
  SuperGraph super;
  std::vector<double> load;
  Tried(unsigned seed, std::int64_t vertices, std::int64_t steps, std::size_t kind)
      : graph(test::random_cells(seed, vertices, steps, 2.0, seed % 2 == 0)),
        layers(kinds_of_layers()[kind]),
        super(super_graph(graph, traffic_weights(layers, false, "traffic"))),
        load(cell_workloads(graph, super, {layers, true}, "cost_model")) {}
  ChunkGraph chunks(std::int64_t most) const {
    SuperGraph spent = super;
    return chunk_graph(super, propagate_labels(spent, most, 9, 1).label);
  }
  CellNets nets() const { return cell_nets(graph, super, {layers}, load); }
};

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
      const auto plan = lay_out(c, StrategyPlan{placement, placement, even_blocks(graph.steps, 1), {}, {}});
      const CellNets nets = cell_nets(graph, super, {c.model.layers, &c.data.supports, &c.data.samples->train},
                                      std::vector<double>(rank.size(), 1));
      const auto sent = static_cast<std::uint64_t>(sent_columns(nets, rank)) * sizeof(double);
      EXPECT_EQ(plan->planned_bytes[Traffic::halo] + plan->planned_bytes[Traffic::state] - bytes_of_sums(*plan), sent)
          << model << " " << presence;
    }
  }
  EXPECT_GE(seed, 8u);
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
    // One level of pairs of pairs, whose nets have multiplicities above one.
    std::vector<std::uint32_t> pair;
    const std::uint32_t pairs = pair_nodes(merged, of_group, 1e300, seed, pair);
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
  int best = 0, tried_graphs = 0;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    const Tried tried(2 * seed + 1, 4, 3, seed % kinds_of_layers().size());  // 12 cells
    const CellNets nets = tried.nets();
    const ChunkGraph chunks = tried.chunks(2);
    const std::vector<double> work =
        chunk_workloads(tried.graph, tried.super, chunks, {tried.layers, true}, "cost_model");
    const std::vector<Rank> rank =
        assign_cells({tried.graph, tried.super, {tried.layers}, tried.load, 2, 1, 0}, chunks, work, "refined");
    const std::vector<double> load = load_of_ranks(nets, rank, 2);
    const double most = std::max(load[0], load[1]);
    const std::int64_t least = least_of_all(nets, most * (1 + 1e-9)), sent = sent_columns(nets, rank);
    EXPECT_GE(sent, least);
    best += sent == least ? 1 : 0, ++tried_graphs;
  }
  EXPECT_GE(best, tried_graphs * 2 / 3) << "of " << tried_graphs;
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
      const std::vector<Rank> rank = assign_cells(cells, chunks, work, "refined");
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
  const auto cost = [&](const std::vector<Rank>& rank, double price) {
    return static_cast<double>(sent_columns(tried.nets(), rank)) +
           price * static_cast<double>(rounds_of(tried.super, rank) - 1);
  };
  const std::vector<Rank> free_of_charge = assigned(0);
  for (const double price : {1e1, 1e2, 1e3, 1e9}) {
    const std::vector<Rank> rank = assigned(price);
    EXPECT_LE(cost(rank, price), cost(free_of_charge, price)) << price;
    EXPECT_LE(rounds_of(tried.super, rank), rounds_of(tried.super, free_of_charge)) << price;
  }
  EXPECT_EQ(rounds_of(tried.super, assigned(1e9)), has_metis() ? 1 : rounds_of(tried.super, assigned(1e9)));
}

TEST(CellBlocks, AreRunsOfStepsOfEverySequence) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Tried tried(seed, 10, 8, 0);
    for (const std::int64_t windows : {1, 2, 3, 8}) {
      const CellBlocks blocks = windows_of_sequences(tried.super, 8, tried.load, windows);
      for (const NodeSequence& sequence : tried.super.sequences) {
        std::set<std::uint32_t> met(blocks.of_cell.begin() + sequence.first, blocks.of_cell.begin() + sequence.end());
        EXPECT_LE(static_cast<std::int64_t>(met.size()), windows);
        EXPECT_EQ(windows == 1, windows == 1 && met.size() == 1u);
      }
      if (!has_metis()) continue;
      const std::vector<Rank> rank = cut_by_metis(tried.super, blocks, tried.load, 3, seed);
      EXPECT_LE(rounds_of(tried.super, rank), windows);
      EXPECT_EQ(std::set<Rank>(rank.begin(), rank.end()).size(), 3u);
    }
  }
}

}  // namespace
}  // namespace strobe
