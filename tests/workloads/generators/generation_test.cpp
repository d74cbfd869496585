// The shared parts of generators: permutations, normal quantiles, apportionment, kept edges, distinct draws, steps.
#include "workloads/generators/generation.hpp"

#include <set>

#include "tests/workloads/generators/generator_support.hpp"
#include "workloads/generators/degree_profile.hpp"

namespace strobe {
namespace {

TEST(KeyedPermutation, IsABijectionOfEverySize) {
  for (const std::uint64_t size : {1u, 2u, 3u, 4u, 5u, 8u, 100u, 1000u, 4097u}) {
    const KeyedPermutation order(size, generator_stream(3, 1));
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < size; ++i) seen.insert(order(i));
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
  }
}

/// First values under 20,000 keys, over 10 places: chi-square with 9 degrees of freedom (99.9 % below 27.9), and the
/// same for the difference of two neighbours' values.
TEST(KeyedPermutation, PlacesAreEquallyLikelyOverKeys) {
  std::vector<double> first(10, 0.0), difference(10, 0.0);
  for (std::int64_t key = 0; key < 20000; ++key) {
    const KeyedPermutation order(10, generator_stream(5, 2, key));
    first[order(0)] += 1;
    difference[(order(4) + 10 - order(3)) % 10] += 1;
  }
  double chi_first = 0, chi_difference = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    chi_first += (first[i] - 2000) * (first[i] - 2000) / 2000;
    if (i > 0) chi_difference += (difference[i] - 20000 / 9.0) * (difference[i] - 20000 / 9.0) / (20000 / 9.0);
  }
  EXPECT_LT(chi_first, 27.9);
  EXPECT_EQ(difference[0], 0);
  EXPECT_LT(chi_difference, 45);  // six rounds on 16 values are not perfect; a weak mix gives hundreds
}

TEST(NormalQuantile, InvertsTheErrorFunction) {
  for (const double p : {1e-12, 1e-6, 0.001, 0.02275, 0.0751, 0.3, 0.5, 0.7, 0.9249, 0.97725, 0.999}) {
    const double x = normal_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-x / std::sqrt(2.0)) / p, 1.0, 1e-5) << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
}

std::vector<double> as_reals(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

TEST(NormalCounts, HaveTheMeanAndVarianceAskedFor) {
  struct Case {
    std::int64_t count;
    double mean, variance, low, high;
  };
  // From free to strongly cut; the last is nearly uniform over its range, whose variance is 849.
  for (const Case& c : {Case{100, 20000, 2.5e7, 0, 1e18}, Case{100, 20000, 2e8, 0, 1e18}, Case{10000, 50, 100, 1, 100},
                        Case{10000, 20, 200, 1, 100}, Case{5000, 30, 0.5, 1, 100}, Case{10000, 50.5, 700, 1, 100},
                        Case{2000, 30, 0.05, 1, 100}, Case{2000, 30.3, 0.25, 1, 100}, Case{2000, 30.5, 0.25, 1, 100},
                        Case{2000, 30, 1.0 / 6, 1, 100}, Case{2000, 30, 2, 1, 100}, Case{100, 2000, 2, 0, 1e18},
                        Case{100, 2000, 0.5, 0, 1e18}}) {
    const std::vector<double> values = as_reals(normal_counts(c.count, c.mean, c.variance, c.low, c.high, "/x"));
    EXPECT_EQ(values.size(), static_cast<std::size_t>(c.count));
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    EXPECT_GE(*std::min_element(values.begin(), values.end()), c.low);
    EXPECT_LE(*std::max_element(values.begin(), values.end()), c.high);
    EXPECT_NEAR(test::mean(values), c.mean, 0.011 * std::sqrt(c.variance)) << c.mean << " " << c.variance;
    EXPECT_NEAR(test::variance(values), c.variance, 0.01 * c.variance) << c.mean << " " << c.variance;
  }
  EXPECT_EQ(normal_counts(3, 7, 0, 0, 10, "/x"), (std::vector<std::int64_t>{7, 7, 7}));
}

/// Whole numbers of mean 30.5 are at best half 30 and half 31.
TEST(NormalCounts, RefuseVariancesBelowThoseOfWholeNumbers) {
  for (const auto& [mean, variance] : {std::pair{30.5, 0.2}, std::pair{30.5, 0.0}, std::pair{30.2, 0.15}}) {
    try {
      normal_counts(1000, mean, variance, 1, 100, "/length_variance");
      ADD_FAILURE() << mean << " " << variance;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/length_variance");
      EXPECT_NE(std::string(error.what()).find("a variance of at least"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(normal_counts(1, 5, 4, 0, 100, "/x"), InvalidRequest) << "one number does not vary";
}

TEST(NormalCounts, RefuseMomentsThatNoNormalDistributionHas) {
  for (const auto& [mean, variance] :
       {std::pair{50.0, 5000.0}, std::pair{101.0, 1.0}, std::pair{0.5, 1.0}, std::pair{2.0, 900.0}}) {
    try {
      normal_counts(1000, mean, variance, 1, 100, "/length_variance");
      FAIL() << mean << " " << variance;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/length_variance");
    }
  }
}

TEST(Apportion, SumsExactlyAndStaysNearTheShares) {
  const std::vector<std::int64_t> shares = apportion(1000, {1, 2, 3, 0, 0.5});
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}), 1000);
  const std::vector<double> exact = {1000 / 6.5, 2000 / 6.5, 3000 / 6.5, 0, 500 / 6.5};
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(static_cast<double>(shares[i]), exact[i], 1.0);
}

TEST(DegreePlaces, FindTheRankOfEveryPlace) {
  for (const std::vector<std::int64_t>& degrees : std::vector<std::vector<std::int64_t>>{
           {1}, {64}, {200, 63, 1, 0, 0, 1, 5}, {0, 0, 3}, {64, 64, 64}, {3, 0, 0, 128, 0, 0}}) {
    const DegreePlaces places(degrees);
    std::uint64_t place = 0;
    for (std::size_t rank = 0; rank < degrees.size(); ++rank) {
      for (std::int64_t i = 0; i < degrees[rank]; ++i) EXPECT_EQ(places.rank(place++), rank);
    }
    EXPECT_EQ(place, places.total());
  }
}

TEST(DegreesByRank, SumExactlyAndFallWithTheRank) {
  const std::vector<std::int64_t> degrees = degrees_by_rank({0.5, 0.1, 3.0, 0.01, 10, 5}, 1000, 20000, "/hub");
  EXPECT_EQ(std::accumulate(degrees.begin(), degrees.end(), std::int64_t{0}), 20000);
  for (std::size_t r = 1; r < 1000; ++r) EXPECT_LE(degrees[r], degrees[r - 1] + 1) << r;
  // Ten hubs: x = 0.0095 is the smallest, x = 0.0005 the largest.
  EXPECT_NEAR(static_cast<double>(degrees[9]), 200 * std::pow(0.01 / 0.0095, 0.25), 1.0);
  EXPECT_NEAR(static_cast<double>(degrees[0]), 200 * std::pow(0.01 / 0.0005, 0.25), 1.0);
  // The tail falls by the square root of 4 from x to 4 x.
  EXPECT_NEAR(static_cast<double>(degrees[20]) / static_cast<double>(degrees[81]), std::sqrt(81.5 / 20.5), 0.1);
  EXPECT_THROW(degrees_by_rank({0.5, 0, 3.0, 0.5, 10, 5}, 1000, 20000, "/hub"), InvalidRequest);
}

TEST(EdgesToKeep, MeetTheMeanOverlapDespiteWholeEdges) {
  const std::vector<std::int64_t> sizes = {10, 40, 0, 25, 30, 100, 7, 90};
  for (const double overlap : {0.0, 0.001, 0.1, 0.25}) {
    const std::vector<std::int64_t> kept = edges_to_keep(sizes, overlap, "/overlap");
    double sum = 0;
    int compared = 0;
    for (std::size_t t = 1; t < sizes.size(); ++t) {
      if (sizes[t] == 0) continue;
      EXPECT_LE(kept[t], std::min(sizes[t], sizes[t - 1]));
      sum += static_cast<double>(kept[t]) / static_cast<double>(sizes[t]);
      ++compared;
    }
    // Steps of 90 and 100 edges are full at 0.25, so the finest coin is an edge of 40.
    EXPECT_NEAR(sum / compared, overlap, (overlap < 0.25 ? 0.5 / 100 : 1.0 / 30) / compared + 1e-12) << overlap;
  }
  EXPECT_THROW(edges_to_keep(sizes, 0.9, "/overlap"), InvalidRequest);
  EXPECT_EQ(edges_to_keep({5, 5, 5}, 1, "/overlap"), (std::vector<std::int64_t>{0, 5, 5}));
  EXPECT_EQ(edges_to_keep({5}, 1, "/overlap"), (std::vector<std::int64_t>{0}));
}

TEST(DrawDistinct, GivesTheSameWithAnyNumberOfThreads) {
  const RandomStream random = generator_stream(9, 3);
  const std::vector<std::uint64_t> without = {3, 4, 77777, 99999};
  std::vector<std::vector<std::uint64_t>> results;
  for (const int threads : {1, 2, 5}) {
    Workers workers(threads);
    std::vector<std::uint64_t> values = {1, 50000};
    draw_distinct(
        values, 30000, without, [&](std::uint64_t i) { return i % 7 == 0 ? no_edge : random.below(i, 100000); },
        &workers, "/edges");
    EXPECT_EQ(values.size(), 30000u);
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
    EXPECT_TRUE(std::binary_search(values.begin(), values.end(), 50000u));
    for (const std::uint64_t value : without) EXPECT_FALSE(std::binary_search(values.begin(), values.end(), value));
    results.push_back(values);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(DrawDistinct, GivesUpWhenThereAreNotEnough) {
  std::vector<std::uint64_t> values;
  const auto draw = [](std::uint64_t i) { return i % 3; };
  try {
    draw_distinct(values, 4, {}, draw, nullptr, "/edges");
    FAIL() << "four distinct values of three";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/edges");
  }
}

TEST(SetStep, MergesEqualEdgesAndCountsDegrees) {
  SnapshotGraph graph;
  graph.vertices = 3;
  graph.feature_width = 2;
  graph.snapshots.resize(1);
  graph.features.assign(6, 0.0f);
  set_step(graph, 0, std::vector<std::uint64_t>{edge_code(0, 2), edge_code(0, 2), edge_code(2, 0), edge_code(2, 1)});
  EXPECT_EQ(graph.snapshots[0]->row_offsets, (std::vector<std::int64_t>{0, 1, 1, 3}));
  EXPECT_EQ(graph.snapshots[0]->columns, (std::vector<VertexId>{2, 0, 1}));
  EXPECT_EQ(graph.snapshots[0]->values, (std::vector<float>{2, 1, 1}));
  EXPECT_TRUE(std::equal(graph.features.begin(), graph.features.end(), std::vector<float>{2, 1, 0, 1, 2, 2}.begin()));
}

/// 2^24 + 1 is no fp32, so adding ones to 2^24 in fp32 stops there.
TEST(SetStep, DegreesGoBeyondFp32) {
  SnapshotGraph graph;
  graph.vertices = 4;
  graph.feature_width = 2;
  graph.snapshots.resize(1);
  graph.features.assign(8, 0.0f);
  std::vector<std::uint64_t> codes((std::size_t{1} << 24), edge_code(0, 1));
  codes.push_back(edge_code(0, 2));
  codes.push_back(edge_code(0, 3));
  set_step(graph, 0, codes);
  EXPECT_EQ(graph.features, (std::vector<float>{16777218, 0, 0, 16777216, 0, 1, 0, 1}));
}

}  // namespace
}  // namespace strobe
