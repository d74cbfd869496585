// Chunks and their assignment: traffic between chunks, compared with brute force; Algorithm 1, with the hand-computed
// examples of decisions 4.2; workloads, compared with counts.
#include "harness/placement/chunks/chunk_assignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "harness/placement/chunks/chunk_merging.hpp"
#include "harness/placement/chunks/chunk_workload.hpp"
#include "harness/placement/chunks/label_propagation.hpp"
#include "harness/placement/chunks/seeded_order.hpp"
#include "tests/harness/placement/random_cells.hpp"

namespace strobe {
namespace {

/// Chunks without a graph's cells: only the traffic h of each pair that shares an edge.
ChunkGraph chunks_with(std::size_t count, const std::map<std::pair<int, int>, std::int64_t>& traffic) {
  ChunkGraph chunks;
  chunks.cells.assign(count, 1);
  chunks.offsets.push_back(0);
  for (int a = 0; a < static_cast<int>(count); ++a) {
    for (int b = 0; b < static_cast<int>(count); ++b) {
      const auto found = traffic.find({std::min(a, b), std::max(a, b)});
      if (a == b || found == traffic.end()) continue;
      chunks.neighbours.push_back(static_cast<std::uint32_t>(b));
      chunks.traffic.push_back(found->second);
    }
    chunks.offsets.push_back(static_cast<std::int64_t>(chunks.neighbours.size()));
  }
  return chunks;
}

using Ranks = std::vector<Rank>;
using Loads = std::vector<double>;
const std::vector<double> six = {6, 5, 4, 3, 2, 1};

TEST(ChunkAssignment, FillsOneRankAfterTheOtherAlongAChain) {
  const ChunkGraph chain = chunks_with(6, {{{0, 1}, 1}, {{1, 2}, 1}, {{2, 3}, 1}, {{3, 4}, 1}, {{4, 5}, 1}});
  const ChunkAssignment assignment = assign_chunks(chain, six, 2, "score");
  EXPECT_EQ(assignment.rank, (Ranks{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(assignment.load, (Loads{11, 10}));
  EXPECT_EQ(cut_between(chain, assignment.rank), 1);
  EXPECT_DOUBLE_EQ(divergence(assignment.load), 1.1);
}

TEST(ChunkAssignment, TiesGoToTheRankWithMostRoom) {
  const ChunkAssignment assignment = assign_chunks(chunks_with(6, {}), six, 2, "score");
  EXPECT_EQ(assignment.load, (Loads{11, 10}));  // the first index would have taken all
  EXPECT_EQ(assignment.rank, (Ranks{0, 1, 1, 0, 0, 1}));
}

TEST(ChunkAssignment, ARankWithoutRoomLosesItsConnectedChunks) {
  // 5 and 3: the mean is 4, so the first rank's score for a connected chunk is (4 - 5) * 9 < 0.
  const ChunkGraph chunks = chunks_with(4, {{{0, 2}, 9}, {{0, 3}, 9}});
  EXPECT_EQ(assign_chunks(chunks, {5, 3, 0, 0}, 2, "score").rank, (Ranks{0, 1, 1, 1}));
}

TEST(ChunkAssignment, WithoutRoomAnywhereTheLeastLoadedRankIsTaken) {
  // Both ranks are at the mean of 4, so every score is 0, with or without connections.
  EXPECT_EQ(assign_chunks(chunks_with(3, {{{1, 2}, 9}}), {4, 4, 0}, 2, "score").rank, (Ranks{0, 1, 0}));
}

TEST(ChunkAssignment, ARankMayStayEmptyAndIsFilledOnRequest) {
  // Decisions G4b: loads 6, 3, 3, and the two 3s are connected. The printed score leaves the third rank empty.
  const ChunkGraph chunks = chunks_with(3, {{{1, 2}, 1}});
  EXPECT_EQ(assign_chunks(chunks, {6, 3, 3}, 3, "score").load, (Loads{6, 6, 0}));
  EXPECT_TRUE(std::isinf(divergence({6, 6, 0})));
  EXPECT_EQ(assign_chunks(chunks, {6, 3, 3}, 3, "score_then_fill").load, (Loads{6, 3, 3}));
  EXPECT_EQ(assign_chunks(chunks, {6, 3, 3}, 3, "lpt").load, (Loads{6, 3, 3}));
}

TEST(ChunkAssignment, FillingTakesTheLeastConnectedChunk) {
  // All four are connected. The mean of 10 / 3 spreads 4, 3, 2, 1 over three ranks, because they do not fit on the
  // first.
  const ChunkGraph chunks = chunks_with(4, {{{0, 1}, 9}, {{0, 2}, 5}, {{0, 3}, 1}, {{1, 2}, 5}, {{1, 3}, 1}});
  const ChunkAssignment filled = assign_chunks(chunks, {1, 1, 1, 1}, 2, "score_then_fill");
  const ChunkAssignment alone = assign_chunks(chunks, {1, 1, 1, 1}, 3, "score_then_fill");
  EXPECT_EQ(filled.load, (Loads{2, 2}));
  for (const double load : alone.load) EXPECT_GT(load, 0);
}

using PairTraffic = std::map<std::pair<int, int>, std::int64_t>;

/// Algorithm 1 as printed: chunks are sorted, and each is scored against every chunk placed so far.
Ranks assigned_by_words(const PairTraffic& traffic, const std::vector<double>& workload, int ranks) {
  std::vector<int> order(workload.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return workload[a] > workload[b]; });
  const double mean = std::accumulate(workload.begin(), workload.end(), 0.0) / ranks;
  Ranks rank(workload.size(), -1);
  Loads load(static_cast<std::size_t>(ranks), 0);
  for (const int a : order) {
    std::vector<std::tuple<double, double, int>> scores;
    const bool room = std::any_of(load.begin(), load.end(), [mean](double of) { return of < mean; });
    for (int m = 0; m < ranks; ++m) {
      double shared = 0;
      for (const auto& [pair, weight] : traffic) {
        const int other = pair.first == a ? pair.second : pair.second == a ? pair.first : -1;
        if (other >= 0 && rank[other] == m) shared += static_cast<double>(weight);
      }
      const double left = mean - load[m];
      scores.emplace_back(room ? left * shared : left, left, -m);
    }
    const int best = -std::get<2>(*std::max_element(scores.begin(), scores.end()));
    rank[a] = best;
    load[best] += workload[a];
  }
  return rank;
}

TEST(ChunkAssignment, RandomWorkloadsGoWhereThePrintedRuleSends) {
  std::mt19937 draw(5);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 5 + draw() % 20;
    const int ranks = 2 + static_cast<int>(draw() % 4);
    PairTraffic traffic;
    for (std::size_t i = 0; i < 2 * count; ++i) {
      const int a = static_cast<int>(draw() % count), b = static_cast<int>(draw() % count);
      if (a < b) traffic[{a, b}] = 1 + draw() % 9;
    }
    std::vector<double> workload;
    for (std::size_t c = 0; c < count; ++c) workload.push_back(static_cast<double>(1 + draw() % 12));
    EXPECT_EQ(assign_chunks(chunks_with(count, traffic), workload, ranks, "score").rank,
              assigned_by_words(traffic, workload, ranks))
        << round;
  }
}

using Shared = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;

/// The traffic between each two chunks, added up edge by edge, in both directions.
Shared plain_shared(const PreparedGraph& graph, const TrafficWeights& weights, const ChunkGraph& chunks) {
  std::map<test::Cell, std::uint32_t> chunk_of;
  const std::vector<test::Cell> cells = test::cells_in_order(graph);
  for (std::size_t i = 0; i < cells.size(); ++i) chunk_of[cells[i]] = chunks.of_node[i];
  Shared shared;
  for (const auto& [a, b, weight] : test::plain_edges(graph, weights)) {
    const std::uint32_t of_a = chunk_of.at(a), of_b = chunk_of.at(b);
    if (of_a == of_b) continue;
    shared[{of_a, of_b}] += weight;
    shared[{of_b, of_a}] += weight;
  }
  return shared;
}

void expect_plain(const PreparedGraph& graph, const TrafficWeights& weights, const ChunkGraph& chunks) {
  Shared counted;
  std::vector<std::int64_t> cells(chunks.cells.size(), 0);
  for (const std::uint32_t chunk : chunks.of_node) ++cells.at(chunk);
  EXPECT_EQ(cells, chunks.cells);
  for (std::uint32_t c = 0; c < chunks.cells.size(); ++c) {
    for (auto e = chunks.offsets[c]; e < chunks.offsets[c + 1]; ++e)
      counted[{c, chunks.neighbours[e]}] = chunks.traffic[e];
  }
  const Shared expected = plain_shared(graph, weights, chunks);
  EXPECT_EQ(counted, expected);
  std::int64_t cut = 0;
  for (const auto& [pair, weight] : expected) cut += pair.first < pair.second ? weight : 0;
  EXPECT_EQ(cut_between_chunks(chunks), cut);
  std::vector<Rank> part;
  for (std::uint32_t c = 0; c < chunks.cells.size(); ++c) part.push_back(static_cast<Rank>(c % 3));
  std::int64_t between = 0;
  for (const auto& [pair, weight] : expected)
    between += pair.first < pair.second && part[pair.first] != part[pair.second] ? weight : 0;
  EXPECT_EQ(cut_between(chunks, part), between);
}

TEST(ChunkGraphs, CountEveryEdgeBetweenChunks) {
  unsigned seed = 0;
  for (const TrafficWeights& weights : test::kinds_of_weights()) {
    ++seed;
    const PreparedGraph graph = test::random_cells(seed, 9, 7, 2.0, seed % 2 == 0);
    SuperGraph super = super_graph(graph, weights);
    const Column<std::uint32_t> labels = propagate_labels(super, 1 + seed % 6, 1 + seed % 3, seed).label;
    const ChunkGraph chunks = chunk_graph(super, labels);
    expect_plain(graph, weights, chunks);
    std::map<std::uint32_t, std::uint32_t> chunk_of_label;
    for (std::size_t i = 0; i < labels.size(); ++i)
      EXPECT_EQ(chunk_of_label.try_emplace(labels[i], chunks.of_node[i]).first->second, chunks.of_node[i]);
    std::uint32_t next = 0;
    for (const auto& [label, chunk] : chunk_of_label) EXPECT_EQ(chunk, next++);
  }
}

/// Merges one level by the plain rule, without the chunks' own lists: labels of chunks follow their shared weights.
std::vector<std::uint32_t> plainly_merged(const Shared& shared, const std::vector<std::int64_t>& cells,
                                          std::int64_t max_cells, std::uint64_t seed) {
  std::vector<std::uint32_t> label(cells.size());
  std::iota(label.begin(), label.end(), 0u);
  for (int round = 0, moved = 1; round < 30 && moved > 0; ++round) {
    moved = 0;
    for (const std::uint32_t c : seeded_order(cells.size(), seed, 1)) {
      std::map<std::uint32_t, std::int64_t> weight{{label[c], 0}}, held;
      for (std::size_t i = 0; i < cells.size(); ++i) held[label[i]] += cells[i];
      for (const auto& [pair, of_pair] : shared) weight[label[pair.second]] += pair.first == c ? of_pair : 0;
      std::uint32_t best = label[c];
      for (const auto& [other, sum] : weight) {
        const bool fits = other == label[c] || held[other] + cells[c] <= max_cells;
        if (fits && sum > weight.at(best)) best = other;
      }
      moved += best != label[c] ? 1 : 0;
      label[c] = best;
    }
  }
  return label;
}

TEST(ChunkMerging, IsThePlainRuleOnTheGraphOfChunks) {
  const std::vector<TrafficWeights> kinds = test::kinds_of_weights();
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const TrafficWeights& weights = kinds[seed % kinds.size()];
    const PreparedGraph graph = test::random_cells(seed, 12, 8, 1.5, seed % 2 == 0);
    for (const std::int64_t cap : {2, 5, 11, 40}) {
      SuperGraph super = super_graph(graph, weights);
      ChunkGraph chunks = chunk_graph(super, propagate_labels(super, cap, 1, seed).label);
      const std::vector<std::uint32_t> labels =
          plainly_merged(plain_shared(graph, weights, chunks), chunks.cells.copy(), cap, seed);
      ChunkGraph once = chunks, often = chunks;
      merge_chunks(once, cap, 1, 30, seed);
      for (std::size_t i = 0; i < once.of_node.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j)
          ASSERT_EQ(once.of_node[i] == once.of_node[j], labels[chunks.of_node[i]] == labels[chunks.of_node[j]]);
      }
      expect_plain(graph, weights, once);
      merge_chunks(often, cap, 20, 30, seed);
      expect_plain(graph, weights, often);
      EXPECT_LE(*std::max_element(often.cells.begin(), often.cells.end()), cap);
      EXPECT_LE(cut_between_chunks(often), cut_between_chunks(once));
      EXPECT_LE(cut_between_chunks(once), cut_between_chunks(chunks));
    }
  }
}

TEST(ChunkWorkloads, AreCountsOrUnitSeconds) {
  LayerShape recurrent{3, 6, 6, true, TemporalNeed::recurrent}, window{6, 4, 4, true, TemporalNeed::window, 3};
  recurrent.recurrent_state = {2, 6};
  const LayerShape attention{4, 5, 5, false, TemporalNeed::all};
  const std::vector<LayerShape> layers = {recurrent, window, attention};
  const PreparedGraph graph = test::random_cells(3, 8, 6, 2.0, true);
  SuperGraph super = super_graph(graph, traffic_weights(layers, false, "traffic"));
  const ChunkGraph chunks = chunk_graph(super, propagate_labels(super, 4, 9, 1).label);
  const UnitSeconds unit = unit_seconds(layers, true);
  std::vector<double> cells(chunks.cells.size(), 0), edges = cells, seconds = cells;
  const std::vector<test::Cell> in_order = test::cells_in_order(graph);
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const auto [v, t] = in_order[i];
    const auto row = static_cast<std::size_t>(t * graph.vertices + v), c = std::size_t{chunks.of_node[i]};
    const double entries = graph.row_offsets[row + 1] - graph.row_offsets[row];
    const int earlier = t - graph.presence->begin(v, t) + 1;
    cells[c] += 1;
    edges[c] += entries;  // each row has its self-loop, which is the cell rather than an edge
    seconds[c] +=
        unit.cell + unit.entry * entries + unit.earlier_cell[1] * std::min(3, earlier) + unit.earlier_cell[2] * earlier;
  }
  EXPECT_EQ(chunk_workloads(graph, super, chunks, {layers, true}, "cells"), cells);
  EXPECT_EQ(chunk_workloads(graph, super, chunks, {layers, true}, "edges"), edges);
  const std::vector<double> modelled = chunk_workloads(graph, super, chunks, {layers, true}, "cost_model");
  for (std::size_t c = 0; c < seconds.size(); ++c) EXPECT_NEAR(modelled[c] / seconds[c], 1, 1e-12);
}

TEST(ChunkWorkloads, UnitsFollowTheRoofline) {
  // One convolution of width 4 to 2, fp32, at 1 flop and 1 byte a second. An entry: 8 flops, 4 values, its own value
  // and index, 24 bytes, twice. A cell: its sum's row written twice (16 bytes each), the dense stage thrice, 16 flops
  // or 24 bytes.
  const LayerShape layer{4, 2, 2, true, TemporalNeed::none};
  const UnitSeconds bytes = unit_seconds({layer}, false, {1e9, 1e9, 1});
  EXPECT_DOUBLE_EQ(bytes.entry, 2 * 24);
  EXPECT_DOUBLE_EQ(bytes.cell, 2 * 16 + 3 * 24);
  const UnitSeconds flops = unit_seconds({layer}, false, {1, 1, 1e9});
  EXPECT_DOUBLE_EQ(flops.entry, 2 * 8);
  EXPECT_NEAR(flops.cell, 3 * 16, 1e-6);
}

TEST(ChunkWorkloads, UnitsCountTheArithmeticOfEveryStage) {
  // At one flop a second and memory that takes no time.
  const auto units = [](const LayerShape& layer) { return unit_seconds({layer}, false, {1, 1, 1e12}); };
  LayerShape layer{4, 6, 6, true, TemporalNeed::none};
  const double plain = units(layer).cell;
  EXPECT_EQ(units(layer).earlier_cell, (std::vector<double>{0}));
  layer.need = TemporalNeed::recurrent;
  // Three passes over products of each gate with the input and the state, of 6 columns each.
  for (const auto& [rows, gates] : {std::pair{1, 3}, {2, 4}}) {
    layer.recurrent_state = {rows, 6};
    EXPECT_NEAR(units(layer).cell - plain, 3 * 2 * gates * 6 * (6 + 6), 1e-6) << gates << " gates";
    EXPECT_EQ(units(layer).earlier_cell, (std::vector<double>{0}));
  }
  layer.recurrent_state = {4, 6};  // a second LSTM reads the first one's state
  EXPECT_NEAR(units(layer).cell - plain, 3 * 2 * 4 * 6 * (12 + 12), 1e-6);
  layer.need = TemporalNeed::window;
  EXPECT_NEAR(units(layer).cell, plain, 1e-6) << "a sum of rows is counted with the cells that it reads";
  EXPECT_NEAR(units(layer).earlier_cell.at(0), 2 * 2 * 6, 1e-6);
  LayerShape walked{9, 9, 4, false, TemporalNeed::none, 0, true};
  EXPECT_EQ(units(walked).entry, 0);
  walked.products = {{0, 4}, {1, 5}};
  EXPECT_NEAR(units(walked).entry, 2 * 2 * (4 + 5), 1e-6);
}

TEST(TrafficWeights, FollowFromTheLayers) {
  LayerShape first{2, 18, 18, false}, gates{18, 18, 6, true, TemporalNeed::recurrent};  // t-gcn: gates read 3 h columns
  gates.recurrent_state = {1, 6};
  const TrafficWeights traffic = traffic_weights({first, gates}, true, "traffic");
  EXPECT_EQ(traffic.spatial, 18);
  EXPECT_EQ(traffic.listed, (std::vector<TemporalTerm>{{1, 6, 0}}));
  const TrafficWeights profiled = traffic_weights({first, gates}, true, "profiled");
  EXPECT_EQ(profiled.spatial, 2);  // DGC: two GCN layers to one GRU
  EXPECT_EQ(profiled.listed, (std::vector<TemporalTerm>{{1, 1, 0}}));
  const TrafficWeights unit = traffic_weights({first, gates}, true, "unit");
  EXPECT_EQ(unit.spatial, 1);
  EXPECT_EQ(unit.listed, (std::vector<TemporalTerm>{{1, 1, 0}}));
  const TrafficWeights attention = traffic_weights({{2, 8, 8, true, TemporalNeed::all}}, false, "traffic");
  EXPECT_EQ(attention.spatial, 2);
  EXPECT_EQ(attention.whole_sequence, 8);
  EXPECT_EQ(traffic_weights({{2, 8, 8, true, TemporalNeed::all}}, false, "unit").whole_sequence, 1);
  EXPECT_EQ(unit.whole_sequence, 0);
  EXPECT_EQ(traffic_weights({gates, gates}, false, "traffic").listed, (std::vector<TemporalTerm>{{1, 12, 0}}));
  LayerShape stacked{6, 12, 6, true, TemporalNeed::recurrent};
  stacked.recurrent_state = {4, 6}, stacked.reset_every = 3;
  EXPECT_EQ(traffic_weights({stacked}, false, "traffic").listed, (std::vector<TemporalTerm>{{1, 24, 3}}));
  EXPECT_EQ(traffic_weights({stacked}, false, "profiled").listed, (std::vector<TemporalTerm>{{1, 2, 3}}));
  LayerShape walked{9, 9, 4, false, TemporalNeed::recurrent, 0, true};
  walked.recurrent_state = {1, 4}, walked.products = {{0, 4}, {1, 4}, {0, 4}};
  EXPECT_EQ(traffic_weights({walked}, false, "traffic").spatial, 12);
  const TrafficWeights windows = traffic_weights({{6, 6, 6, false, TemporalNeed::window, 5}}, true, "traffic");
  EXPECT_EQ(windows.listed, (std::vector<TemporalTerm>{{4, 6, 0}}));
  EXPECT_FALSE(traffic_weights({{6, 6, 6, true, TemporalNeed::weights_only}}, true, "traffic").has_temporal());
}

}  // namespace
}  // namespace strobe
