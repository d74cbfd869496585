// Rows are divided by their time and columns by their largest entry, so that the problem has no units. Then coordinate
// descent solves the normal equations, with each coordinate's optimum cut at 0 and at its bound. It converges to the
// solution because the objective is convex and the constraints are separate. Let r be the ratios of the round before.
// Weights 1 / (r |r - 1|) turn squares of r - 1 into distances |log r|; residuals below 5 % have equal weight.
// Cost O(n terms^2 + sweeps terms^2) a round, terms up to 10.
#include "harness/calibration/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strobe {
namespace {

constexpr int reweightings = 12, sweeps = 3000;
constexpr double small_residual = 0.05;
constexpr double least_ratio = 1e-3;  // so that a prediction of 0 is not infinitely far

/// Amounts divided by time. Each column is divided by its largest entry, which is stored in `scales`.
std::vector<std::vector<double>> scaled_rows(const std::vector<Observation>& observations,
                                             std::vector<double>& scales) {
  std::vector<std::vector<double>> rows;
  for (const Observation& o : observations) {
    std::vector<double> row = o.amounts;
    for (double& amount : row) amount /= o.seconds;
    for (std::size_t j = 0; j < row.size(); ++j) scales[j] = std::max(scales[j], row[j]);
    rows.push_back(std::move(row));
  }
  for (std::vector<double>& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = scales[j] > 0 ? row[j] / scales[j] : 0;
  }
  return rows;
}

/// With these weights, the sum of weight (ratio - 1)^2 has the slope of the sum of |log ratio|.
double weight_of(double ratio) {
  return 1 / (std::max(small_residual, std::abs(ratio - 1)) * std::max(ratio, least_ratio));
}

/// argmin over x in [0, most] of sum_i weights_i (rows_i x - 1)^2, starting at `x`.
void descend(const std::vector<std::vector<double>>& rows, const std::vector<double>& weights,
             const std::vector<double>& most, std::vector<double>& x) {
  const std::size_t terms = x.size();
  std::vector<double> square(terms * terms, 0), right(terms, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < terms; ++j) {
      right[j] += weights[i] * rows[i][j];
      for (std::size_t k = 0; k < terms; ++k) square[j * terms + k] += weights[i] * rows[i][j] * rows[i][k];
    }
  }
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    double moved = 0;
    for (std::size_t j = 0; j < terms; ++j) {
      const double own = square[j * terms + j];
      if (!(own > 0)) continue;
      double rest = right[j];
      for (std::size_t k = 0; k < terms; ++k) rest -= k == j ? 0 : square[j * terms + k] * x[k];
      const double best = std::clamp(rest / own, 0.0, most[j]);
      moved = std::max(moved, std::abs(best - x[j]));
      x[j] = best;
    }
    if (moved < 1e-12) return;
  }
}

}  // namespace

double predicted_seconds(const std::vector<double>& coefficients, const std::vector<double>& amounts) {
  double seconds = 0;
  for (std::size_t j = 0; j < coefficients.size(); ++j) seconds += coefficients[j] * amounts[j];
  return seconds;
}

std::vector<double> fit_non_negative(const std::vector<Observation>& observations, const std::vector<double>& most) {
  if (observations.empty()) return {};
  std::vector<double> scales(observations.front().amounts.size(), 0), x(scales.size(), 0);
  const std::vector<std::vector<double>> rows = scaled_rows(observations, scales);
  std::vector<double> weights(rows.size(), 1), bounds(scales.size(), std::numeric_limits<double>::infinity());
  for (std::size_t j = 0; j < most.size(); ++j) bounds[j] = most[j] * scales[j];
  for (int round = 0; round <= reweightings; ++round) {
    descend(rows, weights, bounds, x);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      weights[i] = weight_of(predicted_seconds(x, rows[i]));
    }
  }
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = scales[j] > 0 ? x[j] / scales[j] : 0;
  return x;
}

}  // namespace strobe
