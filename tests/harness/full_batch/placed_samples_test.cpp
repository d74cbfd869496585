// Samples placed on ranks, checked with the names of cells: a sample reads the cell that it names.
#include "harness/full_batch/exchange/placed_samples.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "core/random.hpp"
#include "harness/full_batch/exchange/counted_halo.hpp"
#include "tests/harness/fakes.hpp"

namespace strobe {
namespace {

constexpr std::int64_t placed_vertices = 13;
constexpr int placed_ranks = 4;

/// Random samples of `arity` vertices over steps 0 to 8, in no order of steps.
Samples random_samples(int arity, std::size_t count) {
  Samples samples;
  samples.arity = arity;
  const RandomStream random(11, random_purpose::test);
  std::uint64_t draw = 0;
  for (std::size_t i = 0; i < count; ++i) {
    samples.step.push_back(static_cast<Step>(random.below(draw++, 9)));
    for (int k = 0; k < arity; ++k)
      samples.vertices.push_back(static_cast<VertexId>(random.below(draw++, placed_vertices)));
    samples.label.push_back(static_cast<std::int32_t>(i % 3));
    samples.value.push_back(static_cast<double>(i) / 8);
    samples.weight.push_back(1 + static_cast<double>(i % 2));
  }
  return samples;
}

/// A placement of `steps` steps: one rank owns all of the first, and ranks share the others. Rank 2 has no cells.
Placement placed_on(std::int64_t steps) {
  std::vector<Rank> owner;
  for (std::int64_t v = 0; v < placed_vertices; ++v) owner.push_back(std::array<Rank, 3>{3, 0, 1}[v % 3]);
  Placement placement = by_vertex(owner, steps, placed_ranks);
  placement.maps.push_back(single_owner_map(placed_vertices, 1));
  placement.map_of_step[0] = 1;
  return placement;
}

/// The cells of each rank after the samples' halo has arrived.
std::vector<test::Cells> cells_read(const PlacedSamples& placed, const Placement& placement) {
  std::vector<test::Cells> own;
  for (Rank r = 0; r < placement.ranks; ++r) own.push_back(test::cells(placement, r));
  return test::carry(placed.halo, own);
}

TEST(PlacedSamples, ReadTheCellsThatTheyName) {
  const std::vector<Step> steps = {1, 2, 4, 5, 7};  // the placement's step i is steps[i]; others are not placed
  const Placement placement = placed_on(5);
  for (const int arity : {1, 2, 3}) {
    const Samples samples = random_samples(arity, 90);
    const PlacedSamples placed = place_samples(samples, placement, steps, {});
    const std::vector<test::Cells> read = cells_read(placed, placement);
    std::set<std::int64_t> seen;
    double weight = 0;
    for (Rank r = 0; r < placed_ranks; ++r) {
      const LocalSamples& local = placed.ranks[r];
      EXPECT_TRUE(std::is_sorted(local.index.begin(), local.index.end()));
      for (std::size_t i = 0; i < local.index.size(); ++i) {
        const std::size_t n = local.index[i];
        EXPECT_TRUE(seen.insert(local.index[i]).second);
        const auto step = static_cast<Step>(std::find(steps.begin(), steps.end(), samples.step[n]) - steps.begin());
        ASSERT_LT(step, 5);
        EXPECT_EQ(placement.owner(samples.vertices[n * static_cast<std::size_t>(arity)], step), r);
        for (std::size_t k = 0; k < static_cast<std::size_t>(arity); ++k) {
          const std::pair cell(step, samples.vertices[n * static_cast<std::size_t>(arity) + k]);
          EXPECT_EQ(read[r].at(local.rows[k][i]), cell);
        }
        EXPECT_EQ(local.label[i], samples.label[n]);
        EXPECT_EQ(local.value[i], samples.value[n]);
        weight += local.weight[i];
      }
    }
    std::size_t expected = 0;
    for (const Step t : samples.step) expected += std::count(steps.begin(), steps.end(), t) != 0;
    EXPECT_EQ(seen.size(), expected);
    EXPECT_EQ(placed.total_weight, weight);
    EXPECT_EQ(placed.halo.total_rows() > 0, arity > 1);
    EXPECT_EQ(placed.ranks[2].count(), 0) << "owns nothing";
  }
}

TEST(PlacedSamples, BringACellOnceForAllThatReadIt) {
  Samples samples;
  samples.arity = 2;
  samples.step = {0, 0, 0};
  samples.vertices = {0, 3, 1, 3, 0, 3};  // all live on rank 0 and read vertex 3 of rank 1
  samples.label = {0, 0, 0};
  const PlacedSamples placed = place_samples(samples, by_vertex({0, 0, 1, 1}, 1, 2), {0}, {});
  EXPECT_EQ(placed.halo.total_rows(), 1);
  EXPECT_EQ(placed.ranks[0].rows[1], (std::vector<std::int64_t>{2, 2, 2}));
}

TEST(PlacedSamples, NamesTheStepsThatAreRead) {
  Samples samples;
  samples.step = {5, 2, 5, 0};
  EXPECT_EQ(steps_of(samples), (std::vector<Step>{0, 2, 5}));
}

TEST(PlacedSamples, KnownOnlyByNumberAreDistributedToOwners) {
  CountedSamples samples;
  samples.arity = 2;
  samples.edge_share = 1;
  for (Step t = 0; t < 6; ++t) samples.steps.push_back({t, 40, 17, 0});
  Histogram degrees;
  degrees.bins = {{3, 100, 300}};
  const Placement placement = placed_on(6);
  const PlacedSamples placed = place_counted_samples(samples, degrees, placement, step_range(0, 6));
  std::int64_t total = 0, received = 0;
  for (Rank r = 0; r < placed_ranks; ++r) {
    total += placed.ranks[r].count();
    received += placed.halo.of(r).receive.total;
    EXPECT_EQ(placed.halo.rows(r, 2) + placed.halo.rows(2, r), 0) << "owns nothing";
  }
  EXPECT_NEAR(static_cast<double>(total), placed.total_weight, placed_ranks);
  EXPECT_GE(placed.ranks[1].count(), 57) << "step 0 is its own";
  EXPECT_EQ(placed.ranks[2].count(), 0);
  EXPECT_EQ(received, placed.halo.total_rows());
  EXPECT_GT(received, 0);
}

/// The formula of counted_halo.hpp, vertex by vertex: 600 vertices with one edge, 300 with three, none at the others.
double expected_rows(double owners, double vertices, double share, const StepSamples& step) {
  double drawn = 0;
  for (const auto& [count, degree] : {std::pair{600.0, 1.0}, std::pair{300.0, 3.0}})
    drawn += count * (owners - 1) * (1 - std::pow(1 - share / owners, degree));
  const double of_edges = drawn * static_cast<double>(step.edges) / (1500 * share);
  const double unseen = std::pow(1 - 1 / (owners * vertices), static_cast<double>(step.pairs));
  return vertices * (owners - 1) - (vertices * (owners - 1) - of_edges) * unseen;
}

TEST(PlacedSamples, KnownOnlyByNumberBringAsManyRowsAsTheirFormulaExpects) {
  const std::int64_t vertices = 1000, steps = 50;
  Histogram degrees;
  degrees.bins = {{1, 600, 600}, {3, 300, 900}};
  for (const int owners : {2, 5}) {
    for (const double share : {0.25, 1.0}) {
      CountedSamples samples;
      samples.arity = 2;
      samples.edge_share = share;
      double expected = 0;
      for (Step t = 0; t < static_cast<Step>(steps); ++t) {
        samples.steps.push_back({t, static_cast<std::int64_t>(1500 * share), 40 * t, 0});
        expected += expected_rows(owners, static_cast<double>(vertices), share, samples.steps.back());
      }
      const Placement placement = by_vertex(contiguous_owners(vertices, owners), steps, owners);
      const PlacedSamples placed = place_counted_samples(samples, degrees, placement, step_range(0, steps));
      EXPECT_NEAR(static_cast<double>(placed.halo.total_rows()), expected, owners) << "each rank rounds once";
      samples.arity = 1;
      EXPECT_EQ(place_counted_samples(samples, degrees, placement, step_range(0, steps)).halo.total_rows(), 0)
          << "a sample of one vertex reads its own rank's";
    }
  }
}

}  // namespace
}  // namespace strobe
