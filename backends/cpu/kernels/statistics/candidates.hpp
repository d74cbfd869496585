// Shared by the kernels of EvolveGCN-H's summary: the order of candidates, and a step's k best.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe::cpu {

/// A row that may enter a summary.
struct Candidate {
  double score = 0;
  std::int64_t vertex = 0;
  std::int64_t row = -1;

  /// Better first: the larger score, then the smaller vertex. NaN counts as the worst score.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    const double left = std::isnan(a.score) ? -INFINITY : a.score, right = std::isnan(b.score) ? -INFINITY : b.score;
    return left != right ? left > right : a.vertex < b.vertex;
  }
};

/// The k best of what is offered, in order.
class Best {
 public:
  explicit Best(std::int64_t k) : k_(static_cast<std::size_t>(k)) { kept_.reserve(k_); }

  /// No score below this one can still enter.
  double threshold() const { return kept_.size() < k_ || k_ == 0 ? -INFINITY : kept_.back().score; }

  /// Whether offering the candidate would change what is kept.
  bool may_enter(const Candidate& candidate) const {
    return k_ != 0 && (kept_.size() < k_ || candidate < kept_.back());
  }

  void offer(const Candidate& candidate) {
    if (!may_enter(candidate)) return;
    if (kept_.size() == k_) kept_.pop_back();
    kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), candidate), candidate);
  }

  const std::vector<Candidate>& kept() const { return kept_; }

 private:
  std::size_t k_;
  std::vector<Candidate> kept_;
};

/// Whether row r has an entry besides its own diagonal.
inline bool is_connected(const SparseMatrix& a, std::int64_t r) {
  const std::int64_t* offsets = a.row_offsets.data<std::int64_t>();
  const std::int64_t entries = offsets[r + 1] - offsets[r];
  return entries > 1 || (entries == 1 && a.column_indices.data<std::int32_t>()[offsets[r]] != r);
}

/// The rows that are chosen from: those of x [R, F], or activation(x w_t) where a weight of each step is given.
template <class T>
struct ChoiceRows {
  const T *x, *w;
  std::int64_t inputs, width;
  bool with_relu;

  template <class Op>
  explicit ChoiceRows(const Op& op)
      : x(op.x.template data<T>()),
        w(op.w.defined() ? op.w.template data<T>() : nullptr),
        inputs(op.x.columns()),
        width(op.direction.rows()),
        with_relu(op.activation == Activation::relu) {}

  const T* weights(std::int64_t step) const { return w == nullptr ? nullptr : w + step * inputs * width; }

  /// Value `f` of row `row`, one of step `step`.
  T value(std::int64_t step, std::int64_t row, std::int64_t f) const {
    if (w == nullptr) return x[row * width + f];
    T sum{0};
    for (std::int64_t j = 0; j < inputs; ++j) sum += x[row * inputs + j] * weights(step)[j * width + f];
    return with_relu && sum < T{0} ? T{0} : sum;
  }
};

/// Euclidean norm of the direction.
template <class T>
double length_of(const Tensor& direction) {
  double squares = 0;
  for (const T value : direction.values<T>()) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

/// Writes a step's candidates into the own slots of its table row, and their rows.
template <class T>
void put_candidates(const PickCandidates& op, std::int64_t step, const std::vector<Candidate>& best) {
  T* table = op.table.data<T>() + step * op.table.columns();
  std::fill(table, table + op.table.columns(), T{0});
  T* own = table + op.rank * op.k * candidate_numbers;
  std::int64_t* rows = op.rows.data<std::int64_t>() + step * op.k;
  std::fill(rows, rows + op.k, -1);
  for (std::size_t i = 0; i < best.size(); ++i) {
    own[candidate_numbers * i] = static_cast<T>(best[i].score);
    const auto high = best[i].vertex / 65536 + 1;
    own[candidate_numbers * i + 1] = static_cast<T>(best[i].vertex % 65536);
    own[candidate_numbers * i + 2] = static_cast<T>(high);
    rows[i] = best[i].row;
  }
}

}  // namespace strobe::cpu
