// The matrix of one step during preparation, in double, and the results of preprocessing such matrices: transposes,
// random walks, products with features.
#pragma once

#include <string>
#include <vector>

#include "workloads/graph/smoothing.hpp"

namespace strobe {

/// Preprocessing::walk's names.
const std::vector<std::string>& known_walks();

/// A^T, without features. Cost O(nnz + N).
SmoothStep transposed(const SmoothStep& step);

/// The matrix of `walk` (Preprocessing::walk; none: A unchanged) from A of step t, without features. Throws
/// InvalidRequest when a row that it scales sums to 0 or less.
SmoothStep walk_matrix(const SmoothStep& a, const std::string& walk, std::int64_t t);

/// A X of one step. [N * F] from x [N * F]. Cost O(nnz F).
std::vector<double> multiply(const SmoothStep& a, const std::vector<double>& x, std::size_t width);

struct FeatureTerms;

/// The terms of X [N * F] over A of step t, side by side: [N * F * terms.count()]. Cost O(hops walks nnz F).
std::vector<double> feature_terms(const SmoothStep& a, const std::vector<double>& x, std::size_t width,
                                  const FeatureTerms& terms, std::int64_t t);

}  // namespace strobe
