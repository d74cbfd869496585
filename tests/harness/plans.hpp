// Plans of full-batch training, for tests that look into them.
#pragma once

#include <memory>

#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/training/make_plan.hpp"

namespace strobe::test {

inline std::shared_ptr<const FullBatchPlan> full_batch_plan(const Case& c) {
  const std::shared_ptr<const PlannedCase> plan = make_plan(c);
  return {plan, &full_batch(*plan)};
}

}  // namespace strobe::test
