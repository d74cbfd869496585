// CD-GCN from ESDG's equations (section 5.1): per layer Y0 = A~ X, Y = relu([Y0 | Y0 W]), then per vertex the LSTM of
// Hochreiter and Schmidhuber over all steps from a zero state.
#include <cmath>

#include "tests/harness/references/references.hpp"

namespace strobe::reference {
namespace {

double cell_sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

/// y_t of the LSTM for one vertex's inputs x [T][F], from zero where a sequence of vertex v starts.
std::vector<std::vector<double>> lstm(const std::vector<std::vector<double>>& x, const Matrix& w, const Matrix& u,
                                      const std::vector<double>& bias, const Cells& cells, std::size_t v) {
  const std::size_t width = u.size();
  std::vector<double> h(width, 0.0), c(width, 0.0);
  std::vector<std::vector<double>> y;
  for (std::size_t t = 0; t < x.size(); ++t) {
    if (cells.starts(v, t)) h = c = std::vector<double>(width, 0.0);
    const std::vector<double>& input = x[t];
    std::vector<double> z = bias;
    for (std::size_t j = 0; j < z.size(); ++j) {
      for (std::size_t f = 0; f < input.size(); ++f) z[j] += input[f] * w[f][j];
      for (std::size_t k = 0; k < width; ++k) z[j] += h[k] * u[k][j];
    }
    for (std::size_t k = 0; k < width; ++k) {
      c[k] = cell_sigmoid(z[width + k]) * c[k] + cell_sigmoid(z[k]) * std::tanh(z[2 * width + k]);
      h[k] = cell_sigmoid(z[3 * width + k]) * std::tanh(c[k]);
    }
    y.push_back(h);
  }
  return y;
}

std::vector<Matrix> embed_cd_gcn(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights,
                                 const Cells& cells) {
  std::vector<Matrix> a, x;
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    a.push_back(laplacian(dense_adjacency(*graph.snapshots[t], graph.vertices), cells, t));
    x.emplace_back(n, std::vector<double>(f));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[t][v][j] = graph.features[(t * n + v) * f + j];
    }
  }
  for (const std::string layer : {"layer1.", "layer2."}) {
    for (std::size_t t = 0; t < x.size(); ++t) {
      Matrix y = multiply(a[t], x[t]);
      const Matrix convolved = multiply(y, weights.at(layer + "gcn.weight"));
      for (std::size_t v = 0; v < n; ++v) y[v].insert(y[v].end(), convolved[v].begin(), convolved[v].end());
      relu(y);
      x[t] = y;
    }
    for (std::size_t v = 0; v < n; ++v) {
      std::vector<std::vector<double>> timeline;
      for (const Matrix& step : x) timeline.push_back(step[v]);
      const auto y = lstm(timeline, weights.at(layer + "lstm.input_weight"), weights.at(layer + "lstm.hidden_weight"),
                          weights.at(layer + "lstm.bias")[0], cells, v);
      for (std::size_t t = 0; t < x.size(); ++t) x[t][v] = y[t];
    }
  }
  return x;
}

const RegisterReference cd_gcn_registered{"cd-gcn", embed_cd_gcn};

}  // namespace
}  // namespace strobe::reference
