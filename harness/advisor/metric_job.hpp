// Jobs that last until a metric of the validation samples has a value: the time that this takes at a point of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// The result of training.
struct MetricReach {
  bool reached = false;
  std::int64_t epochs = 0, updates = 0;
  /// Virtual seconds of these epochs. Nothing when the curve was trained elsewhere; then multiply an epoch's time.
  std::optional<double> seconds;
  std::optional<double> target;  // the metric's value at which training ends
  std::string refusal;           // why there is no curve; "" when there is one
};

/// Trains with values until the rule holds. Exact full-batch training has the same curve on any number of ranks (law
/// 3). So for such points, one curve is trained on one rank of this machine. All other points train on their own number
/// of ranks, in the virtual time of their cluster. Thread-safe: one thread trains while others wait.
class MetricJob {
 public:
  /// Training ends after `epochs` at the latest. Throws InvalidRequest("--until", ...) for text that is not a rule.
  /// Also throws it for a rule about loss or convergence, because these do not compare between models.
  MetricJob(const std::string& until, std::int64_t epochs);

  const std::string& until() const { return until_; }

  /// Trains `c`, whose plan is `plan`, until the metric has its value. Throws the exceptions of the case's training,
  /// and InvalidRequest("--until", ...) where a share is another value than for an earlier model, since times then do
  /// not compare.
  MetricReach reach(const PlannedCase& plan, const Case& c, const DataCache& cache);

 private:
  MetricReach train(const Json& request, const DataCache& cache);
  void check_target(const MetricReach& reach, const std::string& model);

  std::string until_;
  std::int64_t epochs_;
  std::mutex mutex_;
  std::map<std::string, MetricReach> curves_;                 // by the case for one rank
  std::optional<std::pair<std::string, double>> first_seen_;  // the first model that was trained, and its target
};

}  // namespace strobe
