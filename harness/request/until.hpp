// When training ends before its last epoch: as soon as a metric has come to a value, or once it gets no better.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/request/case.hpp"

namespace strobe {

/// In front of the names of metrics that are taken on the validation samples.
inline constexpr const char* validation_prefix = "validation_";

/// What `until` asks for: "converged", "converged:metric=auc,patience=5" or "auc=0.8". A metric is one of the task's,
/// taken on the validation samples, or "loss", the training loss.
struct UntilRule {
  std::string metric = "loss";
  bool converged = false;  // no better value for `patience` epochs one after the other; else: has come to `value`
  double value = 0;
  std::int64_t patience = 10;  // epochs

  bool reads_loss() const { return metric == "loss"; }
  /// The name of the series that is looked at: "loss", or that of the validation samples.
  std::string series() const;
};

/// Reads `until`. Throws InvalidRequest("/until", ...) for text that is no rule.
UntilRule parse_until(const std::string& text);

/// Whether a metric is better the smaller it is: losses and errors (loss, rmse, mae, ...) are, all others are not.
bool smaller_is_better(const std::string& metric);

/// Refuses a rule that the case cannot follow: one about none of the task's `metrics` or that has no validation
/// samples, and any without values. Throws InvalidRequest("/until", ...) and ("/numerics", ...).
void check_until(const Case& c, std::vector<std::string> metrics, bool has_validation);

/// Follows the values of epochs one after the other. The same values give the same answer, so all ranks end alike.
class UntilWatch {
 public:
  explicit UntilWatch(const UntilRule& rule) : rule_(rule), smaller_(smaller_is_better(rule.metric)) {}

  const UntilRule& rule() const { return rule_; }

  /// Whether the rule holds after an epoch that came to `value`. A loss that is no number is no better than any; an
  /// epoch whose metric is no number was not evaluated, and counts for nothing.
  bool holds_after(double value);

 private:
  UntilRule rule_;
  bool smaller_;
  double best_ = 0;
  bool any_ = false;
  std::int64_t without_ = 0;  // epochs since the best
};

/// Whether the rule of `c` held after the last epoch of these curves; false without a rule or without an epoch.
bool until_holds(const Case& c, const std::vector<double>& loss,
                 const std::map<std::string, std::vector<double>>& metrics);

}  // namespace strobe
