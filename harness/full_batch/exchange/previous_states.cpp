// Invariant: between two epochs nothing is under way, and given_ is what the ranks before handed on in the last epoch.
// A piece is given a state by another rank only, so every state that arrives has travelled.
#include "harness/full_batch/exchange/previous_states.hpp"

#include <utility>
#include <vector>

namespace strobe {

PreviousStates::PreviousStates(Device& device, const ExchangePlan& plan, std::int64_t width)
    : plan_(&plan), width_(width), exchange_(device, plan, Traffic::state) {}

const Tensor& PreviousStates::given(Device& device) {
  if (!given_.defined()) {
    const PartScope part(device, MemoryPart::buffers);
    given_ = device.allocate(exchange_.output_rows(), width_);
    device.run(Fill{given_, 0.0});
  }
  return given_;
}

void PreviousStates::hand_on(Device& device, Communicator& communicator, const Tensor& states) {
  if (states.rows() != exchange_.input_rows())
    throw Error("states for the next epoch: the tensor has another number of rows than the plan");
  const PartScope part(device, MemoryPart::buffers);
  leaving_ = states;
  arriving_ = device.allocate(exchange_.output_rows(), width_, states.type());
  flight_ = exchange_.start(device, communicator, Exchange::Way::forward, leaving_, arriving_);
}

void PreviousStates::finish(Device& device, Communicator& communicator) {
  exchange_.finish(device, communicator, Exchange::Way::forward, flight_, arriving_);
  given_ = std::exchange(arriving_, {});
  leaving_ = {};
}

Tensor PreviousStates::gather(Device& device, Communicator& communicator) const {
  if (!given_.defined()) return {};
  const PartScope part(device, MemoryPart::buffers);
  std::vector<PeerRows> rows;
  std::int64_t total = 0;
  for (Rank r = 0; r < plan_->rank_count; ++r) {
    rows.push_back({total, plan_->of(r).output_rows});
    total += rows.back().count;
  }
  const Tensor all = device.allocate(total, width_, given_.type());
  communicator.all_gather_v(given_, all, std::move(rows), Traffic::other);
  return all;
}

void PreviousStates::restore(Device& device, const Tensor& all) {
  const PartScope part(device, MemoryPart::buffers);
  std::int64_t first = 0;
  for (Rank r = 0; r < device.rank(); ++r) first += plan_->of(r).output_rows;
  const std::int64_t rows = exchange_.output_rows();
  given_ = device.allocate(rows, width_, all.type());
  if (rows > 0) device.run(CopyRows{all.slice_rows(first, rows), given_, {}, {}, rows, 0, 0, width_, false});
}

}  // namespace strobe
