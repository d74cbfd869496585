#include "workloads/preparation/preprocess.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/graph/exact_support.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

using test::dense;
using test::make_events;
using Matrix = std::vector<std::vector<double>>;

SnapshotGraph stepped(EventGraph events, const Windowing& windowing = {}) {
  events.stepped = true;
  return make_snapshots(events, windowing);
}

/// Step 0: 0->1; step 1: 0->1, 1->1; step 2: 1->0.
SnapshotGraph three_steps() { return stepped(make_events(2, {{0, 1, 0}, {0, 1, 1}, {1, 1, 1}, {1, 0, 2}})); }

SnapshotGraph random_graph(std::int64_t vertices, int steps, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  EventGraph events = make_events(vertices, {});
  std::uint64_t drawn = 0;
  const std::uint64_t n = vertices;
  for (int t = 0; t < steps; ++t) {
    const auto count = t % 4 == 2 ? 0 : random.below(drawn++, 3 * n);  // some steps are empty
    for (std::uint64_t e = 0; e < count; ++e) {
      events.source.push_back(static_cast<VertexId>(random.below(drawn++, n)));
      events.target.push_back(static_cast<VertexId>(random.below(drawn++, n)));
      events.time.push_back(t);
      events.weight.push_back(static_cast<float>(random.uniform(drawn++)));
    }
  }
  return stepped(events, {.weights = "file"});
}

/// The preprocessing written down densely, straight from the equations: [step][v][u] and [step][v][f].
struct DenseReference {
  std::vector<Matrix> a, x;

  DenseReference(const SnapshotGraph& graph, const Preprocessing& what) {
    const auto n = static_cast<std::size_t>(graph.vertices), width = static_cast<std::size_t>(graph.feature_width);
    for (std::int64_t t = 0; t < graph.steps(); ++t) {
      Matrix sum(n, std::vector<double>(n, 0.0)), features(n, std::vector<double>(width, 0.0));
      for (std::int64_t s = 0; s <= t; ++s) {
        const bool near = s > t - what.window;
        const double mean = 1.0 / static_cast<double>(what.m == "row_mean" ? std::min(what.window, t + 1) : t - s + 1);
        const double in_a = what.smooth == "none" ? s == t : what.smooth == "edge_life" ? near : near * mean;
        const double in_x = what.smooth_features ? near * mean : s == t;
        const Matrix raw = test::dense_exact(*graph.snapshots[s]);
        for (std::size_t v = 0; v < n; ++v) {
          for (std::size_t u = 0; u < n; ++u) sum[v][u] += in_a * raw[v][u];
          for (std::size_t f = 0; f < width; ++f) {
            features[v][f] +=
                in_x * static_cast<double>(graph.features[(static_cast<std::size_t>(s) * n + v) * width + f]);
          }
        }
      }
      if (what.laplacian) sum = laplacian(sum);
      a.push_back(sum);
      x.push_back(what.precompute_first_product ? product(sum, features) : features);
    }
  }

  static Matrix laplacian(Matrix a) {
    std::vector<double> degree(a.size(), 1.0);
    for (std::size_t v = 0; v < a.size(); ++v) {
      for (const double value : a[v]) degree[v] += value;
    }
    for (std::size_t v = 0; v < a.size(); ++v) {
      a[v][v] += 1;
      for (std::size_t u = 0; u < a.size(); ++u) a[v][u] /= std::sqrt(degree[v] * degree[u]);
    }
    return a;
  }

  static Matrix product(const Matrix& a, const Matrix& x) {
    Matrix y(x.size(), std::vector<double>(x[0].size(), 0.0));
    for (std::size_t v = 0; v < a.size(); ++v) {
      for (std::size_t u = 0; u < a.size(); ++u) {
        for (std::size_t f = 0; f < x[0].size(); ++f) y[v][f] += a[v][u] * x[u][f];
      }
    }
    return y;
  }
};

void expect_equals_reference(const SnapshotGraph& graph, const Preprocessing& what) {
  const PreparedGraph prepared = prepare(graph, what, graph.steps(), true);
  const DenseReference reference(graph, what);
  const auto n = static_cast<std::size_t>(graph.vertices), width = static_cast<std::size_t>(graph.feature_width);
  ASSERT_EQ(prepared.row_offsets.size(), static_cast<std::size_t>(graph.steps()) * n + 1);
  for (std::size_t t = 0; t < reference.a.size(); ++t) {
    Matrix found(n, std::vector<double>(n, 0.0));
    for (std::size_t v = 0; v < n; ++v) {
      const std::size_t begin = prepared.row_offsets[t * n + v];
      const std::size_t end = prepared.row_offsets[t * n + v + 1];
      for (std::size_t i = begin; i < end; ++i) {
        ASSERT_TRUE(i == begin || prepared.columns[i - 1] < prepared.columns[i]);
        found[v][prepared.columns[i]] = prepared.values64[i];
      }
      for (std::size_t u = 0; u < n; ++u) EXPECT_NEAR(found[v][u], reference.a[t][v][u], 1e-14);
      for (std::size_t f = 0; f < width; ++f) {
        EXPECT_NEAR(prepared.features64[(t * n + v) * width + f], reference.x[t][v][f], 1e-12);
      }
    }
  }
}

TEST(EdgeLife, AddsTheSnapshotsBefore) {
  const SnapshotGraph graph = edge_life(three_steps(), 2);
  EXPECT_EQ(dense(*graph.snapshots[0]), (Matrix{{0, 0}, {1, 0}}));
  EXPECT_EQ(dense(*graph.snapshots[1]), (Matrix{{0, 0}, {2, 1}}));
  EXPECT_EQ(dense(*graph.snapshots[2]), (Matrix{{0, 1}, {1, 1}}));
  EXPECT_EQ(graph.features, three_steps().features) << "features stay those of the raw step";
  EXPECT_EQ(dense(*edge_life(three_steps(), 1).snapshots[2]), dense(*three_steps().snapshots[2]));
  EXPECT_EQ(dense(*edge_life(three_steps(), 99).snapshots[2]), (Matrix{{0, 1}, {2, 1}}));
}

TEST(MProduct, AveragesWithAShortWindowAtTheStart) {
  const SnapshotGraph graph = m_product(three_steps(), 2, false);
  EXPECT_EQ(dense(*graph.snapshots[0]), (Matrix{{0, 0}, {1, 0}}));
  EXPECT_EQ(dense(*graph.snapshots[1]), (Matrix{{0, 0}, {1, 0.5}}));
  EXPECT_EQ(dense(*graph.snapshots[2]), (Matrix{{0, 0.5}, {0.5, 0.5}}));
  EXPECT_EQ(graph.features, three_steps().features);
}

TEST(MProduct, AveragesFeaturesWhenAsked) {
  // (in, out) of vertices 0 and 1: step 0 {0,1,1,0}, step 1 {0,1,2,1}, step 2 {1,0,0,1}
  EXPECT_EQ(m_product(three_steps(), 2, true).features,
            (std::vector<float>{0, 1, 1, 0, 0, 1, 1.5, 0.5, 0.5, 0.5, 1, 1}));
}

TEST(Prepare, LaplacianByHand) {
  // A has rows targets: A[1][0] = 2, A[1][1] = 1. D = (1, 4). A + I = {{1, 0}, {2, 2}}.
  const SnapshotGraph graph = stepped(make_events(2, {{0, 1, 0}, {0, 1, 0}, {1, 1, 0}}));
  const PreparedGraph prepared = prepare(graph, {.precompute_first_product = false}, 1, true);
  EXPECT_EQ(prepared.row_offsets, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_EQ(prepared.columns, (std::vector<VertexId>{0, 0, 1}));
  EXPECT_EQ(prepared.values64, (std::vector<double>{1, 1, 0.5})) << "1, 2 / sqrt(4 * 1), 2 / 4";
  EXPECT_EQ(prepared.features64, (std::vector<double>{0, 2, 3, 1}));
  EXPECT_FALSE(prepared.first_product_done);
  const PreparedGraph product = prepare(graph, {}, 1, true);
  EXPECT_EQ(product.features64, (std::vector<double>{0, 2, 1.5, 2.5}));
  EXPECT_TRUE(product.first_product_done);
}

TEST(Prepare, EqualsTheDenseReference) {
  for (const char* smooth : {"none", "m_product", "edge_life"}) {
    for (const std::int64_t window : {1, 2, 3, 20}) {
      for (int bits = 0; bits < 8; ++bits) {
        const Preprocessing what{.smooth = smooth,
                                 .window = window,
                                 .smooth_features = (bits & 1) != 0,
                                 .laplacian = (bits & 2) != 0,
                                 .precompute_first_product = (bits & 4) != 0};
        SCOPED_TRACE(std::string(smooth) + " window " + std::to_string(window) + " bits " + std::to_string(bits));
        expect_equals_reference(random_graph(9, 11, 17), what);
      }
    }
  }
}

TEST(Prepare, WeightsOfInverseDistance) {
  for (const std::int64_t window : {1, 3, 20}) {
    expect_equals_reference(
        random_graph(9, 11, 17),
        {.smooth = "m_product", .window = window, .smooth_features = true, .m = "inverse_distance"});
  }
  const PreparedGraph graph = prepare(three_steps(),
                                      {.smooth = "m_product",
                                       .window = 2,
                                       .laplacian = false,
                                       .precompute_first_product = false,
                                       .m = "inverse_distance"},
                                      2, true);
  EXPECT_EQ(graph.values64, (std::vector<double>{1, 1.5, 1})) << "of 0->1: 1, then 1 + 1/2; 1->1 once";
}

TEST(Prepare, WalksAndTheirTransposesByHand) {
  const SnapshotGraph graph = stepped(make_events(2, {{0, 1, 0}, {1, 1, 0}}));  // A = {{0, 0}, {1, 1}}
  const auto expect = [&](const char* walk, const std::vector<std::int64_t>& offsets,
                          const std::vector<VertexId>& columns, const std::vector<double>& values) {
    const PreparedGraph one =
        prepare(graph, {.laplacian = false, .walk = walk, .precompute_first_product = false}, 1, true);
    EXPECT_EQ(one.row_offsets, offsets) << walk;
    EXPECT_EQ(one.columns, columns) << walk;
    EXPECT_EQ(one.values64, values) << walk;
  };
  expect("in", {0, 0, 2}, {0, 1}, {0.5, 0.5});
  expect("in_transposed", {0, 1, 2}, {1, 1}, {0.5, 0.5});
  expect("out", {0, 1, 2}, {1, 1}, {1, 1});
  expect("out_transposed", {0, 0, 2}, {0, 1}, {1, 1});
}

TEST(Prepare, ScalesBothSidesByHand) {
  // A = {{0, 0, 4}, {0, 0, 0}, {2, 2, 0}}: rows sum to (4, 0, 4), columns to (2, 2, 4).
  const SnapshotGraph graph =
      stepped(make_events(3, {{2, 0, 0}, {2, 0, 0}, {2, 0, 0}, {2, 0, 0}, {0, 2, 0}, {0, 2, 0}, {1, 2, 0}, {1, 2, 0}}));
  const auto values = [&](const char* walk) {
    const PreparedGraph one =
        prepare(graph, {.laplacian = false, .walk = walk, .precompute_first_product = false}, 1, true);
    EXPECT_EQ(one.row_offsets, (std::vector<std::int64_t>{0, 1, 1, 3})) << walk;
    EXPECT_EQ(one.columns, (std::vector<VertexId>{2, 0, 1})) << walk;
    return one.values64;
  };
  EXPECT_EQ(values("symmetric"), (std::vector<double>{1, 0.5, 0})) << "vertex 1 has no incoming edge";
  const Column<double> out = values("out_symmetric");
  for (const std::size_t i : {0u, 1u, 2u}) EXPECT_NEAR(out[i], (i == 0 ? 4.0 : 2.0) / std::sqrt(8.0), 1e-15) << i;
}

TEST(Prepare, ASymmetricPatternAddsZeros) {
  const SnapshotGraph graph = stepped(make_events(2, {{0, 1, 0}, {1, 1, 0}}));
  const PreparedGraph one =
      prepare(graph, {.laplacian = false, .symmetric_pattern = true, .precompute_first_product = false}, 1, true);
  EXPECT_EQ(one.row_offsets, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_EQ(one.columns, (std::vector<VertexId>{1, 0, 1}));
  EXPECT_EQ(one.values64, (std::vector<double>{0, 1, 1}));
  const SnapshotGraph large = random_graph(30, 6, 4);
  Preprocessing what{.smooth = "edge_life", .window = 2};
  const PreparedGraph plain = prepare(large, what, 6, true);
  what.symmetric_pattern = true;
  const PreparedGraph symmetric = prepare(large, what, 6, true);
  EXPECT_GT(symmetric.nonzeros(), plain.nonzeros());
  EXPECT_EQ(symmetric.features64, plain.features64) << "zeros add nothing to A~ X";
}

TEST(Prepare, MayTransformStepsUnderEdgeLifeButNotLengthenIt) {
  SnapshotGraph graph = three_steps();
  const Preprocessing m{.smooth = "m_product", .window = 2}, life{.smooth = "edge_life", .window = 2};
  for (const char* repeats : {"edge_life", "sliding", "cumulative"}) {
    graph.repeats = repeats;
    EXPECT_NO_THROW(prepare(graph, m, 3, true)) << repeats;
    try {
      prepare(graph, life, 3, true);
      ADD_FAILURE() << repeats << " was counted again";
    } catch (const InvalidRequest& refused) {
      EXPECT_EQ(refused.where(), "/model/edge_life") << repeats;
    }
  }
}

TEST(Prepare, Fp32IsTheFp64ResultRoundedOnce) {
  const SnapshotGraph graph = test::in_fp32(random_graph(40, 13, 3));
  const Preprocessing what{.smooth = "m_product", .window = 5, .smooth_features = true};
  const PreparedGraph wide = prepare(graph, what, 13, true), narrow = prepare(graph, what, 13, false);
  EXPECT_TRUE(wide.values32.empty() && wide.features32.empty() && narrow.values64.empty() && narrow.features64.empty());
  EXPECT_EQ(narrow.columns, wide.columns);
  EXPECT_EQ(narrow.row_offsets, wide.row_offsets);
  EXPECT_EQ(narrow.values32, std::vector<float>(wide.values64.begin(), wide.values64.end()));
  EXPECT_EQ(narrow.features32, std::vector<float>(wide.features64.begin(), wide.features64.end()));
}

/// Both are what the two preparations without the other give, in either precision; one alone leaves the other out.
TEST(Prepare, FeaturesAreKeptNextToTheirProduct) {
  const SnapshotGraph graph = test::in_fp32(random_graph(40, 13, 3));
  Preprocessing what{.smooth = "edge_life", .window = 3, .precompute_first_product = false};
  const PreparedGraph before = prepare(graph, what, 13, true);
  what.precompute_first_product = true;
  const PreparedGraph product = prepare(graph, what, 13, true);
  what.keep_features = true;
  const PreparedGraph both = prepare(graph, what, 13, true), narrow = prepare(graph, what, 13, false);
  EXPECT_EQ(both.features64, before.features64);
  EXPECT_EQ(both.products64, product.features64);
  EXPECT_NE(both.products64, both.features64);
  EXPECT_EQ(narrow.features32, std::vector<float>(both.features64.begin(), both.features64.end()));
  EXPECT_EQ(narrow.products32, std::vector<float>(both.products64.begin(), both.products64.end()));
  EXPECT_TRUE(product.products64.empty() && both.products32.empty() && narrow.products64.empty());
  EXPECT_TRUE(both.features_kept && both.first_product_done && !product.features_kept);
  EXPECT_EQ(both.cell_width(), 2 * both.feature_width);
  EXPECT_EQ(product.cell_width(), product.feature_width);
  what.precompute_first_product = false;
  EXPECT_FALSE(prepare(graph, what, 1, true).features_kept) << "X alone needs nobody to keep it";
}

TEST(Prepare, FirstStepsDoNotDependOnLaterOnes) {
  const SnapshotGraph graph = random_graph(20, 12, 5);
  const Preprocessing what{.smooth = "edge_life", .window = 4};
  const PreparedGraph all = prepare(graph, what, 12, true), some = prepare(graph, what, 7, true);
  EXPECT_EQ(some.steps, 7);
  EXPECT_TRUE(std::equal(some.columns.begin(), some.columns.end(), all.columns.begin()));
  EXPECT_TRUE(std::equal(some.values64.begin(), some.values64.end(), all.values64.begin()));
  std::int64_t sum = 0;
  for (Step t = 0; t < 7; ++t) sum += some.step_nonzeros(t);
  EXPECT_EQ(sum, some.nonzeros());
}

TEST(Prepare, StepsWithoutEdgesKeepTheirSelfLoops) {
  const SnapshotGraph graph = stepped(make_events(3, {{0, 1, 0}, {0, 1, 2}}));
  const PreparedGraph prepared = prepare(graph, {}, 3, true);
  EXPECT_EQ(prepared.step_nonzeros(1), 3);
  EXPECT_EQ(prepared.values64[prepared.row_offsets[3]], 1.0);
}

/// Each weight is finite in fp32, their sum over steps is not.
TEST(Prepare, RefusesSumsBeyondFp32) {
  const SnapshotGraph graph = stepped(make_events(2, {{0, 1, 0}, {0, 1, 1}}, {3e38f, 3e38f}), {.weights = "file"});
  for (const Preprocessing& what :
       {Preprocessing{.smooth = "edge_life", .window = 2, .laplacian = false, .precompute_first_product = false},
        Preprocessing{.smooth = "m_product",
        .window = 2,
        .laplacian = false,
        .precompute_first_product = false,
        .m = "inverse_distance"}}) {
    EXPECT_NO_THROW(prepare(graph, what, 2, true)) << "fp64 holds them";
    EXPECT_NO_THROW(prepare(graph, what, 1, false));
    EXPECT_THROW(prepare(graph, what, 2, false), InvalidRequest);
  }
  EXPECT_NO_THROW(prepare(graph, {.smooth = "m_product", .window = 2, .laplacian = false}, 2, false)) << "a mean";
}

TEST(Prepare, RefusesImpossibleSettings) {
  const SnapshotGraph graph = three_steps();
  EXPECT_THROW(prepare(graph, {}, 0, true), InvalidRequest);
  EXPECT_THROW(prepare(graph, {}, 4, true), InvalidRequest);
  EXPECT_THROW(prepare(graph, {.smooth = "wax"}, 3, true), InvalidRequest);
  EXPECT_THROW(prepare(graph, {.smooth = "m_product", .m = "wax"}, 3, true), InvalidRequest);
  EXPECT_THROW(prepare(graph, {.smooth = "m_product", .window = 0}, 3, true), InvalidRequest);
  EXPECT_THROW(edge_life(graph, 0), InvalidRequest);
  const SnapshotGraph negative = stepped(make_events(2, {{0, 1, 0}}, {-1.0f}), {.weights = "file"});
  EXPECT_THROW(prepare(negative, {}, 1, true), InvalidRequest) << "a row sum of -1 makes D zero";
  EXPECT_NO_THROW(prepare(negative, {.laplacian = false}, 1, true));
}

}  // namespace
}  // namespace strobe
