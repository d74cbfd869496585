// Ends training before its last epoch: when a metric has reached a value, or when it no longer improves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/request/case.hpp"

namespace strobe {

/// Prefix of the names of metrics on the validation samples.
inline constexpr const char* validation_prefix = "validation_";

/// The rule in `until`: "converged", "converged:metric=auc,patience=5" or "auc=0.8". The metric is one of the task's,
/// on the validation samples, or "loss", the training loss.
struct UntilRule {
  std::string metric = "loss";
  bool converged = false;  // no better value for `patience` epochs in a row; else: has reached `value`
  double value = 0;
  std::int64_t patience = 10;  // epochs

  bool reads_loss() const { return metric == "loss"; }
  /// The name of the watched series: "loss", or the metric on the validation samples.
  std::string series() const;
};

/// Parses `until`. Throws InvalidRequest("/until", ...) when the text is not a rule.
UntilRule parse_until(const std::string& text);

/// Whether smaller values of a metric are better: true for losses and errors (loss, rmse, mae, ...), false for others.
bool smaller_is_better(const std::string& metric);

/// Refuses a rule that the case cannot follow: its metric is not in the task's `metrics`, or it lacks validation
/// samples or values. Throws InvalidRequest("/until", ...) and ("/numerics", ...).
void check_until(const Case& c, std::vector<std::string> metrics, bool has_validation);

/// Watches the values of one epoch after the other. The same values give the same answer, so all ranks stop together.
class UntilWatch {
 public:
  explicit UntilWatch(const UntilRule& rule) : rule_(rule), smaller_(smaller_is_better(rule.metric)) {}

  const UntilRule& rule() const { return rule_; }

  /// Whether the rule holds after an epoch with this `value`. A loss that is NaN is not an improvement. An epoch whose
  /// metric is NaN was not evaluated and does not count.
  bool holds_after(double value);

 private:
  UntilRule rule_;
  bool smaller_;
  double best_ = 0;
  bool any_ = false;
  std::int64_t without_ = 0;  // epochs since the best value
};

/// Whether the rule of `c` held after the last epoch of these curves; false without a rule or without an epoch.
bool until_holds(const Case& c, const std::vector<double>& loss,
                 const std::map<std::string, std::vector<double>>& metrics);

}  // namespace strobe
