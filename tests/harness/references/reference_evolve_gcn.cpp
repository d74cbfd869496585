// EvolveGCN from its papers' equations. O: W_t = LSTM(W_{t-1}) (ESDG section 5.2). H: W_t = GRU(Z_t, W_{t-1}) with the
// summary Z_t of EvolveGCN section 3.2. Both: Y_t = relu(A~_t X_t W_t) twice, A smoothed by edge life.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/harness/references/references.hpp"

namespace strobe::reference {
namespace {

constexpr std::size_t life = 5;  // the models' default

double gate_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Matrix rows(const Matrix& m, std::size_t first, std::size_t count) {
  return {m.begin() + static_cast<std::ptrdiff_t>(first), m.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

/// function(Wx_k x + Wh_k h + B_k) of gate k.
Matrix gate(const Weights& w, const std::string& layer, std::size_t k, const Matrix& x, const Matrix& h,
            double (*function)(double)) {
  const std::size_t f = h.size();
  const Matrix from_x = multiply(rows(w.at(layer + "evolve.weight_x"), k * f, f), x);
  const Matrix from_h = multiply(rows(w.at(layer + "evolve.weight_h"), k * f, f), h);
  Matrix sum = rows(w.at(layer + "evolve.bias"), k * f, f);
  for (std::size_t i = 0; i < f; ++i) {
    for (std::size_t j = 0; j < sum[i].size(); ++j) sum[i][j] = function(sum[i][j] + from_x[i][j] + from_h[i][j]);
  }
  return sum;
}

double squash(double x) { return std::tanh(x); }

/// One step of the matrix LSTM whose input is its own state.
void lstm(const Weights& w, const std::string& layer, Matrix& h, Matrix& c) {
  const Matrix in = gate(w, layer, 0, h, h, gate_sigmoid), forget = gate(w, layer, 1, h, h, gate_sigmoid),
               candidate = gate(w, layer, 2, h, h, squash), out = gate(w, layer, 3, h, h, gate_sigmoid);
  for (std::size_t i = 0; i < h.size(); ++i) {
    for (std::size_t j = 0; j < h[i].size(); ++j) {
      c[i][j] = forget[i][j] * c[i][j] + in[i][j] * candidate[i][j];
      h[i][j] = out[i][j] * std::tanh(c[i][j]);
    }
  }
}

void gru(const Weights& w, const std::string& layer, const Matrix& x, Matrix& h) {
  const Matrix update = gate(w, layer, 0, x, h, gate_sigmoid), reset = gate(w, layer, 1, x, h, gate_sigmoid);
  Matrix read = h;
  for (std::size_t i = 0; i < h.size(); ++i) {
    for (std::size_t j = 0; j < h[i].size(); ++j) read[i][j] *= reset[i][j];
  }
  const Matrix candidate = gate(w, layer, 2, x, read, squash);
  for (std::size_t i = 0; i < h.size(); ++i) {
    for (std::size_t j = 0; j < h[i].size(); ++j)
      h[i][j] = (1 - update[i][j]) * h[i][j] + update[i][j] * candidate[i][j];
  }
}

/// [F, k]: the k vertices with an incoming edge of the largest score, times tanh of it.
Matrix summary(const Matrix& a, const Matrix& x, const Matrix& direction, std::size_t k) {
  double squares = 0;
  for (const auto& row : direction) squares += row[0] * row[0];
  std::vector<double> score(x.size(), 0.0);
  std::vector<std::size_t> order;
  for (std::size_t v = 0; v < x.size(); ++v) {
    for (std::size_t f = 0; f < direction.size(); ++f) score[v] += x[v][f] * direction[f][0] / std::sqrt(squares);
    bool connected = false;
    for (std::size_t u = 0; u < a.size(); ++u) connected = connected || (u != v && a[v][u] != 0);
    if (connected) order.push_back(v);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t u, std::size_t v) { return score[u] > score[v]; });
  Matrix z(direction.size(), std::vector<double>(k, 0.0));
  for (std::size_t i = 0; i < k && !order.empty(); ++i) {
    const std::size_t v = order[std::min(i, order.size() - 1)];
    for (std::size_t f = 0; f < direction.size(); ++f) z[f][i] = x[v][f] * std::tanh(score[v]);
  }
  return z;
}

/// One layer over all steps, in place.
void convolve(const std::vector<Matrix>& a, std::vector<Matrix>& x, const Weights& weights, const std::string& layer,
              bool with_summary) {
  Matrix w = weights.at(layer + "weight"), c(w.size(), std::vector<double>(w[0].size(), 0.0));
  for (std::size_t t = 0; t < x.size(); ++t) {
    if (with_summary) {
      gru(weights, layer, summary(a[t], x[t], weights.at(layer + "score"), w[0].size()), w);
    } else {
      lstm(weights, layer, w, c);
    }
    x[t] = multiply(multiply(a[t], x[t]), w);
    relu(x[t]);
  }
}

std::vector<Matrix> embed_evolve_gcn(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights,
                                     const Cells& cells, bool with_summary) {
  std::vector<Matrix> raw, a, x;
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    raw.push_back(dense_adjacency(*graph.snapshots[t], graph.vertices));
    Matrix sum = raw[t];
    for (std::size_t back = 1; back < life && back <= t; ++back) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) sum[i][j] += raw[t - back][i][j];
      }
    }
    a.push_back(laplacian(sum, cells, t));
    x.emplace_back(n, std::vector<double>(f));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[t][v][j] = graph.features[(t * n + v) * f + j];
    }
  }
  convolve(a, x, weights, "layer1.", with_summary);
  convolve(a, x, weights, "layer2.", with_summary);
  return x;
}

const RegisterReference evolve_gcn_o_registered{
    "evolve-gcn-o", [](const SnapshotGraph& graph, std::int64_t steps, const Weights& weights, const Cells& cells) {
      return embed_evolve_gcn(graph, steps, weights, cells, false);
    }};
const RegisterReference evolve_gcn_h_registered{
    "evolve-gcn-h", [](const SnapshotGraph& graph, std::int64_t steps, const Weights& weights, const Cells& cells) {
      return embed_evolve_gcn(graph, steps, weights, cells, true);
    }};

}  // namespace
}  // namespace strobe::reference
