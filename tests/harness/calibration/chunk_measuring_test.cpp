// Chunks cut at random, their sizes, and their measurements. A chunk alone issues the same operations as a rank that
// owns it in training, and each operation counts for its stage.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "harness/calibration/chunks/chunk_plan.hpp"
#include "harness/calibration/chunks/chunk_times.hpp"
#include "harness/calibration/chunks/random_chunks.hpp"
#include "harness/placement/chunks/learned/learned_workload.hpp"
#include "tests/harness/placement/random_cells.hpp"

namespace strobe {
namespace {

constexpr std::uint32_t growth = 7;

/// Whether a chunk is connected, by the plain list of edges.
bool hangs_together(const std::vector<test::Cell>& cells, const std::vector<test::PlainEdge>& edges) {
  std::set<test::Cell> all(cells.begin(), cells.end()), reached{cells.front()};
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [a, b, weight] : edges) {
      if (all.count(a) == 0 || all.count(b) == 0 || reached.count(a) == reached.count(b)) continue;
      reached.insert(a), reached.insert(b);
      grew = true;
    }
  }
  return reached.size() == all.size();
}

TEST(RandomChunks, AreDistinctCellsThatHangTogether) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    // Every cell can be reached: all exist, and each has neighbours besides itself.
    const PreparedGraph graph = test::random_cells(seed, 12, 6, 4.0, false);
    const TrafficWeights weights{1, {{1, 1, 0}}, 0};
    const SuperGraph super = super_graph(graph, weights);
    const std::vector<test::PlainEdge> edges = test::plain_edges(graph, weights);
    const std::vector<test::Cell> in_order = test::cells_in_order(graph);
    ChunkGrower grower(super);
    for (const std::int64_t cells : {1, 2, 9, 30, 72, 500}) {
      for (const double share : {0.0, 0.5, 1.0}) {
        const RandomStream random(seed, growth, static_cast<std::uint32_t>(cells));
        const std::vector<NodeId> nodes = grower.grow({cells, share}, random);
        ASSERT_EQ(static_cast<std::int64_t>(nodes.size()), std::min<std::int64_t>(cells, 72));
        EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end()));
        EXPECT_EQ(std::adjacent_find(nodes.begin(), nodes.end()), nodes.end());
        std::vector<test::Cell> chunk;
        for (const NodeId node : nodes) chunk.push_back(in_order[node]);
        EXPECT_TRUE(hangs_together(chunk, edges)) << seed << " " << cells << " " << share;
        EXPECT_EQ(ChunkGrower(super).grow({cells, share}, random), nodes) << "the seed decides alone";
      }
    }
  }
}

TEST(RandomChunks, GrowAlongTimeOrSpaceAsAsked) {
  const PreparedGraph graph = test::random_cells(5, 40, 40, 4.0, false);
  const SuperGraph super = super_graph(graph, {1, {{1, 1, 0}}, 0});
  const SizedCells sized(graph, super, false);
  ChunkGrower grower(super);
  const RandomStream random(1, growth);
  EXPECT_EQ(sized(grower.grow({40, 1.0}, random)).longest, 40) << "one whole timeline";
  EXPECT_EQ(sized(grower.grow({20, 0.0}, random)).longest, 1) << "cells of one step";
}

/// Sizes of chunk `c` by their definitions.
ChunkSizes plain_sizes(const PreparedGraph& graph, const std::map<test::Cell, std::uint32_t>& of_cell, std::uint32_t c,
                       bool from_beginning) {
  ChunkSizes sizes;
  double walks = 0, steps = 0;
  std::map<int, double> longest_of_round;
  for (const auto& [cell, chunk] : of_cell) {
    if (chunk != c) continue;
    const auto [v, t] = cell;
    const std::size_t row = t * graph.vertices + v;
    sizes.cells += 1, sizes.edges += static_cast<double>(graph.row_offsets[row + 1] - graph.row_offsets[row]);
    // A walk ends here when no later cell of the sequence, or of the run, is in the chunk.
    bool ends = true;
    for (Step later = t + 1; later < graph.steps && test::one_sequence(graph, v, t, later); ++later) {
      if (of_cell.at({v, later}) == c && (from_beginning || later == t + 1)) ends = false;
    }
    if (!ends) continue;
    Step begin = t;
    while (begin > 0 && test::one_sequence(graph, v, begin - 1, t) &&
           (from_beginning || of_cell.at({v, begin - 1}) == c))
      --begin;
    walks += 1, steps += t - begin + 1;
    int changes = 0;  // changes of owner before the run, if another rank owns all other cells
    for (Step earlier = begin; earlier > 0 && test::one_sequence(graph, v, earlier - 1, t); --earlier)
      changes += (of_cell.at({v, earlier - 1}) == c) != (of_cell.at({v, earlier}) == c) ? 1 : 0;
    double& longest = longest_of_round[from_beginning ? 0 : changes];
    longest = std::max<double>(longest, t - begin + 1);
    sizes.longest = std::max<double>(sizes.longest, t - begin + 1);
  }
  sizes.mean_length = steps / walks;
  for (const auto& [round, length] : longest_of_round) sizes.rounds += 1, sizes.walked += length;
  return sizes;
}

TEST(ChunkSizes, AreWhatCountingSays) {
  constexpr std::uint32_t chunks = 4;
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    const PreparedGraph graph = test::random_cells(seed, 9, 8, 2.0, seed % 2 == 0);
    const SuperGraph super = super_graph(graph, {1, {{1, 1, 0}}, 0});
    const std::vector<test::Cell> in_order = test::cells_in_order(graph);
    const RandomStream random(seed, growth);
    std::vector<std::uint32_t> of_node;
    std::map<test::Cell, std::uint32_t> of_cell;
    for (std::uint32_t i = 0; i < in_order.size(); ++i) {
      of_node.push_back(i < chunks ? i : static_cast<std::uint32_t>(random.below(i, chunks)));
      of_cell[in_order[i]] = of_node.back();
    }
    for (const bool from_beginning : {false, true}) {
      const std::vector<ChunkSizes> sizes = SizedCells(graph, super, from_beginning).of_chunks(of_node, chunks);
      for (std::uint32_t c = 0; c < chunks; ++c) {
        const ChunkSizes plain = plain_sizes(graph, of_cell, c, from_beginning);
        EXPECT_EQ(sizes[c].cells, plain.cells);
        EXPECT_EQ(sizes[c].edges, plain.edges);
        EXPECT_DOUBLE_EQ(sizes[c].mean_length, plain.mean_length);
        EXPECT_EQ(sizes[c].longest, plain.longest);
        EXPECT_EQ(sizes[c].rounds, plain.rounds);
        EXPECT_EQ(sizes[c].walked, plain.walked);
      }
    }
  }
}

Case simulated_case(const Json& model, const std::string& presence = "all") {
  return case_from_json({{"workload", {{"name", "uniform"}, {"vertices", 60}, {"steps", 9}, {"density", 2.0}}},
                         {"model", model},
                         {"device", "sim"},
                         {"comm", "sim"},
                         {"cluster", "aimos-v100"},
                         {"numerics", "none"},
                         {"presence", presence},
                         {"ranks", 2}},
                        "");
}

/// A random half of the graph's cells, and the plan of training in which rank 0 owns them.
struct HalfOfCells {
  explicit HalfOfCells(const Case& request)
      : whole(begin_full_batch(request, PlanUse::run)),
        super(super_graph(*whole.data.graph, {1, {{1, 1, 0}}, 0})),
        cells(*whole.data.graph, super, false),
        nodes(ChunkGrower(super).grow({super.nodes() / 2, 0.5}, RandomStream(3, growth))) {}

  std::shared_ptr<const FullBatchPlan> in_training() const {
    const std::int64_t vertices = whole.data.graph->vertices, steps = whole.data.graph->steps;
    std::vector<std::vector<Rank>> owner(steps, std::vector<Rank>(vertices, 1));
    for (const NodeId node : nodes) {
      const std::int64_t row = cells.rows()[node];
      owner[row / vertices][row % vertices] = 0;
    }
    Placement placement{2, vertices, {}, {}};
    for (std::int64_t t = 0; t < steps; ++t) {
      placement.maps.push_back(vertex_map(owner[t], 2));
      placement.map_of_step.push_back(static_cast<std::int32_t>(t));
    }
    return lay_out(whole, StrategyPlan{placement, placement, even_blocks(steps, 1), {}, {}});
  }

  FullBatchCase whole;
  SuperGraph super;
  SizedCells cells;
  std::vector<NodeId> nodes;
};

/// Floating-point operations by name; copies and fills have none.
std::map<std::string, double> flops_by_name(const std::vector<Span>& spans) {
  std::map<std::string, double> flops;
  for (const Span& span : spans) {
    if (span.stream == Stream::compute && span.work.flops > 0) flops[std::string(span.name)] += span.work.flops;
  }
  return flops;
}

TEST(LearnedWorkloads, OfARealDeviceServeThatDevice) {
  LearnedWorkload learned;
  learned.model = {{"name", "t-gcn"}};
  learned.device = "cpu", learned.precision = "fp32", learned.feature_width = {1, 9};
  WorkloadUse use{learned.model, "cpu", "", "fp32", 9};
  EXPECT_NO_THROW(check_learned(learned, use, "w.json"));
  learned.device = "sim";
  for (const char* device : {"cpu", "cuda"}) {
    use.device = device;
    try {
      check_learned(learned, use, "w.json");
      ADD_FAILURE() << "times of a simulation were taken for those of device " << device;
    } catch (const InvalidRequest& error) {
      const bool named = std::string(error.what()).find(" --device cuda`") != std::string::npos;
      EXPECT_EQ(named, use.device == "cuda") << "device cpu is the default: " << error.what();
    }
  }
}

TEST(ChunkTimes, AChunkAloneComputesWhatItsRankComputesInTraining) {
  for (const char* model : {"t-gcn", "dysat", "mpnn-lstm", "tm-gcn", "cd-gcn", "dcrnn"}) {
    for (const char* presence : {"all", "active"}) {
      const HalfOfCells half(simulated_case({{"name", model}}, presence));
      ChunkBench alone(half.whole.request), trained(half.whole.request);
      alone.measure(*plan_chunk_alone(half.whole, half.cells, half.nodes), 1);
      trained.measure(*half.in_training(), 1);
      const std::map<std::string, double> a = flops_by_name(alone.spans()), b = flops_by_name(trained.spans());
      ASSERT_GE(b.size(), 3u) << model;
      for (const auto& [name, flops] : b) {
        // In training, gradients from the other rank are added up. Only this work depends on the readers of a cell.
        if (name.find("scatter") != std::string::npos || name.find("add") != std::string::npos ||
            name.find("copy") != std::string::npos || name.find("gather") != std::string::npos)
          continue;
        ASSERT_EQ(a.count(name), 1u) << model << " " << presence << " " << name;
        EXPECT_NEAR(a.at(name) / flops, 1, 0.01) << model << " " << presence << " " << name;
      }
    }
  }
}

TEST(ChunkTimes, TellEachOperationToItsStage) {
  const HalfOfCells half(simulated_case({{"name", "t-gcn"}}));
  ChunkBench bench(half.whole.request);
  const StageSeconds seconds = bench.measure(*plan_chunk_alone(half.whole, half.cells, half.nodes), 1);
  double all = 0, fills = 0, recurrence = 0, products = 0;
  for (const Span& span : bench.spans()) {
    if (span.stream != Stream::compute) continue;
    const double took = span.end_seconds - span.begin_seconds;
    all += took;
    if (span.name == "fill") fills += took;
    if (span.name.find("gru") != std::string_view::npos) recurrence += took;
    if (span.name.find("spmm") != std::string_view::npos) products += took;
  }
  ASSERT_GT(recurrence, 0);
  ASSERT_GT(products, 0);
  EXPECT_GE(seconds.time, recurrence);
  EXPECT_GE(seconds.structure, products);
  EXPECT_LE(seconds.sum(), all);
  EXPECT_GE(seconds.sum(), all - fills);
  EXPECT_LT(seconds.time, all - products);
}

}  // namespace
}  // namespace strobe
