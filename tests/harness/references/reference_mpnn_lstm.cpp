// MPNN-LSTM from its paper: two graph convolutions with relu and batch normalisation over the vertices of each step.
// Their joined outputs go into two stacked LSTMs from a zero state. The embedding is [H1 | H2 | X].
#include <cmath>

#include "tests/harness/references/references.hpp"

namespace strobe::reference {
namespace {

/// relu(A~ X W + b), then every column to mean 0 and variance 1 over the cells of step t that exist, scaled and
/// shifted.
Matrix convolve(const Matrix& a, const Matrix& x, const Weights& weights, const std::string& number, const Cells& cells,
                std::size_t t) {
  Matrix y = multiply(multiply(a, x), weights.at("gcn" + number + ".weight"));
  for (auto& row : y) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] += weights.at("gcn" + number + ".bias")[0][j];
  }
  relu(y);
  double n = 0;
  for (std::size_t v = 0; v < y.size(); ++v) n += cells.exists(v, t) ? 1 : 0;
  for (std::size_t j = 0; j < y[0].size(); ++j) {
    double mean = 0, variance = 0;
    for (std::size_t v = 0; v < y.size(); ++v) mean += cells.exists(v, t) ? y[v][j] / n : 0;
    for (std::size_t v = 0; v < y.size(); ++v)
      variance += cells.exists(v, t) ? (y[v][j] - mean) * (y[v][j] - mean) / n : 0;
    for (auto& row : y) {
      row[j] = weights.at("norm" + number + ".gain")[0][j] * (row[j] - mean) / std::sqrt(variance + 1e-5) +
               weights.at("norm" + number + ".shift")[0][j];
    }
  }
  return y;
}

/// Hidden and cell state of all vertices.
struct State {
  Matrix h, c;
  State(std::size_t n, std::size_t width) : h(n, std::vector<double>(width, 0.0)), c(h) {}
};

void advance(State& state, const Matrix& x, const Weights& weights, const std::string& number) {
  const Matrix input = multiply(x, weights.at("lstm" + number + ".input_weight"));
  const Matrix recurrent = multiply(state.h, weights.at("lstm" + number + ".hidden_weight"));
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (std::size_t v = 0; v < x.size(); ++v) {
    const std::size_t width = state.h[v].size();
    const auto z = [&](std::size_t gate, std::size_t j) {
      const std::size_t at = gate * width + j;
      return input[v][at] + recurrent[v][at] + weights.at("lstm" + number + ".bias")[0][at];
    };
    for (std::size_t j = 0; j < width; ++j) {
      state.c[v][j] = sigmoid(z(1, j)) * state.c[v][j] + sigmoid(z(0, j)) * std::tanh(z(2, j));
      state.h[v][j] = sigmoid(z(3, j)) * std::tanh(state.c[v][j]);
    }
  }
}

Matrix beside(Matrix left, const Matrix& right) {
  for (std::size_t v = 0; v < left.size(); ++v) left[v].insert(left[v].end(), right[v].begin(), right[v].end());
  return left;
}

std::vector<Matrix> embed_mpnn_lstm(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights,
                                    const Cells& cells) {
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  const std::size_t width = weights.at("lstm1.hidden_weight").size();
  State first(n, width), second(n, width);
  std::vector<Matrix> result;
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    const Matrix a = laplacian(dense_adjacency(*graph.snapshots[t], graph.vertices), cells, t);
    Matrix x(n, std::vector<double>(f));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[v][j] = graph.features[(t * n + v) * f + j];
    }
    for (Matrix* state : {&first.h, &first.c, &second.h, &second.c}) forget(*state, cells, t);
    const Matrix x1 = convolve(a, x, weights, "1", cells, t);
    advance(first, beside(x1, convolve(a, x1, weights, "2", cells, t)), weights, "1");
    advance(second, first.h, weights, "2");
    result.push_back(beside(beside(first.h, second.h), x));
  }
  return result;
}

const RegisterReference mpnn_lstm_registered{"mpnn-lstm", embed_mpnn_lstm};

}  // namespace
}  // namespace strobe::reference
