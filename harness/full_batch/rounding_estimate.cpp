#include "harness/full_batch/rounding_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strobe {
namespace {

double length(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace

RoundingEstimate::RoundingEstimate(bool fp64) : unit_(fp64 ? 0x1.0p-53 : 0x1.0p-24), limit_(fp64 ? 1e-10 : 1e-4) {}

void RoundingEstimate::add_epoch(double loss, const std::vector<double>& gradient, const std::vector<double>& step) {
  off_.resize(gradient.size(), 0.0);
  squares_.resize(gradient.size(), 0.0);
  double difference = 0, largest_gradient = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    difference += gradient[i] * off_[i] * gradient[i] * off_[i];
    largest_gradient = std::max(largest_gradient, std::abs(gradient[i]));
  }
  const double size = std::max(std::abs(loss), std::numeric_limits<double>::min());
  largest_ = std::max(largest_, std::min(unit_ + std::sqrt(difference) / size, 1.0));
  dead_ = (dead_ || epochs_ == 0) && largest_gradient <= 16 * unit_ * size;
  const double carried = last_step_ > 0 ? length(off_) / last_step_ : 0;
  ++epochs_;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    squares_[i] += gradient[i] * gradient[i];
    const double change = gradient_.empty() ? 0 : std::abs(gradient[i] - gradient_[i]);
    const double noise = unit_ * largest_gradient / 64 + change * carried, usual = std::sqrt(squares_[i] / epochs_);
    if (usual > 0) off_[i] += std::abs(step[i]) * std::min(1.0, noise / usual);
  }
  last_step_ = length(step);
  gradient_ = gradient;
}

}  // namespace strobe
