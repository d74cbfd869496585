// How far rounding may have carried a training run: what law 3 promises of other strategies and rank counts holds only
// while small differences stay small, and a run can tell from its own gradients whether they do.
#pragma once

#include <cstdint>
#include <vector>

namespace strobe {

/// A running estimate, to first order, of how far the losses of the same training under another order of summation may
/// be apart. Parameter i may be off by D_i, which is 0 at first. u is the unit roundoff, G the largest gradient.
///
/// - A loss differs by |g . D|; errors being independent, by the root of the sum of (g_i D_i)^2.
/// - A gradient is off by n_i = u G / 64 (most errors of sums of products cancel, and less was measured), and by what
///   it changed since the epoch before, times |D| over the length of the last step.
/// - A step is as uncertain as the gradient behind it: D_i grows by |step_i| min(1, n_i / r_i), r_i being the root mean
///   square of its gradients so far. Of a gradient that is rounding noise Adam makes a step of full length.
///
/// A start is dead when no gradient is above 16 u of the loss: what other ranks get for it may be zero or noise.
/// Costs O(parameters) an epoch. An estimate, not a bound: choices that flip (the best vertices of EvolveGCN-H) are
/// seen through the gradients that they change alone.
class RoundingEstimate {
 public:
  explicit RoundingEstimate(bool fp64);

  /// An epoch's loss, its gradient [parameters] and the step [parameters] that was taken from it.
  void add_epoch(double loss, const std::vector<double>& gradient, const std::vector<double>& step);

  /// The largest relative difference of a loss so far.
  double largest() const { return largest_; }
  /// No gradient of any epoch so far was more than rounding noise.
  bool dead() const { return dead_; }
  /// Beyond this, losses are not what law 3 promises: 1e-10 in fp64, 1e-4 in fp32.
  double limit() const { return limit_; }

 private:
  double unit_, limit_, largest_ = 0;
  bool dead_ = false;
  double epochs_ = 0, last_step_ = 0;             // how many, and the length of the last step
  std::vector<double> off_, squares_, gradient_;  // D; sum of squared gradients; the last gradient
};

}  // namespace strobe
