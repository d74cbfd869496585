// Every generator: seeds, threads, refusals; and the statistics that uniform, power-law, nonuniform and dynamic-sbm
// promise. amlsim-like has its own file.
#include <nlohmann/json.hpp>
#include <set>

#include "tests/workloads/generators/generator_support.hpp"

namespace strobe {
namespace {

/// Small parameters of each generator; a new one must be added here.
const std::map<std::string, Json>& small_parameters() {
  static const std::map<std::string, Json> all = {
      {"uniform", {{"steps", 5}, {"vertices", 300}, {"density", 3}}},
      {"power-law", {{"steps", 5}, {"vertices", 20000}, {"edges", 30000}, {"overlap", 0.4}}},
      {"nonuniform",
       {{"steps", 12},
        {"vertices", 900},
        {"edges_mean", 400},
        {"edges_variance", 8000},
        {"length_mean", 6},
        {"length_variance", 2}}},
      {"dynamic-sbm", {{"steps", 5}, {"vertices", 300}, {"moving", 0.1}}},
      {"growing", {{"steps", 8}, {"vertices", 700}, {"edges", 500}, {"first", 0.3}}},
      {"amlsim-like", {{"steps", 6}, {"vertices", 3000}, {"transfers", 20}, {"overlap", 0.2}, {"recurring", 0.2}}},
      {"extended_static", {{"steps", 6}, {"vertices", 300}, {"edges", 1000}, {"features", 2}, {"words", 1}}}};
  return all;
}

SnapshotGraph make(const std::string& generator, const Json& parameters, std::uint64_t seed) {
  return GeneratorRegistry::instance().find(generator).value(parameters, seed);
}

TEST(Generators, AllAreTested) {
  std::vector<std::string> tested;
  for (const auto& [name, parameters] : small_parameters()) tested.push_back(name);
  EXPECT_EQ(GeneratorRegistry::instance().names(), tested);
}

TEST(Generators, GraphsAreSound) {
  for (const auto& [name, parameters] : small_parameters()) {
    SCOPED_TRACE(name);
    const SnapshotGraph graph = make(name, parameters, 4);
    if (name != "extended_static") test::expect_sound_graph(graph);  // which has features of its own
    EXPECT_EQ(graph.vertices, parameters.at("vertices").get<std::int64_t>());
    EXPECT_EQ(graph.steps(), parameters.at("steps").get<std::int64_t>());
    EXPECT_GT(graph.edges(), 0);
    EXPECT_EQ(graph.provenance.name, name);
    EXPECT_EQ(graph.provenance.format, "generated");
    EXPECT_NE(graph.provenance.source.find("seed 4"), std::string::npos);
  }
}

TEST(Generators, OneSeedGivesOneGraphWithAnyNumberOfThreads) {
  for (const auto& [name, parameters] : small_parameters()) {
    SCOPED_TRACE(name);
    set_generator_threads(1);
    const SnapshotGraph alone = make(name, parameters, 7);
    for (const int threads : {2, 5}) {
      set_generator_threads(threads);
      test::expect_equal_graphs(alone, make(name, parameters, 7));
    }
    set_generator_threads(0);
  }
}

TEST(Generators, AnotherSeedGivesAnotherGraph) {
  for (const auto& [name, parameters] : small_parameters()) {
    // Seeds that differ only above 32 bits differ too.
    for (const std::uint64_t seed : {std::uint64_t{8}, std::uint64_t{7} + (std::uint64_t{1} << 32)}) {
      const SnapshotGraph a = make(name, parameters, 7), b = make(name, parameters, seed);
      for (std::size_t t = 0; t < a.snapshots.size(); ++t)
        EXPECT_NE(a.snapshots[t]->columns, b.snapshots[t]->columns) << name << " " << t;
    }
  }
}

TEST(Generators, ImpossibleParametersAreNamed) {
  struct Refusal {
    const char *generator, *parameters, *where;
  };
  for (const Refusal& r : std::vector<Refusal>{
           {"uniform", R"({"vertices": 10, "density": 9.5})", "/density"},
           {"uniform", R"({"steps": 0})", "/steps"},
           {"power-law", R"({"vertices": 100, "edges": 5000})", "/edges"},
           {"power-law", R"({"exponent": 2})", "/exponent"},
           {"power-law", R"({"overlap": 1.5})", "/overlap"},
           {"power-law", R"({"largest_degree": 1})", "/largest_degree"},
           {"power-law", R"({"largest_degree": 9000})", "/largest_degree"},
           {"power-law", R"({"largest_degree": 20000})", "/largest_degree"},
           {"nonuniform", R"({"length_mean": 200})", "/length_variance"},
           {"nonuniform", R"({"length_variance": 2000})", "/length_variance"},
           {"nonuniform", R"({"edges_mean": 20000, "edges_variance": 1e12})", "/edges_variance"},
           {"nonuniform", R"({"length_mean": 50.5, "length_variance": 0.2})", "/length_variance"},
           {"nonuniform", R"({"edges_mean": 100, "edges_variance": 10})", "/edges_mean"},
           {"nonuniform", R"({"vertices": 50, "edges_mean": 900, "edges_variance": 10})", "/edges_mean"},
           {"dynamic-sbm", R"({"communities": 600})", "/communities"},
           {"dynamic-sbm", R"({"vertices": 20, "communities": 4, "inside": 5})", "/inside"},
           {"dynamic-sbm", R"({"vertices": 20, "communities": 4, "inside": 1, "outside": 16})", "/outside"},
           {"dynamic-sbm", R"({"communities": 1, "outside": 0})", "/moving"},
           {"amlsim-like", R"({"rise": 0.7})", "/fall"},
           {"amlsim-like", R"({"overlap": 0.5, "recurring": 0.6})", "/recurring"},
           {"amlsim-like", R"({"overlap": 0.99})", "/overlap"},
           {"amlsim-like", R"({"flagged": 0.0001})", "/flagged"},
           {"amlsim-like", R"({"fan_in": 0, "cycle": 0})", "/fan_in"},
           {"amlsim-like", R"({"pattern_smallest": 8})", "/pattern_largest"},
           {"amlsim-like", R"({"transfers": 0.1})", "/transfers"},
           {"amlsim-like", R"({"out_hub": 600})", "/out_hub"},
           {"amlsim-like", R"({"in_hub": 600})", "/in_hub"}}) {
    try {
      make(r.generator, Json::parse(r.parameters), 1);
      ADD_FAILURE() << r.generator << " " << r.parameters << " was accepted";
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), r.where) << r.generator << " " << r.parameters << ": " << error.what();
    }
  }
}

/// These would need from terabytes to exabytes; an attempt to allocate them would fail or kill the test.
TEST(Generators, SizesBeyondMemoryAreRefusedBeforeAllocation) {
  for (const auto& [name, parameters] : small_parameters()) {
    for (const Json& size :
         {Json{{"vertices", 2000000000}, {"steps", 1000}}, Json{{"vertices", 2000000000}, {"steps", 1000000}}}) {
      try {
        make(name, size, 1);
        ADD_FAILURE() << name << " was not refused";
      } catch (const InvalidRequest& error) {
        EXPECT_EQ(error.where(), "/vertices") << name;
        EXPECT_NE(std::string(error.what()).find("this machine has"), std::string::npos) << error.what();
      }
    }
  }
  const std::vector<std::tuple<std::string, Json, std::string>> edges = {
      {"uniform", {{"vertices", 10000000}, {"density", 1e6}, {"steps", 4}}, "/density"},
      {"power-law", {{"vertices", 10000000}, {"edges", 1000000000000}, {"steps", 4}}, "/edges"},
      {"nonuniform", {{"vertices", 1000000}, {"edges_mean", 1e12}}, "/edges_mean"},
      {"growing", {{"vertices", 1000000}, {"edges", 1e12}}, "/edges"},
      {"dynamic-sbm", {{"vertices", 10000000}, {"inside", 1e6}, {"steps", 4}}, "/inside"},
      {"amlsim-like", {{"vertices", 1000000}, {"transfers", 1e6}, {"steps", 4}}, "/transfers"}};
  for (const auto& [name, parameters, where] : edges) {
    try {
      make(name, parameters, 1);
      ADD_FAILURE() << name << " was not refused";
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), where) << error.what();
    }
  }
}

/// Degrees of a step are close to Poisson with mean f; steps share edges only by chance, f / N of them.
TEST(UniformStatistics, DegreesAndOverlap) {
  const SnapshotGraph graph = make("uniform", {{"steps", 20}, {"vertices", 2000}, {"density", 5}}, 3);
  EXPECT_EQ(test::edges_per_step(graph), std::vector<double>(20, 10000.0));
  EXPECT_NEAR(mean_overlap(graph), 5.0 / 1999, 5.0 / 1999 * 0.3);  // 475 +- 22 common edges in 19 steps
  for (const std::size_t side : {0u, 1u}) {
    const std::vector<double> degrees = test::total_degrees(graph, side);
    EXPECT_EQ(test::mean(degrees), 100);
    EXPECT_NEAR(test::variance(degrees), 100, 13);  // 4 standard errors: 100 sqrt(2 / 2000) = 3.2
  }
}

TEST(PowerLaw, OverlapEqualsTheParameter) {
  for (const double overlap : {0.0, 0.1, 0.5, 0.8123, 0.99, 1.0}) {
    const SnapshotGraph graph =
        make("power-law", {{"steps", 9}, {"vertices", 1000}, {"edges", 3000}, {"overlap", overlap}}, 5);
    EXPECT_NEAR(mean_overlap(graph), overlap, 0.5 / (3000 * 8) + 1e-12);
    EXPECT_EQ(test::edges_per_step(graph), std::vector<double>(9, 3000.0));
  }
}

/// The share of vertices with a degree beyond d falls as d^(1 - gamma): its slope between two degrees gives gamma.
double fitted_exponent(const std::vector<double>& ascending, double low, double high) {
  const auto beyond = [&](double d) {
    return static_cast<double>(ascending.end() - std::lower_bound(ascending.begin(), ascending.end(), d));
  };
  return 1 + std::log(beyond(low) / beyond(high)) / std::log(high / low);
}

TEST(PowerLaw, DegreesHaveTheExponent) {
  for (const double exponent : {2.2, 2.5, 3.0}) {
    // Fresh edges at each of 10 steps add up to smooth degrees; the cut at the largest expected degree is far off.
    const SnapshotGraph graph = make("power-law",
                                     {{"steps", 10},
                                      {"vertices", 30000},
                                      {"edges", 60000},
                                      {"overlap", 0.0},
                                      {"exponent", exponent},
                                      {"largest_degree", 900}},
                                     2);
    for (const std::size_t side : {0u, 1u})
      EXPECT_NEAR(fitted_exponent(test::total_degrees(graph, side), 40, 400), exponent, 0.12) << exponent;
  }
}

TEST(PowerLaw, OverlapDoesNotBendTheDegrees) {
  const Json parameters = {{"steps", 40}, {"vertices", 50000}, {"edges", 100000}, {"overlap", 0.9}};
  const SnapshotGraph graph = make("power-law", parameters, 2);
  std::vector<double> exponents;
  for (const std::size_t t : {std::size_t{0}, std::size_t{39}}) {
    std::vector<double> degrees;
    const Snapshot& snapshot = *graph.snapshots[t];
    for (std::size_t v = 0; v < 50000; ++v)
      degrees.push_back(static_cast<double>(snapshot.row_offsets[v + 1] - snapshot.row_offsets[v]));
    std::sort(degrees.begin(), degrees.end());
    exponents.push_back(fitted_exponent(degrees, 5, 40));
    EXPECT_NEAR(degrees.back(), std::sqrt(100000.0), 0.3 * std::sqrt(100000.0)) << t;
  }
  // The cut at a largest degree of 316 makes one step's tail a little steeper than 2.5.
  EXPECT_NEAR(exponents[0], 2.5, 0.25);
  EXPECT_NEAR(exponents[1], exponents[0], 0.1);
}

/// Steps from a vertex's first to its last edge, 0 for a vertex without edges.
std::vector<double> life_lengths(const SnapshotGraph& graph) {
  const std::size_t vertices = graph.vertices;
  std::vector<std::int64_t> first(vertices, -1), last(vertices, -2);
  for (std::size_t cell = 0; cell < graph.features.size() / 2; ++cell) {
    if (graph.features[2 * cell] + graph.features[2 * cell + 1] == 0) continue;
    const std::int64_t t = cell / vertices;
    if (first[cell % vertices] < 0) first[cell % vertices] = t;
    last[cell % vertices] = t;
  }
  std::vector<double> lengths;
  for (std::size_t v = 0; v < vertices; ++v) lengths.push_back(static_cast<double>(last[v] - first[v] + 1));
  return lengths;
}

TEST(Nonuniform, EdgesAndLengthsHaveTheirMeanAndVariance) {
  struct Case {
    double edges_variance, length_mean, length_variance;
  };
  std::uint64_t seed = 1;
  for (const Case& c : {Case{0, 30, 0}, Case{40000, 30, 25}, Case{200000, 30, 150}, Case{400000, 12, 60},
                        Case{2, 30, 0.05}, Case{1, 30, 0.5}, Case{4, 30, 1}, Case{10, 30, 2}}) {
    const SnapshotGraph graph = make("nonuniform",
                                     {{"steps", 60},
                                      {"vertices", 10000},
                                      {"edges_mean", 2000},
                                      {"edges_variance", c.edges_variance},
                                      {"length_mean", c.length_mean},
                                      {"length_variance", c.length_variance}},
                                     seed++);
    const std::vector<double> edges = test::edges_per_step(graph), lengths = life_lengths(graph);
    EXPECT_EQ(test::mean(edges), 2000);
    EXPECT_NEAR(test::variance(edges), c.edges_variance, std::max(0.01 * c.edges_variance, 0.04)) << "60 whole numbers";
    EXPECT_NEAR(test::mean(lengths), c.length_mean, 0.001 * c.length_mean);
    EXPECT_NEAR(test::variance(lengths), c.length_variance, 0.01 * c.length_variance);
  }
}

TEST(Nonuniform, EdgesPerStepAreNormal) {
  const SnapshotGraph graph = make("nonuniform",
                                   {{"steps", 100},
                                    {"vertices", 3000},
                                    {"edges_mean", 2000},
                                    {"edges_variance", 90000},
                                    {"length_mean", 50},
                                    {"length_variance", 100}},
                                   6);
  std::vector<double> edges = test::edges_per_step(graph);
  EXPECT_FALSE(std::is_sorted(edges.begin(), edges.end()));
  std::sort(edges.begin(), edges.end());
  EXPECT_NEAR(test::quantile(edges, 0.16), 1700, 15);
  EXPECT_NEAR(test::quantile(edges, 0.5), 2000, 10);
  EXPECT_NEAR(test::quantile(edges, 0.84), 2300, 15);
  EXPECT_NEAR(edges.back(), 2000 + 2.6 * 300, 30);
}

TEST(DynamicSbm, EdgesStayInsideAsOftenAsAskedFor) {
  const std::size_t n = 2000;
  const SnapshotGraph graph = make(
      "dynamic-sbm",
      {{"steps", 10}, {"vertices", n}, {"communities", 5}, {"inside", 9.0}, {"outside", 3.0}, {"moving", 0.05}}, 8);
  double inside = 0, outside = 0;
  for (std::size_t t = 0; t < 10; ++t) {
    const Snapshot& snapshot = *graph.snapshots[t];
    for (std::size_t v = 0; v < n; ++v) {
      for (auto i = snapshot.row_offsets[v]; i < snapshot.row_offsets[v + 1]; ++i) {
        const std::size_t u = snapshot.columns[i];
        (graph.cell_label[t * n + u] == graph.cell_label[t * n + v] ? inside : outside) += 1;
      }
    }
  }
  // 180,000 and 60,000 expected; 4 standard deviations, and 1 % for communities that have drifted from equal sizes.
  EXPECT_NEAR(inside, 180000, 4 * std::sqrt(180000.0) + 1800);
  EXPECT_NEAR(outside, 60000, 4 * std::sqrt(60000.0) + 600);
  const std::vector<double> degrees = test::total_degrees(graph, 0);
  EXPECT_NEAR(test::variance(degrees), 120, 20);  // sums of 10 nearly Poisson counts of mean 12
}

TEST(DynamicSbm, VerticesMoveWithTheirProbability) {
  const std::size_t n = 5000;
  const SnapshotGraph graph =
      make("dynamic-sbm", {{"steps", 20}, {"vertices", n}, {"communities", 4}, {"moving", 0.1}}, 8);
  ASSERT_EQ(graph.cell_label.size(), 20 * n);
  EXPECT_TRUE(graph.vertex_label.empty());
  double moved = 0;
  for (std::size_t cell = n; cell < 20 * n; ++cell) moved += graph.cell_label[cell] != graph.cell_label[cell - n];
  EXPECT_NEAR(moved / (19.0 * n), 0.1, 4 * std::sqrt(0.09 / (19.0 * n)));
  for (std::int8_t c = 0; c < 4; ++c) {
    EXPECT_EQ(std::count(graph.cell_label.begin(), graph.cell_label.begin() + n, c), 1250);
    EXPECT_NEAR(std::count(graph.cell_label.end() - n, graph.cell_label.end(), c), 1250, 130);
  }
  const SnapshotGraph still = make("dynamic-sbm", {{"steps", 3}, {"vertices", 100}, {"moving", 0}}, 8);
  ASSERT_EQ(still.vertex_label.size(), 100u);
  for (std::size_t cell = 0; cell < 300; ++cell) EXPECT_EQ(still.cell_label[cell], still.vertex_label[cell % 100]);
}

/// The known answer: most in-neighbours of a vertex share its community, so a vote finds it.
TEST(DynamicSbm, AVoteOfNeighboursFindsTheCommunity) {
  const std::size_t n = 1000;
  const SnapshotGraph graph =
      make("dynamic-sbm", {{"steps", 4}, {"vertices", n}, {"inside", 12.0}, {"outside", 3.0}}, 2);
  double right = 0;
  for (std::size_t cell = 0; cell < 4 * n; ++cell) {
    const Snapshot& snapshot = *graph.snapshots[cell / n];
    std::vector<int> votes(4, 0);
    for (auto i = snapshot.row_offsets[cell % n]; i < snapshot.row_offsets[cell % n + 1]; ++i)
      ++votes[graph.cell_label[cell / n * n + static_cast<std::size_t>(snapshot.columns[i])]];
    right += std::max_element(votes.begin(), votes.end()) - votes.begin() == graph.cell_label[cell];
  }
  EXPECT_GT(right / (4.0 * n), 0.97);
}

}  // namespace
}  // namespace strobe
