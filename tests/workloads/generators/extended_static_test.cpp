// extended_static against counts of its graphs, edge by edge and feature by feature, over several seeds; and its two
// data sets against the sizes that DynaHB's Table 1 prints.
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tests/workloads/generators/generator_support.hpp"
#include "workloads/graph/smoothing.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {
namespace {

SnapshotGraph make_extended(const Json& parameters, std::uint64_t seed) {
  return load_workload("extended_static", parameters, seed);
}

using Pair = std::pair<VertexId, VertexId>;

std::set<Pair> pairs_of(const Snapshot& snapshot) {
  std::set<Pair> pairs;
  for (std::size_t v = 0; v + 1 < snapshot.row_offsets.size(); ++v) {
    for (auto e = snapshot.row_offsets[v]; e < snapshot.row_offsets[v + 1]; ++e)
      pairs.insert({static_cast<VertexId>(v), snapshot.columns[e]});
  }
  return pairs;
}

TEST(ExtendedStatic, EveryEdgeAppearsOnceInBothDirections) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const SnapshotGraph graph = make_extended({{"vertices", 900}, {"edges", 5000}, {"steps", 12}}, seed);
    std::set<Pair> all;
    std::vector<double> sizes = test::edges_per_step(graph);
    for (const auto& snapshot : graph.snapshots) {
      const std::set<Pair> pairs = pairs_of(*snapshot);
      EXPECT_EQ(static_cast<std::int64_t>(pairs.size()), snapshot->nonzeros());
      for (const auto& [u, v] : pairs) {
        EXPECT_NE(u, v);
        EXPECT_EQ(pairs.count({v, u}), 1u);
        EXPECT_TRUE(all.insert({u, v}).second) << "twice";
      }
    }
    EXPECT_EQ(all.size(), 5000u);
    EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()) - *std::min_element(sizes.begin(), sizes.end()), 2);
  }
}

TEST(ExtendedStatic, LastingEdgesGrowStepByStepToTheSameGraph) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Json parameters = {{"vertices", 500}, {"edges", 3000}, {"steps", 8}};
    const SnapshotGraph once = make_extended(parameters, seed);
    parameters["lasting"] = true;
    const SnapshotGraph lasting = make_extended(parameters, seed);
    std::set<Pair> so_far;
    for (std::size_t t = 0; t < 8; ++t) {
      const std::set<Pair> fresh = pairs_of(*once.snapshots[t]);
      so_far.insert(fresh.begin(), fresh.end());
      EXPECT_EQ(pairs_of(*lasting.snapshots[t]), so_far) << t;
      EXPECT_EQ(lasting.snapshots[t]->nonzeros(), static_cast<std::int64_t>(so_far.size()));
    }
    EXPECT_EQ(once.features, lasting.features);
  }
}

/// Words of each vertex at each step, and whether they are 0 or 1.
std::vector<std::set<std::int64_t>> words_at(const SnapshotGraph& graph, std::int64_t t) {
  std::vector<std::set<std::int64_t>> words(graph.vertices);
  for (std::int64_t v = 0; v < graph.vertices; ++v) {
    for (std::int64_t f = 0; f < graph.feature_width; ++f) {
      const float value = graph.features[(t * graph.vertices + v) * graph.feature_width + f];
      EXPECT_TRUE(value == 0.0F || value == 1.0F);
      if (value == 1.0F) words[v].insert(f);
    }
  }
  return words;
}

TEST(ExtendedStatic, AVertexHasItsWordsFromItsFirstEdgeOn) {
  for (const std::uint64_t seed : {4, 5}) {
    const SnapshotGraph graph =
        make_extended({{"vertices", 400}, {"edges", 600}, {"steps", 10}, {"features", 60}, {"words", 7}}, seed);
    const auto last = words_at(graph, 9);
    std::vector<bool> there(400), ever(400);
    for (std::int64_t t = 0; t < 10; ++t)
      for (const auto& [v, u] : pairs_of(*graph.snapshots[t])) ever[v] = true;
    std::size_t before = 0;
    for (std::int64_t t = 0; t < 10; ++t) {
      for (const auto& [v, u] : pairs_of(*graph.snapshots[t])) there[v] = true;
      const auto words = words_at(graph, t);
      std::size_t now = 0;
      for (std::size_t v = 0; v < 400; ++v) {
        const bool appeared = there[v] || !ever[v];
        EXPECT_EQ(words[v].size(), appeared ? 7u : 0u) << "vertex " << v << " at " << t;
        if (appeared) EXPECT_EQ(words[v], last[v]);
        now += appeared ? 1 : 0;
      }
      EXPECT_GE(now, before);
      before = now;
    }
    EXPECT_EQ(before, 400u);
  }
}

struct Shares {
  double homophily = 0, own_words = 0;
};

/// Shares of edges within a class, and of words from the class's own part of all.
Shares shares_of(const SnapshotGraph& graph, std::int64_t classes) {
  double inside = 0, edges = 0, own = 0, words = 0;
  const auto label = [&](std::int64_t v) { return static_cast<int>(graph.vertex_label[v]); };
  for (const auto& snapshot : graph.snapshots) {
    for (const auto& [v, u] : pairs_of(*snapshot)) inside += label(v) == label(u) ? 1 : 0, edges += 1;
  }
  const auto last = words_at(graph, graph.steps() - 1);
  for (std::int64_t v = 0; v < graph.vertices; ++v) {
    for (const std::int64_t f : last[v]) {
      own +=
          f >= label(v) * graph.feature_width / classes && f < (label(v) + 1) * graph.feature_width / classes ? 1 : 0;
      words += 1;
    }
  }
  return {inside / edges, own / words};
}

TEST(ExtendedStatic, ClassesAreEqualAndEdgesAndWordsKeepToThem) {
  for (const std::uint64_t seed : {6, 7, 8}) {
    for (const double homophily : {0.3, 0.8, 1.0}) {
      const SnapshotGraph graph = make_extended({{"vertices", 5000},
                                                 {"edges", 40000},
                                                 {"steps", 4},
                                                 {"classes", 5},
                                                 {"features", 200},
                                                 {"homophily", homophily},
                                                 {"topic", 0.4}},
                                                seed);
      std::array<int, 5> sizes{};
      for (const std::int8_t label : graph.vertex_label) ++sizes.at(label);
      for (const int size : sizes) EXPECT_EQ(size, 1000);
      const Shares shares = shares_of(graph, 5);
      // 20,000 pairs: a standard deviation is at most 0.0036. Pairs that are drawn twice, which are mostly inside,
      // count once.
      EXPECT_NEAR(shares.homophily, homophily, 0.015) << seed;
      // A fifth of the words drawn from all are own words; some of the own words are drawn twice.
      EXPECT_NEAR(shares.own_words, 0.4 + 0.6 / 5, 0.03) << seed;
    }
  }
}

/// Largest total degree over the mean one.
double hub_of(double skew, std::uint64_t seed) {
  const SnapshotGraph graph = make_extended({{"vertices", 4000}, {"edges", 40000}, {"steps", 4}, {"skew", skew}}, seed);
  std::vector<double> degree(4000);
  for (const auto& snapshot : graph.snapshots)
    for (const auto& [v, u] : pairs_of(*snapshot)) degree[v] += 1;
  return *std::max_element(degree.begin(), degree.end()) / test::mean(degree);
}

TEST(ExtendedStatic, SkewMakesHubs) {
  for (const std::uint64_t seed : {1, 2}) {
    EXPECT_LT(hub_of(0, seed), 3.5);
    // The first rank expects 1 / (2 sqrt(4000)) / 4000^-1 = 31.6 means among all, and the same among its own class.
    EXPECT_GT(hub_of(0.5, seed), 10);
    EXPECT_LT(hub_of(0.5, seed), 60);
  }
}

TEST(ExtendedStatic, ImpossibleParametersAreNamed) {
  const std::pair<const char*, const char*> refusals[] = {
      {R"({"edges": 9999})", "/edges"},
      {R"({"vertices": 100})", "/edges"},
      {R"({"words": 101})", "/words"},
      {R"({"scale": 0.5})", "/scale"},
      {R"({"like": "cora-t", "vertices": 100})", "/like"},
      {R"({"like": "cora-t", "scale": 1e-6})", "/scale"},
      {R"({"classes": 1})", "/homophily"},
      {R"({"vertices": 1000000, "features": 1000000})", "/features"}};
  for (const auto& [parameters, where] : refusals)
    EXPECT_EQ(test::refused_parameter("extended_static", Json::parse(parameters)), where) << parameters;
}

// Printed: 50 steps; Cora-T 0.05 M vertices, 0.27 M edges, 2.71 M cells, 1.30 M edges after edge life, 1433 features;
// Pubmed-T 0.39, 1.77, 19.72, 8.86, 500. The same at an eightieth, so that dense features fit.
TEST(ExtendedStatic, HasTheSizesOfTableOne) {
  struct Printed {
    const char* name;
    double vertices, edges, cells, smoothed, unit;
    std::int64_t width;
  };
  for (const Printed& printed : {Printed{"cora-t", 0.05, 0.27, 2.71, 1.30, 0.005, 1433},
                                 Printed{"pubmed-t", 0.39, 1.77, 19.72, 8.86, 0.005, 500}}) {
    const double scale = 0.0125;
    const SnapshotGraph graph = make_extended({{"like", printed.name}, {"scale", scale}}, 1);
    const auto millions = [&](double count) { return count / scale / 1e6; };
    EXPECT_EQ(graph.steps(), 50);
    EXPECT_EQ(graph.feature_width, printed.width);
    EXPECT_NEAR(millions(static_cast<double>(graph.vertices)), printed.vertices, printed.unit) << printed.name;
    EXPECT_NEAR(millions(static_cast<double>(graph.vertices * 50)), printed.cells, printed.unit) << printed.name;
    EXPECT_NEAR(millions(static_cast<double>(graph.edges())), printed.edges, printed.unit) << printed.name;
    Preprocessing life{.smooth = "edge_life", .window = 5, .laplacian = false, .precompute_first_product = false};
    const PreparedGraph smoothed = prepare(graph, life, 50, false);
    EXPECT_NEAR(millions(static_cast<double>(smoothed.nonzeros())) / printed.smoothed, 1, 0.045) << printed.name;
    std::set<int> labels(graph.vertex_label.begin(), graph.vertex_label.end());
    EXPECT_EQ(labels.size(), printed.width == 1433 ? 7u : 3u);
  }
}

}  // namespace
}  // namespace strobe
