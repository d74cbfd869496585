// Samples of batches: every sample is in one batch of vertices that are shared out, its rows are the cells that it
// names.
#include "harness/batches/batch_samples.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "tests/harness/batches/random_batches.hpp"

namespace strobe {
namespace {

/// Samples of `arity` vertices in no order of steps; every fourth is ranked among the two behind it, whose first vertex
/// is another.
Samples drawn_samples(test::Draws& draw, int arity, int count, int vertices, int steps, bool ranked) {
  Samples samples;
  samples.arity = arity;
  for (int i = 0; i < count; ++i) {
    const bool candidate = ranked && i % 4 >= 1 && i % 4 <= 2;
    samples.step.push_back(candidate ? samples.step[static_cast<std::size_t>(i - i % 4)] : draw.below(steps));
    for (int k = 0; k < arity; ++k) samples.vertices.push_back(draw.below(vertices));
    samples.label.push_back(i % 3);
    samples.value.push_back(i / 8.0);
    samples.weight.push_back(1 + i % 2);
    if (ranked) samples.candidate_of.push_back(candidate ? i - i % 4 : -1);
  }
  return samples;
}

std::size_t first_of(const Samples& samples, std::size_t i) {
  const bool candidate = !samples.candidate_of.empty() && samples.candidate_of[i] >= 0;
  return candidate ? static_cast<std::size_t>(samples.candidate_of[i]) : i;
}

VertexId vertex(const Samples& samples, std::size_t i, int k) {
  return samples.vertices[i * static_cast<std::size_t>(samples.arity) + static_cast<std::size_t>(k)];
}

TEST(BatchSamples, AreThoseOfTheTargets) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    test::Draws draw(seed);
    const int vertices = 5 + draw.below(60), steps = 4;
    const Samples samples = drawn_samples(draw, 1 + draw.below(3), 80, vertices, steps + 2, seed % 2 == 0);
    const SampleIndex index = index_samples(samples, steps);
    for (const int count : {1, 2, vertices / 2, vertices}) {
      const std::vector<VertexId> targets = test::random_vertices(draw, count, vertices);
      const strobe::Run window{draw.below(2), 1 + draw.below(3)};
      std::vector<std::int64_t> judge;
      for (std::size_t i = 0; i < samples.step.size(); ++i) {
        const bool here = samples.step[i] >= window.first && samples.step[i] < window.first + window.count;
        if (here && std::binary_search(targets.begin(), targets.end(), vertex(samples, first_of(samples, i), 0)))
          judge.push_back(static_cast<std::int64_t>(i));
      }
      EXPECT_EQ(samples_of(index, targets, window), judge) << "seed " << seed << ", " << count << " targets";
    }
  }
}

TEST(BatchSamples, ReadTheCellsThatTheyName) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    test::Draws draw(seed);
    const SnapshotGraph graph = test::random_snapshots(draw, 50, 4, 1);
    const PreparedGraph prepared = prepare(graph, {}, 4, true);
    const Samples samples = drawn_samples(draw, 1 + draw.below(3), 300, 50, 4, seed % 2 == 0);
    const std::vector<VertexId> targets = test::random_vertices(draw, 6, 50);
    const strobe::Run window{draw.below(2), 1 + draw.below(3)};
    const auto chosen = samples_of(index_samples(samples, 4), targets, window);
    const BatchCells cells{targets, window, other_vertices(samples, chosen, targets, window)};
    const BatchSource source{&prepared, {}, {LayerReads{true, {}, LayerReads::all_earlier, 0}}, FrontierKind::exact};
    BatchScratch scratch(50);
    const BatchGraph batch = build_batch_graph(source, cells, scratch);
    const BatchSamples made = samples_in_batch(samples, chosen, batch);
    const auto width = static_cast<std::int64_t>(batch.frontier.field.size());
    ASSERT_EQ(made.local.index, chosen);
    std::vector<double> weight_of_step(static_cast<std::size_t>(window.count));
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      const auto i = static_cast<std::size_t>(chosen[n]);
      const std::int64_t t = samples.step[i] - window.first;
      const std::vector<std::int32_t> wanted = batch.frontier.steps[static_cast<std::size_t>(t)].computed_rows(0);
      for (int k = 0; k < samples.arity; ++k) {
        const std::int64_t row = made.local.rows[static_cast<std::size_t>(k)][n];
        EXPECT_EQ(row / width, t);
        EXPECT_EQ(batch.frontier.field[static_cast<std::size_t>(row % width)], vertex(samples, i, k));
        EXPECT_TRUE(std::binary_search(wanted.begin(), wanted.end(), static_cast<std::int32_t>(row % width)));
      }
      EXPECT_EQ(made.local.label[n], samples.label[i]);
      EXPECT_EQ(made.local.value[n], samples.value[i]);
      EXPECT_EQ(made.local.weight[n], samples.weight[i]);
      EXPECT_EQ(made.step_of_each[n], t);
      weight_of_step[static_cast<std::size_t>(t)] += samples.weight[i];
    }
    EXPECT_EQ(made.weight_of_step, weight_of_step);  // sums of small integers
    double total = 0;
    for (const double weight : weight_of_step) total += weight;
    EXPECT_EQ(made.total_weight, total);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(BatchSamples, OfSharedOutVerticesAreEachInOneBatch) {
  test::Draws draw(5);
  const Samples samples = drawn_samples(draw, 2, 500, 40, 6, true);
  const SampleIndex index = index_samples(samples, 6);
  std::vector<int> times(500);
  for (const strobe::Run window : {strobe::Run{0, 2}, strobe::Run{2, 1}, strobe::Run{3, 3}}) {
    for (int rank = 0; rank < 3; ++rank) {
      std::vector<VertexId> owned;
      for (VertexId v = rank; v < 40; v += 3) owned.push_back(v);
      for (const std::int64_t i : samples_of(index, owned, window)) ++times[static_cast<std::size_t>(i)];
    }
  }
  EXPECT_EQ(times, std::vector<int>(500, 1));
}

TEST(BatchSamples, RefuseACellThatTheBatchDoesNotHave) {
  Samples samples;
  samples.vertices = {0, 1};
  samples.step = {0, 1};
  samples.label = {0, 0};
  PreparedGraph graph;
  graph.vertices = 2;
  graph.steps = 2;
  graph.row_offsets.assign(5, 0);
  BatchScratch scratch(2);
  const BatchGraph batch =
      build_batch_graph({&graph, {}, {LayerReads{}}, FrontierKind::exact}, {{0}, {0, 1}, {}}, scratch);
  EXPECT_EQ(samples_in_batch(samples, {0}, batch).total_weight, 1);
  EXPECT_THROW(samples_in_batch(samples, {1}, batch), Error);
}

}  // namespace
}  // namespace strobe
