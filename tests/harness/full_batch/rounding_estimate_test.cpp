// The estimate of rounding's effect, compared with two trainings whose starts differ by a few units in the last place.
#include "harness/full_batch/rounding_estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace strobe {
namespace {

using Point = std::vector<double>;

/// The largest relative difference of the losses of two starts, and the estimate from the first one.
struct Outcome {
  double apart = 0, estimated = 0;
};

/// Gradient descent at rate 1 from `start` and from a start whose last bits differ.
Outcome descend(const Point& start, int epochs, const std::function<double(const Point&)>& loss,
                const std::function<Point(const Point&)>& gradient) {
  Point x = start, y = start;
  for (double& value : y) value *= 1 + 0x1.0p-50;
  RoundingEstimate estimate(true);
  Outcome outcome;
  for (int e = 0; e < epochs; ++e) {
    outcome.apart = std::max(outcome.apart, std::abs(loss(y) / loss(x) - 1));
    const Point at_x = gradient(x), at_y = gradient(y);
    Point step;
    for (const double value : at_x) step.push_back(-value);
    estimate.add_epoch(loss(x), at_x, step);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += step[i], y[i] -= at_y[i];
  }
  outcome.estimated = estimate.largest();
  return outcome;
}

TEST(RoundingEstimate, StaysSmallWhereTrainingConverges) {
  const Outcome outcome = descend(
      {1.25, -0.75, 3}, 200, [](const Point& x) { return 1 + 0.05 * (x[0] * x[0] + x[1] * x[1]) + 0.2 * x[2] * x[2]; },
      [](const Point& x) {
        return Point{0.1 * x[0], 0.1 * x[1], 0.4 * x[2]};
      });
  EXPECT_LT(outcome.apart, 1e-14);
  EXPECT_LT(outcome.estimated, RoundingEstimate(true).limit());
}

/// Steps overshoot: x becomes 4 x (1 - x), which doubles any difference at each step.
TEST(RoundingEstimate, GrowsWithChaos) {
  const auto loss = [](const Point& x) { return 2 - 1.5 * x[0] * x[0] + 4.0 / 3 * x[0] * x[0] * x[0]; };
  const auto gradient = [](const Point& x) { return Point{4 * x[0] * x[0] - 3 * x[0]}; };
  const double limit = RoundingEstimate(true).limit();
  for (const double start : {0.1, 0.3, 0.37, 0.6, 0.8}) {
    const Outcome few = descend({start}, 5, loss, gradient), many = descend({start}, 60, loss, gradient);
    EXPECT_LT(few.apart, limit);
    EXPECT_LT(few.estimated, limit) << start;
    EXPECT_GT(many.apart, 1e-3);
    EXPECT_GT(many.estimated, 1e-3) << start;
    for (int epochs = 5; epochs <= 60; ++epochs) {
      const Outcome outcome = descend({start}, epochs, loss, gradient);
      // The other start is 2^9 times as far away as the first noise of the estimate.
      EXPECT_TRUE(outcome.apart <= 512 * limit || outcome.estimated > limit) << start << " in " << epochs << " epochs";
    }
  }
}

/// A gradient below the rounding of the largest one is noise. A step as long as the others' gives that noise weight.
TEST(RoundingEstimate, SeesNoiseThatAStepMakesLong) {
  RoundingEstimate calm(true), noisy(true);
  for (int e = 0; e < 3; ++e) {
    calm.add_epoch(1, {1, 0.5}, {-0.01, -0.01});
    noisy.add_epoch(1, {1, e < 2 ? 1e-17 : 0.5}, {-0.01, -0.01});
  }
  EXPECT_LT(calm.largest(), 1e-14);
  EXPECT_GT(noisy.largest(), 1e-3);
}

TEST(RoundingEstimate, KnowsADeadStart) {
  for (const double noise : {0.0, 1e-17, 1e-16}) {
    RoundingEstimate estimate(true);
    estimate.add_epoch(0.69, {0, noise, -noise}, {0, 1e-9, -1e-9});
    EXPECT_TRUE(estimate.dead()) << noise;
    estimate.add_epoch(0.69, {0, 0.1, 0}, {0, 0.01, 0});
    EXPECT_FALSE(estimate.dead());
    estimate.add_epoch(0.69, {0, 0, 0}, {0, 0.01, 0});
    EXPECT_FALSE(estimate.dead()) << "it lives or has converged";
  }
  RoundingEstimate alive(false);
  alive.add_epoch(0.69, {0, 1e-3f, 0}, {0, 0.01, 0});
  EXPECT_FALSE(alive.dead());
}

}  // namespace
}  // namespace strobe
