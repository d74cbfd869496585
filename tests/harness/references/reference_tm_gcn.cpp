// TM-GCN from ESDG's equations (section 5.3): A and X smoothed by M, A normalised;
// H = M x relu(A~ X W1), Z = relu(A~ H W2).
#include <algorithm>

#include "tests/harness/references/references.hpp"

namespace strobe::reference {
namespace {

constexpr std::int64_t window = 5;  // the model's default

/// M of the paper for a vertex whose sequence began at step `begin`, t and k counted from 1 there: 1 / min(w, t) if
/// max(1, t - w + 1) <= k <= t, else 0.
double m_entry(std::int64_t t, std::int64_t k) {
  return std::max<std::int64_t>(1, t - window + 1) <= k && k <= t ? 1.0 / static_cast<double>(std::min(window, t))
                                                                  : 0.0;
}

std::vector<Matrix> times_m(const std::vector<Matrix>& x, const Cells& cells) {
  std::vector<Matrix> y(x.size(), Matrix(x[0].size(), std::vector<double>(x[0][0].size(), 0.0)));
  for (std::size_t t = 0; t < x.size(); ++t) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      for (std::size_t i = 0; i < x[k].size(); ++i) {
        if (!cells.exists(i, t)) continue;
        const std::int64_t before = cells.begin(i, t) - 1;
        const double m = m_entry(static_cast<std::int64_t>(t) - before, static_cast<std::int64_t>(k) - before);
        for (std::size_t j = 0; j < x[k][i].size(); ++j) y[t][i][j] += m * x[k][i][j];
      }
    }
  }
  return y;
}

std::vector<Matrix> embed_tm_gcn(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights,
                                 const Cells& cells) {
  std::vector<Matrix> a, x;
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    a.push_back(dense_adjacency(*graph.snapshots[t], graph.vertices));
    x.emplace_back(n, std::vector<double>(f));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[t][v][j] = graph.features[(t * n + v) * f + j];
    }
  }
  a = times_m(a, cells);
  x = times_m(x, cells);
  std::vector<Matrix> h(x.size());
  for (std::size_t t = 0; t < x.size(); ++t) {
    a[t] = laplacian(a[t], cells, t);
    h[t] = multiply(multiply(a[t], x[t]), weights.at("layer1.weight"));
    relu(h[t]);
  }
  h = times_m(h, cells);
  for (std::size_t t = 0; t < h.size(); ++t) {
    h[t] = multiply(multiply(a[t], h[t]), weights.at("layer2.weight"));
    relu(h[t]);
  }
  return h;
}

const RegisterReference tm_gcn_registered{"tm-gcn", embed_tm_gcn};

}  // namespace
}  // namespace strobe::reference
