// Where a trainer's batches come from: work of the host beside the device.
#pragma once

#include <memory>

#include "backends/device.hpp"
#include "harness/batches/batch_maker.hpp"

namespace strobe {

/// A batch that the host is making.
struct PendingBatch {
  std::shared_ptr<SharedBatch> batch;  // filled in when `ready` has come
  Event ready;
};

/// Batches of one rank, made one after the other when they are asked for. The plan must outlive it and all work of the
/// device.
class InlineBatches {
 public:
  InlineBatches(const HybridPlan& plan, Device& device);

  /// Begins to make the `number`-th batch of that size.
  PendingBatch start(std::size_t action, std::uint64_t number);
  /// The same, and waits for it.
  SharedBatch take(std::size_t action, std::uint64_t number);

 private:
  const HybridPlan& plan_;
  Device& device_;
  std::shared_ptr<BatchMaker> maker_;  // of the host's work, which may end later than this
};

/// What making a batch of a size takes, as the host states it.
Work making_work(const HybridPlan& plan, std::size_t action);

}  // namespace strobe
