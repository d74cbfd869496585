#include "harness/full_batch/exchange/rank_sums.hpp"

namespace strobe {

Var CommunicatorSums::sum(Tape& tape, const Var& part) const {
  if (communicator_.size() == 1) return part;
  Device& device = tape.device();
  const Tensor& value = part->value;
  const PartScope sums(device, MemoryPart::buffers);
  const Tensor total = device.allocate(value.rows(), value.columns(), value.type());
  device.run(CopyRows{value, total, {}, {}, value.rows(), 0, 0, value.columns(), false});
  communicator_.all_reduce(total, Traffic::state);
  if (!part->needs_gradient) return Tape::constant(total);
  return tape.record_collective(total, [this, &tape, part](const Variable& result) {
    communicator_.all_reduce(result.gradient, Traffic::state);
    const GradientTarget target = tape.target(part);
    const Tensor& dy = result.gradient;
    tape.device().run(CopyRows{dy, target.tensor, {}, {}, dy.rows(), 0, 0, dy.columns(), target.accumulate});
  });
}

}  // namespace strobe
