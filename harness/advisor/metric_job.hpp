// Jobs that last until a metric of the validation samples has a value: how long that takes at a point of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// What training came to.
struct MetricReach {
  bool reached = false;
  std::int64_t epochs = 0, updates = 0;
  /// Virtual seconds of these epochs; nothing where the curve was trained elsewhere and an epoch's time is to be
  /// multiplied.
  std::optional<double> seconds;
  std::string refusal;  // why there is no curve: "" where there is one
};

/// Trains with values until the rule holds. Points whose training is exact full batches have the curve of one rank (law
/// 3), which is trained once for all of them, on this machine; all others train at their own number of ranks in the
/// virtual time of their cluster. Used by several threads at a time; one trains while others wait.
class MetricJob {
 public:
  /// Training ends after `epochs` at the latest. Throws InvalidRequest("--until", ...) for a rule about the loss or
  /// convergence, which says nothing that models have in common, and for text that is no rule.
  MetricJob(const std::string& until, std::int64_t epochs);

  const std::string& until() const { return until_; }

  /// How `c`, which is planned as `plan`, is at the metric. Throws what the case's training throws.
  MetricReach reach(const PlannedCase& plan, const Case& c, const DataCache& cache);

 private:
  MetricReach train(const Json& request, const DataCache& cache) const;

  std::string until_;
  std::int64_t epochs_;
  std::mutex mutex_;
  std::map<std::string, MetricReach> curves_;  // by the request of one rank
};

}  // namespace strobe
