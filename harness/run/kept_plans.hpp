// Plans of a suite's cases, each made once: before the first case is measured all are checked, and what was made for
// that is what runs.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/data_cache.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

class KeptPlans {
 public:
  /// Keeps plans of up to so many bytes together (SchedulePlan::kept_bytes); beyond them a plan is made again when it
  /// is asked for. The same in every process, because a partitioner may be a collective of all of them.
  explicit KeptPlans(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
  /// As $STROBE_KEPT_PLANS_GIB says, without it 4 GiB. Throws InvalidRequest when it is no number from 0 on.
  KeptPlans();

  /// The plan of a case. Throws as make_plan.
  std::shared_ptr<const PlannedCase> get(const Case& c);
  /// The same, for the last time.
  std::shared_ptr<const PlannedCase> take(const Case& c);

 private:
  std::uint64_t most_bytes_, bytes_ = 0;
  DataCache cache_;                                                  // of data that the plans share
  std::map<std::string, std::shared_ptr<const PlannedCase>> plans_;  // by the case's JSON
};

}  // namespace strobe
