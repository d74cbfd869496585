// Cost: none without a limit; one number is summed over the processes with one. It is asked between epochs, so neither
// times nor bytes of an epoch hold it.
#include "harness/epoch_gate.hpp"

namespace strobe {

bool EpochGate::open(Device& device, Communicator& communicator, std::int64_t step) {
  if (!limit_.limited()) return true;
  const bool up = limit_.up_before(step);
  if (!votes_) return !up;
  const Tensor votes = device.allocate(1, 1, ElementType::f64);
  device.run(Fill{votes, up ? 1.0 : 0.0});
  communicator.all_reduce(votes, Traffic::other);
  double sum = 0;
  device.move_out(votes, &sum);
  if (sum > 0) limit_.set_up();
  return !(sum > 0);
}

}  // namespace strobe
