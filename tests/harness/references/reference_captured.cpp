// The example of the captured model from its equations: C = relu(A~ X W + b); r, u = sigmoid([C, H] W_g + b_g); n =
// tanh([C, r H] W_c + b_c); H' = u H + (1 - u) n, from a zero state where a sequence starts.
#include <cmath>

#include "tests/harness/references/references.hpp"

namespace strobe::reference {
namespace {

/// [left, right] w + bias.
Matrix affine_of(const Matrix& left, const Matrix& right, const Matrix& w, const std::vector<double>& bias) {
  Matrix both = left;
  for (std::size_t v = 0; v < both.size(); ++v) both[v].insert(both[v].end(), right[v].begin(), right[v].end());
  Matrix y = multiply(both, w);
  for (auto& row : y) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += bias[j];
  }
  return y;
}

std::vector<Matrix> embed_captured(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights,
                                   const Cells& cells) {
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  const std::size_t h = weights.at("candidate.weight")[0].size();
  Matrix state(n, std::vector<double>(h, 0.0));
  std::vector<Matrix> all;
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    const Matrix a = laplacian(dense_adjacency(*graph.snapshots[t], graph.vertices), cells, t);
    Matrix x(n, std::vector<double>(f));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[v][j] = graph.features[(t * n + v) * f + j];
    }
    forget(state, cells, t);
    Matrix c = affine_of(multiply(a, x), Matrix(n), weights.at("conv.weight"), weights.at("conv.bias")[0]);
    relu(c);
    Matrix gates = affine_of(c, state, weights.at("gates.weight"), weights.at("gates.bias")[0]), kept = state;
    for (std::size_t v = 0; v < n; ++v) {
      for (double& gate : gates[v]) gate = 1 / (1 + std::exp(-gate));
      for (std::size_t j = 0; j < h; ++j) kept[v][j] *= gates[v][j];
    }
    const Matrix fresh = affine_of(c, kept, weights.at("candidate.weight"), weights.at("candidate.bias")[0]);
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < h; ++j) {
        const double u = gates[v][h + j];
        state[v][j] = u * state[v][j] + (1 - u) * std::tanh(fresh[v][j]);
      }
    }
    all.push_back(state);
  }
  return all;
}

const RegisterReference captured_registered{"captured", embed_captured};

}  // namespace
}  // namespace strobe::reference
