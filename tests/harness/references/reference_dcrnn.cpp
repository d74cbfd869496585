// DCRNN from its equations: two random walks of two hops over [x, h], a GRU whose gates are linear in all terms.
#include <cmath>

#include "tests/harness/references/references.hpp"

namespace strobe::reference {
namespace {

constexpr int hops = 2;  // the model's default

/// Rows scaled to sum 1; rows without entries stay zero.
Matrix walk(Matrix a) {
  for (auto& row : a) {
    double sum = 0;
    for (const double value : row) sum += value;
    for (double& value : row) value = sum == 0 ? 0 : value / sum;
  }
  return a;
}

Matrix transpose(const Matrix& a) {
  Matrix t(a.size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

/// Appends z and its hops along both walks to every row of `terms`.
void diffuse(const std::vector<Matrix>& walks, const Matrix& z, Matrix& terms) {
  const auto append = [&](const Matrix& part) {
    for (std::size_t v = 0; v < part.size(); ++v) terms[v].insert(terms[v].end(), part[v].begin(), part[v].end());
  };
  append(z);
  for (const Matrix& s : walks) {
    Matrix power = z;
    for (int k = 0; k < hops; ++k) append(power = multiply(s, power));
  }
}

Matrix linear(const Matrix& terms, const Matrix& weight, const std::vector<double>& bias) {
  Matrix y = multiply(terms, weight);
  for (auto& row : y) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += bias[j];
  }
  return y;
}

std::vector<Matrix> embed_dcrnn(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights,
                                const Cells& cells) {
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  const std::size_t h = weights.at("layer1.candidate.weight")[0].size();
  Matrix state(n, std::vector<double>(h, 0.0));
  std::vector<Matrix> all;
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    const Matrix in = dense_adjacency(*graph.snapshots[t], graph.vertices);  // row v lists the sources of v's edges
    const std::vector<Matrix> walks = {walk(transpose(in)), walk(in)};
    forget(state, cells, t);
    Matrix x(n, std::vector<double>(f)), of_x(n), with_state, with_reset, reset = state;
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[v][j] = graph.features[(t * n + v) * f + j];
    }
    diffuse(walks, x, of_x);
    with_state = with_reset = of_x;
    diffuse(walks, state, with_state);
    Matrix gates = linear(with_state, weights.at("layer1.gate.weight"), weights.at("layer1.gate.bias")[0]);
    for (std::size_t v = 0; v < n; ++v) {
      for (double& gate : gates[v]) gate = 1 / (1 + std::exp(-gate));
      for (std::size_t j = 0; j < h; ++j) reset[v][j] = gates[v][j] * state[v][j];
    }
    diffuse(walks, reset, with_reset);
    const Matrix candidate =
        linear(with_reset, weights.at("layer1.candidate.weight"), weights.at("layer1.candidate.bias")[0]);
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < h; ++j) {
        const double u = gates[v][h + j];
        state[v][j] = u * state[v][j] + (1 - u) * std::tanh(candidate[v][j]);
      }
    }
    all.push_back(state);
  }
  return all;
}

const RegisterReference dcrnn_registered{"dcrnn", embed_dcrnn};

}  // namespace
}  // namespace strobe::reference
