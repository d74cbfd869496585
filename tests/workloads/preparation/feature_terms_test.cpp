// Terms of features over random walks against dense powers of dense walks.
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/graph/exact_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr std::int64_t few_vertices = 6;
constexpr int few_steps = 3;

SnapshotGraph some_graph() {
  const RandomStream random(9, random_purpose::test);
  EventGraph events = test::make_events(few_vertices, {});
  std::uint64_t drawn = 0;
  for (int t = 0; t < few_steps; ++t) {
    for (int e = 0; e < 11; ++e) {
      events.source.push_back(
          static_cast<VertexId>(random.below(drawn++, few_vertices - 1)));  // the last one has no way on
      events.target.push_back(static_cast<VertexId>(random.below(drawn++, few_vertices)));
      events.time.push_back(t);
      events.weight.push_back(static_cast<float>(0.1 + random.uniform(drawn++)));
    }
  }
  events.stepped = true;
  return make_snapshots(events, {.weights = "file"});
}

Matrix transpose(const Matrix& a) {
  Matrix t(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

/// p A x + q y.
Matrix combined(double p, const Matrix& a, const Matrix& x, double q, const Matrix& y) {
  Matrix result = y;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t f = 0; f < x[0].size(); ++f) {
      double sum = 0;
      for (std::size_t j = 0; j < a.size(); ++j) sum += a[i][j] * x[j][f];
      result[i][f] = p * sum + q * y[i][f];
    }
  }
  return result;
}

/// The walk over a dense snapshot, whose row v lists the sources of v's edges.
Matrix dense_walk(const Matrix& in, const std::string& name) {
  const bool along = name.starts_with("out");
  Matrix a = along ? transpose(in) : in;
  for (auto& row : a) {
    double sum = 0;
    for (const double value : row) sum += value;
    for (double& value : row) value = sum == 0 ? 0 : value / sum;
  }
  return name.ends_with("transposed") ? transpose(a) : a;
}

std::vector<Matrix> expected_terms(const Matrix& in, const Matrix& x, const FeatureTerms& terms) {
  std::vector<Matrix> found = {x};
  Matrix start = x;
  for (const std::string& name : terms.walks) {
    const Matrix s = dense_walk(in, name);
    std::vector<Matrix> z = {start};
    for (int k = 1; k <= terms.hops; ++k) {
      const auto last = z.size() - 1;
      const bool two = terms.kind != "powers" && k >= 2;
      z.push_back(two ? combined(2, s, z[last], -1, z[last - 1]) : combined(1, s, z[last], 0, x));
      found.push_back(z.back());
    }
    if (terms.kind == "carried") start = z[z.size() - 2];
  }
  return found;
}

void expect_terms(const SnapshotGraph& graph, const FeatureTerms& terms) {
  const Preprocessing what{.laplacian = false, .precompute_first_product = false, .feature_terms = terms};
  const PreparedGraph prepared = prepare(graph, what, few_steps, true);
  const auto width = static_cast<std::size_t>(graph.feature_width), n = static_cast<std::size_t>(few_vertices);
  const std::size_t all = prepared.feature_width;
  ASSERT_EQ(all, width * static_cast<std::size_t>(terms.count()));
  for (std::size_t t = 0; t < few_steps; ++t) {
    Matrix x(n, std::vector<double>(width));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t f = 0; f < width; ++f) x[v][f] = graph.features[(t * n + v) * width + f];
    }
    const std::vector<Matrix> expected = expected_terms(test::dense_exact(*graph.snapshots[t]), x, terms);
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t c = 0; c < all; ++c) {
        EXPECT_NEAR(prepared.features64[(t * n + v) * all + c], expected[c / width][v][c % width], 1e-12)
            << terms.kind << " step " << t << " vertex " << v << " column " << c;
      }
    }
  }
}

TEST(FeatureTerms, AreThoseOfDenseWalks) {
  const SnapshotGraph graph = some_graph();
  for (const char* kind : {"powers", "chebyshev", "carried"}) {
    for (int hops = 1; hops <= 3; ++hops) {
      expect_terms(graph, {{"out", "in"}, hops, kind});
      expect_terms(graph, {{"out_transposed", "in_transposed"}, hops, kind});
      expect_terms(graph, {{"in"}, hops, kind});
    }
  }
}

TEST(FeatureTerms, LeaveTheMatrixAndSinglePrecisionAlone) {
  const SnapshotGraph graph = some_graph();
  Preprocessing what{.laplacian = false, .precompute_first_product = false};
  const PreparedGraph plain = prepare(graph, what, few_steps, false);
  what.feature_terms = {{"out", "in"}, 2, "powers"};
  const PreparedGraph terms = prepare(graph, what, few_steps, false);
  EXPECT_EQ(terms.columns, plain.columns);
  EXPECT_EQ(terms.values32, plain.values32);
  ASSERT_EQ(terms.features32.size(), 5 * plain.features32.size());
  for (std::size_t i = 0; i < plain.features32.size(); ++i)
    EXPECT_EQ(terms.features32[i / 2 * 10 + i % 2], plain.features32[i]);
}

TEST(FeatureTerms, RefuseUnknownTermsAndLaplacians) {
  const SnapshotGraph graph = some_graph();
  for (const FeatureTerms& terms : {FeatureTerms{{"in"}, 2, "legendre"}, FeatureTerms{{"in"}, -1, "powers"}}) {
    EXPECT_THROW(prepare(graph, {.laplacian = false, .feature_terms = terms}, few_steps, true), InvalidRequest);
  }
  EXPECT_THROW(prepare(graph, {.laplacian = false, .feature_terms = {{"sideways"}, 2, "powers"}}, few_steps, true),
               InvalidRequest);
  EXPECT_THROW(prepare(graph, {.feature_terms = {{"in"}, 2, "powers"}}, few_steps, true), InvalidRequest);
}

}  // namespace
}  // namespace strobe
