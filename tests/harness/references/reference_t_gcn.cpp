// T-GCN as DGC describes it: per gate two graph convolutions with a relu between them, then per vertex the gated
// recurrent unit with the reset before the product, over all steps, from a zero state where a sequence
// starts.
#include <cmath>

#include "tests/harness/references/references.hpp"

namespace strobe::reference {
namespace {

enum Gate : std::size_t { reset, update, candidate };

Matrix slice(const Matrix& all, std::size_t first_row, std::size_t rows, std::size_t first_column,
             std::size_t columns) {
  Matrix part;
  for (std::size_t i = first_row; i < first_row + rows; ++i) {
    const auto begin = all[i].begin() + static_cast<std::ptrdiff_t>(first_column);
    part.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(columns));
  }
  return part;
}

void add_row(Matrix& all, const std::vector<double>& row) {
  for (auto& line : all) {
    for (std::size_t j = 0; j < row.size(); ++j) line[j] += row[j];
  }
}

/// Two convolutions of one gate at one step.
Matrix convolve(const Matrix& a, const Matrix& x, const Weights& weights, std::size_t gate, std::size_t h) {
  Matrix y = multiply(multiply(a, x), slice(weights.at("layer1.gcn.weight"), 0, x[0].size(), gate * h, h));
  add_row(y, slice(weights.at("layer1.gcn.bias"), 0, 1, gate * h, h)[0]);
  relu(y);
  Matrix z = multiply(multiply(a, y), slice(weights.at("layer2.gcn.weight"), gate * h, h, 0, h));
  add_row(z, weights.at("layer2.gcn.bias")[gate]);
  return z;
}

/// C V + S U + b of one gate, through its activation.
Matrix gate_of(const Matrix& c, const Matrix& state, const Weights& weights, std::size_t gate) {
  const std::size_t h = state[0].size();
  Matrix z = multiply(c, slice(weights.at("gru.input_weight"), gate * h, h, 0, h));
  const Matrix s = multiply(state, slice(weights.at("gru.hidden_weight"), gate * h, h, 0, h));
  for (std::size_t v = 0; v < z.size(); ++v) {
    for (std::size_t j = 0; j < h; ++j) {
      const double sum = z[v][j] + s[v][j] + weights.at("gru.bias")[gate][j];
      z[v][j] = gate == candidate ? std::tanh(sum) : 1 / (1 + std::exp(-sum));
    }
  }
  return z;
}

std::vector<Matrix> embed_t_gcn(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights,
                                const Cells& cells) {
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  const std::size_t h = weights.at("gru.bias")[0].size();
  Matrix state(n, std::vector<double>(h, 0.0));
  std::vector<Matrix> result;
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    const Matrix a = laplacian(dense_adjacency(*graph.snapshots[t], graph.vertices), cells, t);
    Matrix x(n, std::vector<double>(f));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[v][j] = graph.features[(t * n + v) * f + j];
    }
    forget(state, cells, t);
    const Matrix r = gate_of(convolve(a, x, weights, reset, h), state, weights, reset);
    const Matrix z = gate_of(convolve(a, x, weights, update, h), state, weights, update);
    Matrix kept = state;
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < h; ++j) kept[v][j] *= r[v][j];
    }
    const Matrix fresh = gate_of(convolve(a, x, weights, candidate, h), kept, weights, candidate);
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < h; ++j) state[v][j] = z[v][j] * state[v][j] + (1 - z[v][j]) * fresh[v][j];
    }
    result.push_back(state);
  }
  return result;
}

const RegisterReference t_gcn_registered{"t-gcn", embed_t_gcn};

}  // namespace
}  // namespace strobe::reference
