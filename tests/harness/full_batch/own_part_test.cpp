// The part of a plan that a rank keeps: it trains the same, and it does not grow with other ranks' parts of the graph.
#include "harness/full_batch/plan/own_part.hpp"

#include <gtest/gtest.h>

#include "harness/full_batch/plan/host_parts.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "tests/harness/full_batch/own_part.hpp"
#include "tests/harness/full_batch/small_plan.hpp"

namespace strobe {
namespace {

constexpr std::int64_t part_steps = 6, part_width = 2;
constexpr VertexId bridge = 5;  // vertices of the second community that the first one reads

/// Two communities of vertices: the first `size` ones, and `others`. The cells that the first one reads depend on
/// `size` alone.
struct Communities {
  std::int64_t size = 0, others = 0;
  std::int64_t vertices() const { return size + others; }
};

PreparedGraph graph_of(const Communities& of, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  PreparedGraph graph;
  graph.vertices = of.vertices(), graph.steps = part_steps, graph.feature_width = part_width;
  graph.row_offsets = {0};
  for (std::int64_t t = 0; t < part_steps; ++t) {
    for (std::int64_t v = 0; v < of.vertices(); ++v) {
      const bool second = v >= of.size;
      const std::int64_t first = second ? of.size : 0, last = second ? of.vertices() : of.size + bridge;
      const std::uint64_t draw = static_cast<std::uint64_t>(t * 100'000 + v) * 8;
      std::set<VertexId> columns;
      for (std::uint64_t k = 0; k < 4; ++k)
        columns.insert(static_cast<VertexId>(
            first + static_cast<std::int64_t>(random.below(draw + k, static_cast<std::uint64_t>(last - first)))));
      for (const VertexId column : columns) {
        graph.columns.push_back(column);
        graph.values64.push_back(random.uniform(draw + 5));
      }
      graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
      for (std::uint64_t k = 6; k < 8; ++k) graph.features64.push_back(random.uniform(draw + k) - 0.5);
    }
  }
  return graph;
}

TaskData samples_of(const Communities& of) {
  TaskData data;
  data.steps = part_steps;
  for (Step t = 0; t < part_steps; ++t) {
    for (VertexId v = 0; v < static_cast<VertexId>(of.vertices()); ++v) {
      Samples& part = t + 2 < part_steps ? data.train : data.test;
      if ((t + v) % 3 == 0) continue;
      part.vertices.push_back(v);
      part.step.push_back(t);
      part.label.push_back((t + 2 * v) % 2);
    }
  }
  return data;
}

/// Random chunks of the cells of each rank, which are walked one by one.
std::shared_ptr<const PlacedChunks> chunks_of(const std::vector<Rank>& owner, int ranks, std::uint64_t seed) {
  constexpr std::uint64_t of_rank = 4;
  const RandomStream random(seed, random_purpose::test);
  auto chunks = std::make_shared<PlacedChunks>();
  std::vector<std::int64_t> cells(of_rank * static_cast<std::size_t>(ranks), 0);
  for (std::size_t cell = 0; cell < owner.size() * part_steps; ++cell) {
    const auto first = static_cast<std::uint32_t>(owner[cell / part_steps]) * of_rank;
    chunks->of_cell.push_back(static_cast<std::uint32_t>(first + random.below(cell, of_rank)));
    ++cells[chunks->of_cell.back()];
  }
  for (std::size_t chunk = 0; chunk < cells.size(); ++chunk) chunks->rank.push_back(static_cast<Rank>(chunk / of_rank));
  chunks->cells = std::move(cells);
  chunks->load.assign(static_cast<std::size_t>(ranks), 1.0);
  chunks->fusion = "none";
  return chunks;
}

/// How a test's ranks share the two stages out.
enum class Division : std::uint8_t { by_vertex, by_step, by_chunk };

/// Both stages by vertex, or the temporal stage by vertex and the spatial one by step, or both by vertex in chunks.
std::shared_ptr<FullBatchPlan> plan_of(const Communities& of, std::uint64_t seed, const std::vector<Rank>& owner,
                                       int ranks, Division division, std::int64_t blocks = 1) {
  Case request;
  request.precision = "fp64";
  request.ranks = ranks;
  request.seed = static_cast<std::int64_t>(seed);
  request.optimizer = {{"name", "sgd"}, {"rate", 0.5}};
  request.model = {{"name", "means"}};
  FullBatchOptions options;
  options.blocks = blocks;
  options.transfer = "direct";
  DataPlan data;
  data.graph = std::make_shared<const PreparedGraph>(graph_of(of, seed));
  data.samples = std::make_shared<const TaskData>(samples_of(of));
  data.trained_steps = part_steps - 2;
  ModelPlan model = plan_model(
      request, {std::make_shared<const test::MeansModel>(), std::make_shared<const test::LogitsTask>(), true},
      part_width);
  const Placement temporal = by_vertex(owner, part_steps, ranks);
  const std::vector<Run> runs = even_blocks(part_steps, blocks);
  const Placement spatial =
      division == Division::by_step ? by_time(of.vertices(), step_owners(runs, ranks), ranks) : temporal;
  return lay_out(
      FullBatchCase{request, PlanUse::run, options, std::move(data), std::move(model)},
      StrategyPlan{
          spatial, temporal, runs, {}, {}, division == Division::by_chunk ? chunks_of(owner, ranks, seed) : nullptr});
}

std::vector<Rank> random_owners(std::int64_t vertices, int ranks, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  std::vector<Rank> owner;
  for (std::int64_t v = 0; v < vertices; ++v)
    owner.push_back(static_cast<Rank>(random.below(static_cast<std::uint64_t>(v), static_cast<std::uint64_t>(ranks))));
  return owner;
}

TEST(OwnPart, TrainsToTheSameBits) {
  const test::TemporaryFolder folder;
  const auto store = test::store_in(folder);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const int ranks : {1, 2, 3}) {
      for (const Division division : {Division::by_vertex, Division::by_step, Division::by_chunk}) {
        for (const std::int64_t blocks : {1, 2}) {
          if (division == Division::by_chunk && blocks > 1) continue;  // chunks reach over blocks
          const Communities of{20, 12};
          const std::vector<Rank> owner = random_owners(of.vertices(), ranks, seed);
          const std::vector<std::shared_ptr<const FullBatchPlan>> whole(
              static_cast<std::size_t>(ranks), plan_of(of, seed, owner, ranks, division, blocks));
          std::vector<std::shared_ptr<const FullBatchPlan>> own;
          for (Rank r = 0; r < ranks; ++r) {
            const auto plan = plan_of(of, seed, owner, ranks, division, blocks);
            keep_own_part(*plan, r, r == 0 ? nullptr : store.get());
            own.push_back(plan);
          }
          EXPECT_EQ(test::trained(own), test::trained(whole))
              << seed << ' ' << ranks << static_cast<int>(division) << blocks;
        }
      }
    }
  }
}

/// Host memory of rank 0's plan next to graph and samples, which are mapped files where ranks are processes.
HostBytes kept(const Communities& of, std::uint64_t seed, const NodeStore* store, Division division, bool whole) {
  std::vector<Rank> owner(static_cast<std::size_t>(of.vertices()), 1);
  std::fill_n(owner.begin(), of.size, 0);
  const auto plan = plan_of(of, seed, owner, 2, division);
  if (!whole) keep_own_part(*plan, 0, store);
  HostBytes parts = host_parts(*plan);
  const HostBytes data = bytes_of_parts(*plan->data.graph);
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] -= data[i];
  for (const Samples* some : {&plan->data.samples->train, &plan->data.samples->test})
    parts[MemoryPart::samples] -= bytes_of(*some);
  return parts;
}

TEST(OwnPart, DoesNotGrowWithVerticesOfOtherRanks) {
  const test::TemporaryFolder folder;
  const auto store = test::store_in(folder);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const Division division : {Division::by_vertex, Division::by_chunk}) {
      const Communities small{100, 200}, large{100, 400};
      const HostBytes before = kept(small, seed, store.get(), division, false);
      EXPECT_EQ(before, kept(large, seed, store.get(), division, false)) << seed;
      EXPECT_GT(before[MemoryPart::buffers], 0u);
      EXPECT_GT(before[MemoryPart::samples], 0u);
      const HostBytes whole_small = kept(small, seed, nullptr, division, true),
                      whole_large = kept(large, seed, nullptr, division, true);
      for (const MemoryPart part : {MemoryPart::graph, MemoryPart::samples})
        EXPECT_GT(whole_large[part], whole_small[part]) << "the whole plan grows: " << memory_part_names[part];
    }
  }
}

}  // namespace
}  // namespace strobe
