// Serial references: each model once more, written for clarity with dense matrices and nested loops, from the raw graph
// to the embeddings. They share nothing with models/ but the initial parameter values. A model without a reference here
// fails the suite.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe::reference {

using Matrix = std::vector<std::vector<double>>;  // [rows][columns]
using Weights = std::map<std::string, Matrix>;

/// Embeddings [T][N][F'] of the first `steps` snapshots, with the model's default options.
using Embed = std::function<std::vector<Matrix>(const SnapshotGraph&, std::int64_t steps, const Weights&)>;

/// References by the model's registered name. Each registers itself from its own file, reference_NAME.cpp.
std::map<std::string, Embed>& models();

struct RegisterReference {
  RegisterReference(const char* model, Embed embed) { models()[model] = std::move(embed); }
};

Matrix multiply(const Matrix& a, const Matrix& b);
void relu(Matrix& a);
/// The snapshot as a dense matrix [N][N], rows are targets.
Matrix dense_adjacency(const Snapshot& snapshot, std::int64_t vertices);
/// D^-1/2 (A + I) D^-1/2 with D = 1 + row sums.
Matrix laplacian(Matrix a);

}  // namespace strobe::reference
