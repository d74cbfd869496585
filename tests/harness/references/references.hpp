// Serial references: each model written again for clarity, with dense matrices and nested loops, from the raw graph to
// the embeddings. They share only the initial parameter values with models/. A model without a reference here fails the
// suite.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe::reference {

using Matrix = std::vector<std::vector<double>>;  // [rows][columns]
using Weights = std::map<std::string, Matrix>;

/// Which cells exist, from the dense edges of all steps: `presence` is all, seen, lifetime or active.
class Cells {
 public:
  explicit Cells(const SnapshotGraph& graph, const std::string& presence = "all");
  /// The first step of the sequence of vertex v at step t, or -1.
  std::int64_t begin(std::size_t v, std::size_t t) const { return begins_[t][v]; }
  bool exists(std::size_t v, std::size_t t) const { return begins_[t][v] >= 0; }
  bool starts(std::size_t v, std::size_t t) const { return begins_[t][v] == static_cast<std::int64_t>(t); }
  /// Begins a new sequence wherever a cell has another owner than its vertex's cell at the step before.
  void cut(const std::function<int(std::size_t v, std::size_t t)>& owner);

 private:
  std::vector<std::vector<std::int64_t>> begins_;  // [T][N]
};

/// Embeddings [T][N][F'] of the first `steps` snapshots, with the model's default options. Embeddings of missing cells
/// have no meaning.
using Embed =
    std::function<std::vector<Matrix>(const SnapshotGraph&, std::int64_t steps, const Weights&, const Cells&)>;

/// References by the model's registered name. Each registers itself from its own file, reference_NAME.cpp.
std::map<std::string, Embed>& models();

struct RegisterReference {
  RegisterReference(const char* model, Embed embed) { models()[model] = std::move(embed); }
};

Matrix multiply(const Matrix& a, const Matrix& b);
void relu(Matrix& a);
/// The snapshot as a dense matrix [N][N], rows are targets.
Matrix dense_adjacency(const Snapshot& snapshot, std::int64_t vertices);
/// D^-1/2 (A + I) D^-1/2 with D = 1 + row sums, over the cells that exist at step t. Other cells have no entries.
Matrix laplacian(Matrix a, const Cells& cells, std::size_t t);
/// Sets rows of vertices whose sequence begins at step t to zero.
void forget(Matrix& state, const Cells& cells, std::size_t t);

}  // namespace strobe::reference
