// TM-GCN from ESDG's equations: smooth A and X by M (section 5.3), normalise, then
// Y = relu(A~ relu-M-transformed ...): layer 1, M-transform, layer 2.
#include <algorithm>
#include <cmath>

#include "tests/harness/references.hpp"

namespace strobe::reference {
namespace {

constexpr std::int64_t window = 5;  // the model's default

Matrix dense_adjacency(const Snapshot& snapshot, std::int64_t vertices) {
  const auto n = static_cast<std::size_t>(vertices);
  Matrix a(n, std::vector<double>(n, 0.0));
  for (std::size_t v = 0; v < n; ++v) {
    for (std::int64_t e = snapshot.row_offsets[v]; e < snapshot.row_offsets[v + 1]; ++e) {
      a[v][static_cast<std::size_t>(snapshot.columns[static_cast<std::size_t>(e)])] += snapshot.values[static_cast<std::size_t>(e)];
    }
  }
  return a;
}

/// M of the paper, 1-based t and k: 1 / min(w, t) if max(1, t - w + 1) <= k <= t, else 0.
double m_entry(std::int64_t t, std::int64_t k) {
  return std::max<std::int64_t>(1, t - window + 1) <= k && k <= t ? 1.0 / static_cast<double>(std::min(window, t)) : 0.0;
}

std::vector<Matrix> times_m(const std::vector<Matrix>& x) {
  std::vector<Matrix> y(x.size(), Matrix(x[0].size(), std::vector<double>(x[0][0].size(), 0.0)));
  for (std::size_t t = 0; t < x.size(); ++t) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double m = m_entry(static_cast<std::int64_t>(t) + 1, static_cast<std::int64_t>(k) + 1);
      for (std::size_t i = 0; m != 0 && i < x[k].size(); ++i) {
        for (std::size_t j = 0; j < x[k][i].size(); ++j) y[t][i][j] += m * x[k][i][j];
      }
    }
  }
  return y;
}

Matrix laplacian(Matrix a) {
  std::vector<double> degree(a.size(), 1.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const double value : a[i]) degree[i] += value;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i][i] += 1.0;
    for (std::size_t j = 0; j < a.size(); ++j) a[i][j] /= std::sqrt(degree[i] * degree[j]);
  }
  return a;
}

std::vector<Matrix> embed(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights) {
  std::vector<Matrix> a, x;
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    a.push_back(dense_adjacency(*graph.snapshots[t], graph.vertices));
    x.emplace_back(n, std::vector<double>(f));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[t][v][j] = graph.features[(t * n + v) * f + j];
    }
  }
  a = times_m(a);
  x = times_m(x);
  std::vector<Matrix> h(x.size());
  for (std::size_t t = 0; t < x.size(); ++t) {
    a[t] = laplacian(a[t]);
    h[t] = multiply(multiply(a[t], x[t]), weights.at("layer1.weight"));
    relu(h[t]);
  }
  h = times_m(h);
  for (std::size_t t = 0; t < h.size(); ++t) {
    h[t] = multiply(multiply(a[t], h[t]), weights.at("layer2.weight"));
    relu(h[t]);
  }
  return h;
}

}  // namespace

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b[0].size(), 0.0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

void relu(Matrix& a) {
  for (auto& row : a) {
    for (double& value : row) value = std::max(value, 0.0);
  }
}

const std::map<std::string, Embed>& models() {
  static const std::map<std::string, Embed> all = {{"tm-gcn", embed}};
  return all;
}

}  // namespace strobe::reference
