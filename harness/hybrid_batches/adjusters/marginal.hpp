// The loss that each size of batch takes away in a second, with its uncertainty: an upper confidence bound that forgets
// (discounted UCB: Garivier and Moulines, On upper-confidence bound policies for switching bandit problems, ALT 2011),
// around the square-root law of `cost_adjuster` until turns say otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/hybrid_batches/adjusters/adjuster.hpp"

namespace strobe {

/// Constants of the bounds.
struct MarginalConstants {
  /// Weight that a turn keeps with each later turn: the paper's 1 - sqrt(1 / T) / 4 for one change in T = 100 turns.
  double discount = 0.975;
  /// The paper's xi: the bound lies 2 sqrt(xi ln n / turns) deviations above the mean. With 1/2 that is UCB1's width.
  double confidence = 0.5;
  /// Turns for which the square-root law counts.
  double prior_turns = 1;
};

/// Estimates for every size from the rates of its turns: how much of the loss each took away, for its seconds. Losses
/// fall ever more slowly; here they are taken to fall as a power of the time. So a rate is the exponent,
/// ln(loss before / after) / ln(time after / before), which then is the same early and late.
class MarginalRates {
 public:
  /// `worth` [actions]: rates that are expected before any turn, up to a common factor.
  explicit MarginalRates(std::vector<double> worth, const MarginalConstants& constants = {});

  void add(std::size_t action, double rate);
  /// Mean of the size's turns, shrunk to its expected rate.
  double estimate(std::size_t action) const;
  /// Deviation of single rates around the estimates, over all sizes. It is at least that of the expected rates among
  /// sizes: the law is not trusted further than what it tells apart.
  double deviation() const;
  /// The upper confidence bound of the size's rate.
  double bound(std::size_t action) const;
  /// The size with the largest bound; before any turn, that with the largest worth.
  std::size_t best() const;

  std::vector<double> state() const;
  void restore(const std::vector<double>& state);

 private:
  double scale() const;  // of `worth_`, by the turns so far

  MarginalConstants constants_;
  std::vector<double> worth_;
  std::vector<double> turns_, sums_, squares_;  // [actions] discounted
};

/// Needs AdjusterSetting's `cost` and `target_cells`.
std::unique_ptr<BatchAdjuster> marginal_adjuster(const AdjusterSetting& setting);

}  // namespace strobe
