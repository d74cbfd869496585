// DySAT from its paper's equations (section 4): structural attention over in-neighbours and the vertex itself, then
// temporal attention with a causal mask over the vertex's past, with positions, a dense layer and a residual.
#include <algorithm>
#include <cmath>

#include "tests/harness/references/references.hpp"

namespace strobe::reference {
namespace {

constexpr std::size_t heads = 2;  // the model's default, over neighbours and over time

using Row = std::vector<double>;

/// Turns logits into weights that sum to one.
void softmax(Row& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& value : logits) sum += value = std::exp(value - largest);
  for (double& value : logits) value /= sum;
}

/// One step: ELU of the attention over the pattern of A + I. Edges end at cells that exist. Missing cells attend to
/// themselves, without effect.
Matrix structural(const Matrix& adjacency, const Matrix& x, const Weights& w) {
  const Matrix f = multiply(x, w.at("structural.weight"));
  const Row &left = w.at("structural.left")[0], &right = w.at("structural.right")[0];
  const std::size_t width = f[0].size(), depth = width / heads;
  Matrix y(f.size(), Row(width, 0.0));
  for (std::size_t v = 0; v < f.size(); ++v) {
    std::vector<std::size_t> near;
    for (std::size_t u = 0; u < f.size(); ++u) {
      if (u == v || adjacency[v][u] != 0) near.push_back(u);
    }
    for (std::size_t h = 0; h < heads; ++h) {
      Row weights;
      for (const std::size_t u : near) {
        double logit = 0;
        for (std::size_t d = h * depth; d < (h + 1) * depth; ++d) logit += left[d] * f[v][d] + right[d] * f[u][d];
        weights.push_back(logit > 0 ? logit : 0.2 * logit);
      }
      softmax(weights);
      for (std::size_t d = h * depth; d < (h + 1) * depth; ++d) {
        for (std::size_t k = 0; k < near.size(); ++k) y[v][d] += weights[k] * f[near[k]][d];
        if (y[v][d] < 0) y[v][d] = std::exp(y[v][d]) - 1;
      }
    }
  }
  return y;
}

/// Columns [first, first + count) of m.
Matrix columns(const Matrix& m, std::size_t first, std::size_t count) {
  Matrix part;
  for (const Row& row : m)
    part.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(first),
                      row.begin() + static_cast<std::ptrdiff_t>(first + count));
  return part;
}

/// Vertex u: its timeline [T][F], in place. Each step attends to the steps of its own sequence so far.
void temporal(Matrix& x, const Weights& w, const Cells& cells, std::size_t u) {
  const std::size_t width = x[0].size(), depth = width / heads;
  for (std::size_t t = 0; t < x.size(); ++t) {
    for (std::size_t d = 0; d < width; ++d) x[t][d] += w.at("temporal.positions")[t][d];
  }
  const Matrix& weight = w.at("temporal.query_key_value");
  const Matrix q = multiply(x, columns(weight, 0, width)), k = multiply(x, columns(weight, width, width)),
               v = multiply(x, columns(weight, 2 * width, width));
  for (std::size_t t = 0; t < x.size(); ++t) {
    if (!cells.exists(u, t)) continue;
    const std::size_t begin = cells.begin(u, t);
    Row o(width, 0.0);
    for (std::size_t h = 0; h < heads; ++h) {
      Row weights(t + 1 - begin, 0.0);
      for (std::size_t s = begin; s <= t; ++s) {
        for (std::size_t d = h * depth; d < (h + 1) * depth; ++d)
          weights[s - begin] += q[t][d] * k[s][d] / std::sqrt(static_cast<double>(depth));
      }
      softmax(weights);
      for (std::size_t s = begin; s <= t; ++s) {
        for (std::size_t d = h * depth; d < (h + 1) * depth; ++d) o[d] += weights[s - begin] * v[s][d];
      }
    }
    Matrix out = multiply({o}, w.at("temporal.dense.weight"));
    for (std::size_t d = 0; d < width; ++d)
      x[t][d] = std::max(0.0, out[0][d] + w.at("temporal.dense.bias")[0][d]) + o[d];
  }
}

std::vector<Matrix> embed_dysat(const SnapshotGraph& graph, std::int64_t steps, const Weights& weights,
                                const Cells& cells) {
  const auto n = static_cast<std::size_t>(graph.vertices), f = static_cast<std::size_t>(graph.feature_width);
  std::vector<Matrix> h;
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    Matrix x(n, Row(f));
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t j = 0; j < f; ++j) x[v][j] = graph.features[(t * n + v) * f + j];
    }
    h.push_back(structural(dense_adjacency(*graph.snapshots[t], graph.vertices), x, weights));
  }
  for (std::size_t v = 0; v < n; ++v) {
    Matrix line;
    for (const Matrix& step : h) line.push_back(step[v]);
    temporal(line, weights, cells, v);
    for (std::size_t t = 0; t < h.size(); ++t) h[t][v] = line[t];
  }
  return h;
}

const RegisterReference dysat_registered{"dysat", embed_dysat};

}  // namespace
}  // namespace strobe::reference
