// Helpers of tests of the part of a plan that a rank keeps.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "harness/full_batch/full_batch_trainer.hpp"
#include "harness/run/launch_request.hpp"
#include "tests/workloads/storage/store_in.hpp"
#include "tests/workloads/support.hpp"

namespace strobe::test {

/// Losses and metrics of three epochs, in which each rank trains with its own plan.
inline std::vector<double> trained(const std::vector<std::shared_ptr<const FullBatchPlan>>& plan_of_rank) {
  const Case& request = plan_of_rank.front()->request;
  std::vector<double> values;
  CommunicatorRegistry::instance()
      .find(request.comm, "")
      .value.launch(launch_request(request), [&](Device& device, Communicator& communicator) {
        FullBatchTrainer trainer(*plan_of_rank[static_cast<std::size_t>(device.rank())], device, communicator);
        for (std::int64_t e = 0; e < 3; ++e) {
          trainer.epoch(e);
          const EpochValues epoch = trainer.values(true);
          if (device.rank() != 0) continue;
          values.push_back(epoch.loss.value());
          for (const auto& [name, value] : epoch.metrics_before) values.push_back(value);
        }
      });
  return values;
}

}  // namespace strobe::test
