#include "harness/batches/batch_source.hpp"

#include "backends/host/host_work.hpp"

namespace strobe {

Work making_work(const HybridPlan& plan, std::size_t action) {
  const TypicalBatch& typical = plan.typical[action];
  const double element = plan.full->model.fp64 ? 8 : 4;
  // An entry is looked at when its vertex is found and when it is re-encoded: its column, its value and the place of
  // its vertex, which lies anywhere. A cell is sorted in, and its features are copied.
  const double places = 2 * 4 * typical.entries;
  const double features = typical.target_cells * static_cast<double>(plan.graph().cell_width()) * element;
  Work work;
  work.flops = 4 * typical.entries + 16 * typical.cells;
  work.bytes_read = typical.entries * (2 * 4 + element) + places + features + 16 * typical.cells;
  work.bytes_written = typical.bytes;
  work.gather = {places, places, 4 * static_cast<double>(plan.graph().vertices), 4};
  return work;
}

InlineBatches::InlineBatches(const HybridPlan& plan, Device& device)
    : plan_(plan), device_(device), maker_(std::make_shared<BatchMaker>(plan, device.has_values())) {}

PendingBatch InlineBatches::start(std::size_t action, std::uint64_t number) {
  PendingBatch pending{std::make_shared<SharedBatch>(), {}};
  HostWork work;
  work.name = "make_batch";
  work.work = making_work(plan_, action);
  work.body = [maker = maker_, to = pending.batch, rank = device_.rank(), action, number](Workers&) {
    *to = maker->make(rank, action, number);
  };
  pending.ready = device_.run_on_host(std::move(work));
  return pending;
}

SharedBatch InlineBatches::take(std::size_t action, std::uint64_t number) {
  const PendingBatch pending = start(action, number);
  device_.await(pending.ready);
  return *pending.batch;
}

}  // namespace strobe
