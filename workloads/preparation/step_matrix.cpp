// Returns: transposes and random walks of one step's matrix, and the terms of its features over them. Invariants:
// columns of a row are sorted and distinct; all arithmetic is in double, and the code that stores the result rounds it.
// Cost: O(nnz + N) for a matrix, O(nnz F) for a product.
#include "workloads/preparation/step_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {
namespace {

std::string needs_positive_sums(std::size_t vertex, std::int64_t t, double degree) {
  return fmt::format(
      "the edges of vertex {} at step {} sum to {}; a random walk needs a positive sum (use weights=count "
      "or binary)",
      vertex, t, degree);
}

/// Scales every row to sum 1; empty rows stay empty.
void make_walk(SmoothStep& step, std::int64_t t) {
  for (std::size_t v = 0; v + 1 < step.row_offsets.size(); ++v) {
    const auto begin = step.values.begin() + step.row_offsets[v], end = step.values.begin() + step.row_offsets[v + 1];
    const double degree = std::accumulate(begin, end, 0.0);
    if (begin != end && !(degree > 0)) {
      throw InvalidRequest("walk", needs_positive_sums(v, t, degree));
    }
    for (auto value = begin; value != end; ++value) *value /= degree;
  }
}

/// D^-1/2 A D^-1/2 with D the sums of the rows of `of`, which is A or its transpose. A vertex of sum 0 counts as 0.
SmoothStep scaled_on_both_sides(const SmoothStep& a, const SmoothStep& of, std::int64_t t) {
  SmoothStep step{a.row_offsets, a.columns, a.values, {}, {}};
  const std::size_t vertices = a.row_offsets.size() - 1;
  std::vector<double> scale(vertices, 0.0);
  for (std::size_t v = 0; v < vertices; ++v) {
    const double degree =
        std::accumulate(of.values.begin() + of.row_offsets[v], of.values.begin() + of.row_offsets[v + 1], 0.0);
    if (degree < 0) throw InvalidRequest("walk", needs_positive_sums(v, t, degree));
    if (degree > 0) scale[v] = 1 / std::sqrt(degree);
  }
  for (std::size_t v = 0; v < vertices; ++v) {
    for (std::size_t i = step.row_offsets[v]; i < static_cast<std::size_t>(step.row_offsets[v + 1]); ++i)
      step.values[i] *= scale[v] * scale[step.columns[i]];
  }
  return step;
}

/// Term k of a sequence that began with z: S z_(k-1), or 2 S z_(k-1) - z_(k-2) where there are two before it.
std::vector<double> next_term(const SmoothStep& s, const std::vector<double>& last, const std::vector<double>* before,
                              std::size_t width) {
  std::vector<double> next = multiply(s, last, width);
  if (before == nullptr) return next;
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = 2 * next[i] - (*before)[i];
  return next;
}

}  // namespace

const std::vector<std::string>& known_walks() {
  static const std::vector<std::string> names = {"none",           "in",        "out",          "in_transposed",
                                                 "out_transposed", "symmetric", "out_symmetric"};
  return names;
}

SmoothStep transposed(const SmoothStep& step) {
  SmoothStep result;
  const std::size_t vertices = step.row_offsets.size() - 1;
  result.row_offsets.assign(vertices + 1, 0);
  for (const VertexId column : step.columns) ++result.row_offsets[static_cast<std::size_t>(column) + 1];
  for (std::size_t v = 0; v < vertices; ++v) result.row_offsets[v + 1] += result.row_offsets[v];
  result.columns.resize(step.columns.size());
  result.values.resize(step.values.size());
  std::vector<std::int64_t> next(result.row_offsets.begin(), result.row_offsets.end() - 1);
  for (std::size_t v = 0; v < vertices; ++v) {
    for (std::size_t i = step.row_offsets[v]; i < static_cast<std::size_t>(step.row_offsets[v + 1]); ++i) {
      const std::size_t place = next[step.columns[i]]++;
      result.columns[place] = static_cast<VertexId>(v);
      result.values[place] = step.values[i];
    }
  }
  return result;
}

SmoothStep walk_matrix(const SmoothStep& a, const std::string& walk, std::int64_t t) {
  if (walk == "symmetric") return scaled_on_both_sides(a, a, t);
  if (walk == "out_symmetric") return scaled_on_both_sides(a, transposed(a), t);
  SmoothStep step = walk == "out" || walk == "out_transposed" ? transposed(a)
                                                              : SmoothStep{a.row_offsets, a.columns, a.values, {}, {}};
  if (walk != "none") make_walk(step, t);
  return walk == "in_transposed" || walk == "out_transposed" ? transposed(step) : step;
}

std::vector<double> multiply(const SmoothStep& a, const std::vector<double>& x, std::size_t width) {
  std::vector<double> product(x.size(), 0.0);
  for (std::size_t v = 0; v + 1 < a.row_offsets.size(); ++v) {
    double* row = product.data() + v * width;
    for (std::int64_t i = a.row_offsets[v]; i < a.row_offsets[v + 1]; ++i) {
      const std::size_t at = i;
      const double* source = x.data() + static_cast<std::size_t>(a.columns[at]) * width;
      for (std::size_t f = 0; f < width; ++f) row[f] += a.values[at] * source[f];
    }
  }
  return product;
}

std::vector<double> feature_terms(const SmoothStep& a, const std::vector<double>& x, std::size_t width,
                                  const FeatureTerms& terms, std::int64_t t) {
  std::vector<std::vector<double>> found = {x};
  std::size_t start = 0;
  for (const std::string& walk : terms.walks) {
    const SmoothStep matrix = walk_matrix(a, walk, t);
    std::size_t last = start, before = start;
    for (int hop = 1; hop <= terms.hops; ++hop) {
      const bool is_second = hop > 1 && terms.kind != "powers";
      found.push_back(next_term(matrix, found[last], is_second ? &found[before] : nullptr, width));
      before = last;
      last = found.size() - 1;
    }
    if (terms.kind == "carried" && terms.hops > 0) start = before;
  }
  const std::size_t all = width * found.size(), vertices = a.row_offsets.size() - 1;
  std::vector<double> rows(vertices * all);
  for (std::size_t v = 0; v < vertices; ++v) {
    for (std::size_t k = 0; k < found.size(); ++k) {
      std::copy_n(found[k].data() + v * width, width, rows.data() + v * all + k * width);
    }
  }
  return rows;
}

}  // namespace strobe
