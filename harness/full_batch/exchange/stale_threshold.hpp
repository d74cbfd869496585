// How far a row must have moved to be sent again, as a share of the largest distance of the epoch.
#pragma once

#include <vector>

#include "harness/placement/staleness.hpp"

namespace strobe {

/// theta_r / D_r of a policy (DGC, Eq. 6 and 7). Every rank has one, and adds the loss of every epoch. The loss is the
/// same on all ranks, so the threshold is too.
class StaleThreshold {
 public:
  explicit StaleThreshold(const Staleness& policy) : policy_(policy) {}

  const Staleness& policy() const { return policy_; }

  /// Adds the loss of the epoch that has ended. The first loss is l_1.
  void add_loss(double loss);
  /// Starts from the losses of the epochs that an earlier run has trained.
  void resume(const std::vector<double>& losses);

  /// theta_r / D_r in the next epoch: the static share, or 1 / (1 + exp(-(l_1 - l_(r-1)) / l_1)), with the other sign
  /// under `printed_sign`. After a NaN loss it is NaN, and all rows are sent.
  double share() const;

 private:
  Staleness policy_;
  bool any_ = false;
  double first_ = 0, last_ = 0;
};

}  // namespace strobe
