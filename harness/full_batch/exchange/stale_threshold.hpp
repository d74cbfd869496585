// How far a row must have moved to be sent again, as a share of the largest distance of the epoch.
#pragma once

#include <vector>

#include "harness/placement/staleness.hpp"

namespace strobe {

/// theta_r / D_r of a policy (DGC, Eq. 6 and 7). Every rank has one and tells it the loss of every epoch, which is the
/// same on all of them.
class StaleThreshold {
 public:
  explicit StaleThreshold(const Staleness& policy) : policy_(policy) {}

  const Staleness& policy() const { return policy_; }

  /// An epoch has ended with this loss. The first is l_1.
  void add_loss(double loss);
  /// The epochs that another run has trained ended with these.
  void resume(const std::vector<double>& losses);

  /// theta_r / D_r in the epoch that follows: the static share; or 1 / (1 + exp(-(l_1 - l_(r-1)) / l_1)), with the
  /// other sign under `printed_sign`. A loss that is no number any more makes it none either, and all rows are sent.
  double share() const;

 private:
  Staleness policy_;
  bool any_ = false;
  double first_ = 0, last_ = 0;
};

}  // namespace strobe
