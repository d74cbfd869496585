// How far rounding may have carried a training run. Law 3 promises equal losses for other strategies and rank counts
// only while small differences stay small. A run can find out from its own gradients whether they do.
#pragma once

#include <cstdint>
#include <vector>

namespace strobe {

/// A running estimate, to first order, of how far the losses of the same training may differ under another order of
/// summation. Parameter i may be off by D_i, which is 0 at first. u is the unit roundoff, G the largest gradient.
///
/// - A loss differs by |g . D|. Errors are independent, so this is the root of the sum of (g_i D_i)^2.
/// - A gradient is off by n_i = u G / 64, plus its change since the previous epoch times |D| over the length of
///   the last step. The 64 is there because most errors of sums of products cancel; measured errors were smaller.
/// - A step is as uncertain as its gradient: D_i grows by |step_i| min(1, n_i / r_i). r_i is the root mean square of
///   parameter i's gradients so far. Adam makes a step of full length even from a gradient that is rounding noise.
///
/// A start is dead when no gradient is above 16 u of the loss. Other ranks may then compute zero or noise for it. Costs
/// O(parameters) an epoch. An estimate, not a bound: it sees choices that flip (the best vertices of EvolveGCN-H) only
/// through the gradients that they change.
class RoundingEstimate {
 public:
  explicit RoundingEstimate(bool fp64);

  /// An epoch's loss, its gradient [parameters], and the step [parameters] that was taken from it.
  void add_epoch(double loss, const std::vector<double>& gradient, const std::vector<double>& step);

  /// The largest relative difference of a loss so far.
  double largest() const { return largest_; }
  /// No gradient of any epoch so far was more than rounding noise.
  bool dead() const { return dead_; }
  /// Above this limit, losses break the promise of law 3: 1e-10 in fp64, 1e-4 in fp32.
  double limit() const { return limit_; }

 private:
  double unit_, limit_, largest_ = 0;
  bool dead_ = false;
  double epochs_ = 0, last_step_ = 0;             // number of epochs, and the length of the last step
  std::vector<double> off_, squares_, gradient_;  // D; sum of squared gradients; the last gradient
};

}  // namespace strobe
