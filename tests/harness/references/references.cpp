// What the serial references share.
#include "tests/harness/references/references.hpp"

#include <algorithm>
#include <cmath>

namespace strobe::reference {

Matrix dense_adjacency(const Snapshot& snapshot, std::int64_t vertices) {
  const auto n = static_cast<std::size_t>(vertices);
  Matrix a(n, std::vector<double>(n, 0.0));
  for (std::size_t v = 0; v < n; ++v) {
    for (std::int64_t e = snapshot.row_offsets[v]; e < snapshot.row_offsets[v + 1]; ++e) {
      a[v][static_cast<std::size_t>(snapshot.columns[static_cast<std::size_t>(e)])] +=
          snapshot.values[static_cast<std::size_t>(e)];
    }
  }
  return a;
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
