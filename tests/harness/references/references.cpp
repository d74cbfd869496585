// Shared code of the serial references.
#include "tests/harness/references/references.hpp"

#include <algorithm>
#include <cmath>

namespace strobe::reference {

Matrix dense_adjacency(const Snapshot& snapshot, std::int64_t vertices) {
  const std::size_t n = vertices;
  Matrix a(n, std::vector<double>(n, 0.0));
  for (std::size_t v = 0; v < n; ++v) {
    for (std::int64_t e = snapshot.row_offsets[v]; e < snapshot.row_offsets[v + 1]; ++e) {
      a[v][snapshot.columns[e]] += snapshot.values[e];
    }
  }
  return a;
}

Cells::Cells(const SnapshotGraph& graph, const std::string& presence) {
  const auto n = static_cast<std::size_t>(graph.vertices), steps = graph.snapshots.size();
  std::vector<std::vector<bool>> edge(steps, std::vector<bool>(n, false));
  std::vector<std::size_t> first(n, steps), last(n, 0);
  for (std::size_t t = 0; t < steps; ++t) {
    const Matrix a = dense_adjacency(*graph.snapshots[t], graph.vertices);
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t u = 0; u < n; ++u) edge[t][v] = edge[t][v] || a[v][u] != 0 || a[u][v] != 0;
      if (!edge[t][v]) continue;
      first[v] = std::min(first[v], t);
      last[v] = t;
    }
  }
  for (std::size_t t = 0; t < steps; ++t) {
    begins_.emplace_back(n, -1);
    for (std::size_t v = 0; v < n; ++v) {
      const bool came = first[v] <= t, stays = came && t <= last[v];
      const bool here = presence == "all" || (presence == "seen" ? came : presence == "lifetime" ? stays : edge[t][v]);
      if (!here) continue;
      const bool goes_on = t > 0 && begins_[t - 1][v] >= 0;
      begins_[t][v] = goes_on ? begins_[t - 1][v] : static_cast<std::int64_t>(t);
    }
  }
}

void Cells::cut(const std::function<int(std::size_t v, std::size_t t)>& owner) {
  for (std::size_t t = 1; t < begins_.size(); ++t) {
    for (std::size_t v = 0; v < begins_[t].size(); ++v) {
      if (!exists(v, t) || starts(v, t)) continue;
      begins_[t][v] = owner(v, t) == owner(v, t - 1) ? begins_[t - 1][v] : static_cast<std::int64_t>(t);
    }
  }
}

void forget(Matrix& state, const Cells& cells, std::size_t t) {
  for (std::size_t v = 0; v < state.size(); ++v) {
    if (cells.starts(v, t)) std::fill(state[v].begin(), state[v].end(), 0.0);
  }
}

Matrix laplacian(Matrix a, const Cells& cells, std::size_t t) {
  std::vector<double> degree(a.size(), 1.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (!cells.exists(i, t) || !cells.exists(j, t)) a[i][j] = 0;
      degree[i] += a[i][j];
    }
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (cells.exists(i, t)) a[i][i] += 1.0;
    for (std::size_t j = 0; j < a.size(); ++j) a[i][j] /= std::sqrt(degree[i] * degree[j]);
  }
  return a;
}

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

std::map<std::string, Embed>& models() {
  static std::map<std::string, Embed> all;
  return all;
}

}  // namespace strobe::reference
