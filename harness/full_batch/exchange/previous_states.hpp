// PreviousStates: the states that pieces of timelines get from other ranks one epoch late (CutStates::previous_epoch).
// Training goes on from them as constants, so that no rank waits for another in the middle of an epoch.
#pragma once

#include "harness/full_batch/exchange/exchange.hpp"

namespace strobe {

/// One rank's side, for one layer. States leave as soon as the forward pass has them, and travel while the rank
/// computes its backward pass. No gradient returns: PipeGCN (ICLR'22) returns it an epoch late, which this leaves out.
/// Memory: the states that arrive, twice from the first hand_on to finish, else once.
class PreviousStates {
 public:
  /// `plan` must have lists for `device.rank()` when the device holds values, and must outlive this. `width` is the
  /// states' number of columns.
  PreviousStates(Device& device, const ExchangePlan& plan, std::int64_t width);

  /// The states [given rows, width] of the previous epoch; zero in the first.
  const Tensor& given(Device& device);
  /// Starts to send this epoch's states [handed rows, width]. All ranks must call it.
  void hand_on(Device& device, Communicator& communicator, const Tensor& states);
  /// Waits for what the other ranks handed on, which is given from now on. All ranks must call it.
  void finish(Device& device, Communicator& communicator);

  /// States that all ranks together are given.
  std::int64_t held_rows() const { return plan_->total_rows(); }
  /// The given states of all ranks [held_rows(), width], rank by rank. Undefined before the first epoch. All ranks must
  /// call it.
  Tensor gather(Device& device, Communicator& communicator) const;
  /// The reverse: sets this rank's states from `all`, which was gathered under the same plan.
  void restore(Device& device, const Tensor& all);

 private:
  const ExchangePlan* plan_;
  std::int64_t width_;
  Exchange exchange_;
  Tensor given_, arriving_, leaving_;
  Exchange::Flight flight_;
};

}  // namespace strobe
