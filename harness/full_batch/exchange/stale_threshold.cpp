#include "harness/full_batch/exchange/stale_threshold.hpp"

#include <cmath>

namespace strobe {

void StaleThreshold::add_loss(double loss) {
  if (!any_) first_ = loss;
  any_ = true;
  last_ = loss;
}

void StaleThreshold::resume(const std::vector<double>& losses) {
  any_ = false;
  for (const double loss : losses) add_loss(loss);
}

double StaleThreshold::share() const {
  if (policy_.kind != Staleness::Kind::adaptive) return policy_.theta;
  // A loss of zero at the start cannot fall.
  const double fallen = first_ == 0 ? 0 : (first_ - last_) / first_;
  return 1 / (1 + std::exp(policy_.printed_sign ? fallen : -fallen));
}

}  // namespace strobe
