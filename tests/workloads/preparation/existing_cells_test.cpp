// Preparation of graphs in which some cells do not exist, compared with the equations written down densely. The test
// finds the existing cells again from the edges.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/errors.hpp"
#include "tests/workloads/formats/snapshot_support.hpp"
#include "tests/workloads/graph/exact_support.hpp"
#include "tests/workloads/graph/random_steps.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/preparation/graph_difference.hpp"
#include "workloads/preparation/step_matrix.hpp"

namespace strobe {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix dense_zeros(std::size_t rows, std::size_t columns) { return Matrix(rows, std::vector<double>(columns, 0.0)); }

Matrix dense_product(const Matrix& a, const Matrix& x) {
  Matrix y = dense_zeros(a.size(), x[0].size());
  for (std::size_t v = 0; v < a.size(); ++v)
    for (std::size_t u = 0; u < x.size(); ++u)
      for (std::size_t f = 0; f < x[0].size(); ++f) y[v][f] += a[v][u] * x[u][f];
  return y;
}

Matrix dense_transpose(const Matrix& a) {
  Matrix t = dense_zeros(a.size(), a.size());
  for (std::size_t v = 0; v < a.size(); ++v)
    for (std::size_t u = 0; u < a.size(); ++u) t[u][v] = a[v][u];
  return t;
}

/// The first step of the sequence of each cell, or -1: [step][vertex].
std::vector<std::vector<int>> sequence_begins(const SnapshotGraph& graph, const std::string& kind) {
  const auto n = static_cast<std::size_t>(graph.vertices), steps = graph.snapshots.size();
  std::vector<std::vector<int>> begins(steps, std::vector<int>(n, -1));
  for (std::size_t v = 0; v < n; ++v) {
    std::vector<std::size_t> touched;
    for (std::size_t t = 0; t < steps; ++t) {
      const Matrix a = test::dense_exact(*graph.snapshots[t]);
      bool any = false;
      for (std::size_t u = 0; u < n; ++u) any = any || a[v][u] != 0 || a[u][v] != 0;
      if (any) touched.push_back(t);
    }
    for (std::size_t t = 0; t < steps && !touched.empty(); ++t) {
      const bool active = std::find(touched.begin(), touched.end(), t) != touched.end();
      const bool exists = kind == "active" ? active : t >= touched[0] && (kind == "seen" || t <= touched.back());
      if (exists) begins[t][v] = t > 0 && begins[t - 1][v] >= 0 ? begins[t - 1][v] : static_cast<int>(t);
    }
  }
  return begins;
}

/// Preparation of existing cells from its equations.
class DenseCells {
 public:
  DenseCells(const SnapshotGraph& graph, const Preprocessing& what, const std::string& kind, std::int64_t trained)
      : graph_(graph), what_(what), begins_(sequence_begins(graph, kind)), trained_(trained) {}

  bool exists(std::size_t v, std::size_t t) const { return begins_[t][v] >= 0; }

  /// A of step t, smoothed, before anything scales it.
  Matrix smoothed(std::size_t t) const {
    const std::size_t n = begins_[0].size();
    Matrix sum = dense_zeros(n, n);
    for (std::size_t s = 0; s <= t; ++s) {
      const Matrix a = test::dense_exact(*graph_.snapshots[s]);
      for (std::size_t v = 0; v < n; ++v)
        for (std::size_t u = 0; u < n; ++u)
          if (exists(v, t) && exists(u, t)) sum[v][u] += share(what_.smooth, v, s, t) * a[v][u];
    }
    return sum;
  }

  Matrix matrix(std::size_t t) const {
    Matrix a = smoothed(t);
    if (!what_.laplacian) return walk(a, what_.walk);
    std::vector<double> degree(a.size(), 1.0);
    for (std::size_t v = 0; v < a.size(); ++v)
      for (const double value : a[v]) degree[v] += value;
    for (std::size_t v = 0; v < a.size(); ++v) {
      if (exists(v, t)) a[v][v] += 1;
      for (std::size_t u = 0; u < a.size(); ++u) a[v][u] /= std::sqrt(degree[v] * degree[u]);
    }
    return a;
  }

  static Matrix walk(const Matrix& in, const std::string& name) {
    if (name == "none") return in;
    if (name.ends_with("symmetric")) return scaled_on_both_sides(in, name == "symmetric" ? in : dense_transpose(in));
    Matrix a = name.starts_with("out") ? dense_transpose(in) : in;
    for (auto& row : a) {
      double sum = 0;
      for (const double value : row) sum += value;
      for (double& value : row) value = sum == 0 ? 0 : value / sum;
    }
    return name.ends_with("transposed") ? dense_transpose(a) : a;
  }

  static Matrix scaled_on_both_sides(Matrix a, const Matrix& of) {
    const auto degree = [&of](std::size_t v) { return std::accumulate(of[v].begin(), of[v].end(), 0.0); };
    for (std::size_t v = 0; v < a.size(); ++v)
      for (std::size_t u = 0; u < a.size(); ++u)
        a[v][u] = degree(v) * degree(u) == 0 ? 0 : a[v][u] / std::sqrt(degree(v) * degree(u));
    return a;
  }

  /// X of step t, scaled and smoothed.
  Matrix features(std::size_t t) const {
    const auto n = begins_[0].size(), width = static_cast<std::size_t>(graph_.feature_width);
    Matrix x = dense_zeros(n, width);
    for (std::size_t s = 0; s <= t; ++s) {
      const Matrix raw = scaled(s);
      for (std::size_t v = 0; v < n; ++v)
        for (std::size_t f = 0; f < width; ++f)
          if (exists(v, t)) x[v][f] += share(what_.smooth_features ? "m_product" : "none", v, s, t) * raw[v][f];
    }
    return x;
  }

 private:
  /// How much of step s row v of step t has.
  double share(const std::string& smooth, std::size_t v, std::size_t s, std::size_t t) const {
    if (smooth == "none") return s == t ? 1 : 0;
    const std::int64_t back = t - s;
    if (back >= what_.window) return 0;
    if (smooth == "edge_life") return 1;
    const int begin = begins_[t][v];
    if (static_cast<int>(s) < begin) return 0;
    if (what_.m == "inverse_distance") return 1.0 / static_cast<double>(back + 1);
    return 1.0 / static_cast<double>(std::min<std::int64_t>(what_.window, static_cast<std::int64_t>(t) - begin + 1));
  }

  double raw(std::size_t t, std::size_t v, std::size_t f) const {
    const auto n = begins_[0].size(), width = static_cast<std::size_t>(graph_.feature_width);
    return exact_feature(graph_, (t * n + v) * width + f);
  }

  static double exact_feature(const SnapshotGraph& graph, std::size_t i) {
    return graph.exact_features.empty() ? static_cast<double>(graph.features[i]) : graph.exact_features[i];
  }

  Matrix scaled(std::size_t t) const {
    const auto n = begins_[0].size(), width = static_cast<std::size_t>(graph_.feature_width);
    Matrix x = dense_zeros(n, width);
    for (std::size_t f = 0; f < width; ++f) {
      double count = 0, sum = 0, squares = 0;
      for (std::size_t s = 0; s < static_cast<std::size_t>(trained_); ++s)
        for (std::size_t v = 0; v < n; ++v)
          if (exists(v, s)) count += 1, sum += raw(s, v, f), squares += raw(s, v, f) * raw(s, v, f);
      const double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
      for (std::size_t v = 0; v < n; ++v) {
        const double value = raw(t, v, f);
        x[v][f] = what_.feature_scale == "standardise" ? (value - mean) / deviation
                  : what_.feature_scale == "log1p"     ? std::log1p(value)
                                                       : value;
      }
    }
    return x;
  }

  const SnapshotGraph& graph_;
  const Preprocessing& what_;
  std::vector<std::vector<int>> begins_;
  std::int64_t trained_;
};

/// The entries of step t as a dense matrix, NaN where there is none.
Matrix entries_of(const PreparedGraph& graph, std::size_t t) {
  const std::size_t n = graph.vertices;
  Matrix a(n, std::vector<double>(n, std::nan("")));
  for (std::size_t v = 0; v < n; ++v)
    for (std::size_t i = graph.row_offsets[t * n + v]; i < static_cast<std::size_t>(graph.row_offsets[t * n + v + 1]);
         ++i)
      a[v][graph.columns[i]] = graph.values64[i];
  return a;
}

void expect_rows(const Column<double>& found, std::size_t t, const Matrix& expected, const DenseCells& cells) {
  const std::size_t width = expected[0].size();
  for (std::size_t v = 0; v < expected.size(); ++v) {
    for (std::size_t f = 0; f < width; ++f) {
      const double value = found[(t * expected.size() + v) * width + f];
      EXPECT_NEAR(value, expected[v][f], 1e-11) << "row " << v << " step " << t;
      if (!cells.exists(v, t)) {
        EXPECT_EQ(value, 0.0) << "a feature of a cell that does not exist";
      }
    }
  }
}

void expect_prepared(const SnapshotGraph& graph, const Preprocessing& what, const std::string& kind) {
  const std::int64_t trained = 2 * graph.steps() / 3;
  const FeatureScale scale(graph, what.feature_scale, trained, true, presence_of(graph, kind));
  const PreparedGraph prepared = prepare_scaled(scale, what, graph.steps(), true);
  EXPECT_EQ(prepared.presence, scale.presence());
  const DenseCells cells(graph, what, kind, trained);
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const Matrix expected = cells.matrix(t), found = entries_of(prepared, t), sums = cells.smoothed(t);
    for (std::size_t v = 0; v < expected.size(); ++v) {
      for (std::size_t u = 0; u < expected.size(); ++u) {
        if (!cells.exists(v, t) || !cells.exists(u, t)) {
          EXPECT_TRUE(std::isnan(found[v][u])) << v << " " << u;
        }
        EXPECT_NEAR(std::isnan(found[v][u]) ? 0.0 : found[v][u], expected[v][u], 1e-12) << v << " " << u << " at " << t;
        if (what.symmetric_pattern) {
          EXPECT_EQ(std::isnan(found[v][u]), sums[v][u] == 0 && sums[u][v] == 0);
        }
      }
    }
    const Matrix x = cells.features(t);
    if (what.precompute_first_product)
      expect_rows(what.keep_features ? prepared.products64 : prepared.features64, t, dense_product(expected, x), cells);
    if (!what.precompute_first_product || what.keep_features) expect_rows(prepared.features64, t, x, cells);
  }
}

const std::vector<std::string> presences = {"seen", "lifetime", "active"};

TEST(ExistingCells, SmoothingAndLaplacianEqualTheEquations) {
  std::uint64_t seed = 0;
  for (const std::string& kind : presences) {
    for (const char* smooth : {"none", "m_product", "edge_life"}) {
      for (const std::int64_t window : {1, 2, 4, 30}) {
        for (int bits = 0; bits < 16; ++bits) {
          const Preprocessing what{.smooth = smooth,
                                   .window = window,
                                   .smooth_features = (bits & 1) != 0,
                                   .laplacian = (bits & 2) != 0,
                                   .precompute_first_product = (bits & 4) != 0,
                                   .keep_features = (bits & 4) != 0 && window == 2,
                                   .feature_scale = (bits & 8) != 0 ? "standardise" : "none",
                                   .m = window == 4 ? "inverse_distance" : "row_mean"};
          SCOPED_TRACE(kind + " " + smooth + " window " + std::to_string(window) + " bits " + std::to_string(bits));
          expect_prepared(test::random_steps(8, 9, 7, ++seed), what, kind);
        }
      }
    }
  }
}

TEST(ExistingCells, WalksAndSymmetricPatternsEqualTheEquations) {
  std::uint64_t seed = 500;
  for (const std::string& kind : presences) {
    for (const char* walk : {"none", "in", "out", "in_transposed", "out_transposed", "symmetric", "out_symmetric"}) {
      for (const bool symmetric : {false, true}) {
        SCOPED_TRACE(kind + " " + walk);
        expect_prepared(test::random_steps(8, 9, 7, ++seed),
                        {.smooth = "edge_life",
                         .window = 3,
                         .laplacian = false,
                         .walk = walk,
                         .symmetric_pattern = symmetric && std::string_view(walk) == "none",
                         .precompute_first_product = symmetric,
                         .feature_scale = "log1p"},
                        kind);
      }
    }
  }
}

TEST(ExistingCells, FeatureTermsWalkOverThem) {
  const Preprocessing what{.smooth = "edge_life",
                           .window = 2,
                           .laplacian = false,
                           .precompute_first_product = false,
                           .feature_terms = {{"in", "out"}, 2, "chebyshev"}};
  for (const std::string& kind : presences) {
    const SnapshotGraph graph = test::random_steps(8, 9, 7, 77);
    const PreparedGraph prepared = prepare(graph, what, graph.steps(), true, presence_of(graph, kind));
    const DenseCells cells(graph, what, kind, 1);
    for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
      const Matrix x = cells.features(t), a = cells.smoothed(t);
      std::vector<Matrix> terms = {x};
      for (const char* walk : {"in", "out"}) {
        const Matrix s = DenseCells::walk(a, walk), first = dense_product(s, x), second = dense_product(s, first);
        Matrix next = second;
        for (std::size_t v = 0; v < next.size(); ++v)
          for (std::size_t f = 0; f < next[v].size(); ++f) next[v][f] = 2 * second[v][f] - x[v][f];
        terms.push_back(first);
        terms.push_back(next);
      }
      Matrix side_by_side = dense_zeros(x.size(), 0);
      for (const Matrix& term : terms)
        for (std::size_t v = 0; v < x.size(); ++v)
          side_by_side[v].insert(side_by_side[v].end(), term[v].begin(), term[v].end());
      expect_rows(prepared.features64, t, side_by_side, cells);
    }
  }
}

/// 0 -> 1 with weight 4 at step 0, 2 -> 1 at step 1, 0 -> 1 with weight 2 at step 2: with presence active, 0 begins
/// again at 2.
TEST(ExistingCells, ByHand) {
  EventGraph events = test::make_events(3, {{0, 1, 0}, {2, 1, 1}, {0, 1, 2}}, {4, 1, 2});
  events.stepped = true;
  const SnapshotGraph graph = make_snapshots(events, {.weights = "file"});
  const Preprocessing mean{.smooth = "m_product",
                           .window = 3,
                           .smooth_features = true,
                           .laplacian = false,
                           .precompute_first_product = false};
  const PreparedGraph active = prepare(graph, mean, 3, true, presence_of(graph, "active"));
  EXPECT_EQ(active.row_offsets, (std::vector<std::int64_t>{0, 0, 1, 1, 1, 2, 2, 2, 3, 3}));
  EXPECT_EQ(active.columns, (std::vector<VertexId>{0, 2, 0})) << "0 is not there at step 1, 2 not at step 2";
  EXPECT_EQ(active.values64, (std::vector<double>{4, 0.5, 2})) << "4 / 1; 1 / 2; (4 + 2) / 3";
  // (in, out) degrees: vertex 0 {0,1} {0,0} {0,1}, vertex 1 {1,0} thrice, vertex 2 {0,0} {0,1} {0,0}.
  EXPECT_EQ(active.features64, (std::vector<double>{0, 1, 1, 0, 0, 0, /*1*/ 0, 0, 1, 0, 0, 1, /*2*/ 0, 1, 1, 0, 0, 0}));
  const PreparedGraph seen = prepare(graph, mean, 3, true, presence_of(graph, "seen"));
  EXPECT_EQ(seen.values64, (std::vector<double>{4, 2, 0.5, 2, 1.0 / 3}));
  EXPECT_EQ(seen.features64[12 + 5], 0.5) << "vertex 2 at step 2: (1 + 0) / 2, as it began at step 1";
  const PreparedGraph laplacian =
      prepare(graph, {.precompute_first_product = false}, 2, true, presence_of(graph, "active"));
  EXPECT_EQ(laplacian.step_nonzeros(0), 3) << "0 -> 1 and the loops of 0 and 1; none of 2";
}

TEST(ExistingCells, WhereAllExistNothingChangesNotABit) {
  SnapshotGraph graph = test::random_steps(8, 9, 7, 5);
  auto first = std::make_shared<Snapshot>();  // every vertex has a self-loop at the first step
  first->row_offsets.push_back(0);
  for (VertexId v = 0; v < graph.vertices; ++v) {
    first->columns.push_back(v);
    first->values.push_back(0.25F * static_cast<float>(v + 1));
    first->row_offsets.push_back(v + 1);
  }
  graph.snapshots[0] = first;
  for (const char* smooth : {"none", "m_product", "edge_life"}) {
    const Preprocessing what{
        .smooth = smooth, .window = 3, .smooth_features = true, .keep_features = true, .feature_scale = "standardise"};
    const PreparedGraph all = prepare(graph, what, 9, true),
                        seen = prepare(graph, what, 9, true, presence_of(graph, "seen"));
    EXPECT_EQ(all.row_offsets, seen.row_offsets);
    EXPECT_EQ(all.columns, seen.columns);
    EXPECT_EQ(all.values64, seen.values64);
    EXPECT_EQ(all.features64, seen.features64);
    EXPECT_EQ(all.products64, seen.products64);
  }
}

TEST(ExistingCells, TheFirstStepsDoNotDependOnLaterOnes) {
  const SnapshotGraph graph = test::random_steps(8, 9, 7, 6);
  const Preprocessing what{.smooth = "m_product", .window = 3, .smooth_features = true};
  const auto presence = presence_of(graph, "active");
  const PreparedGraph all = prepare(graph, what, 9, true, presence), some = prepare(graph, what, 5, true, presence);
  ASSERT_LT(some.columns.size(), all.columns.size());
  EXPECT_TRUE(std::equal(some.columns.begin(), some.columns.end(), all.columns.begin()));
  EXPECT_TRUE(std::equal(some.values64.begin(), some.values64.end(), all.values64.begin()));
  EXPECT_TRUE(std::equal(some.features64.begin(), some.features64.end(), all.features64.begin()));
  SnapshotGraph shorter = graph;
  shorter.snapshots.resize(4);
  EXPECT_THROW(prepare(graph, what, 9, true, presence_of(shorter, "active")), Error);
  EXPECT_THROW(prepare(test::random_steps(7, 9, 7, 6), what, 9, true, presence), Error);
}

TEST(ExistingCells, DifferencesOfStepsFollowTheirDefinition) {
  for (const std::string& kind : presences) {
    for (std::uint64_t seed = 900; seed < 904; ++seed) {
      const SnapshotGraph graph = test::random_steps(20, 9, 30, seed);
      const PreparedGraph prepared =
          prepare(graph, {.smooth = "m_product", .window = 3}, 9, true, presence_of(graph, kind));
      for (Step t = 1; t < 9; ++t) {
        const GraphDifference found = find_differences(prepared, {{t - 1, t}}, true)[0];
        const GraphDifference expected = test::naive_difference(prepared, t - 1, t);
        EXPECT_EQ(found.sizes, expected.sizes);
        EXPECT_EQ(found.removed, expected.removed);
        EXPECT_EQ(found.added, expected.added);
        EXPECT_EQ(found.changed, expected.changed);
      }
    }
  }
}

TEST(ExistingCells, StandardisedFeaturesHaveMeanZeroOverThem) {
  const SnapshotGraph graph = test::random_steps(12, 9, 12, 31);
  const auto presence = presence_of(graph, "seen");
  const FeatureScale scale(graph, "standardise", 6, true, presence);
  double sum = 0, squares = 0, cells = 0;
  for (Step t = 0; t < 6; ++t) {
    const std::vector<double> x = scale.step(t);
    for (VertexId v = 0; v < graph.vertices; ++v) {
      const double value = x[2 * static_cast<std::size_t>(v)];
      if (!presence->exists(v, t)) {
        EXPECT_EQ(value, 0.0);
      }
      sum += value, squares += value * value, cells += presence->exists(v, t) ? 1 : 0;
    }
  }
  ASSERT_LT(cells, 6 * 12);
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_NEAR(squares / cells, 1, 1e-12);
  for (const double value : scale.step(8)) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace strobe
