// Ends training before its last epoch: when a metric has reached a value, or when it no longer improves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/metric_names.hpp"
#include "harness/request/case.hpp"
#include "models/tasks/reference_levels.hpp"

namespace strobe {

/// Prefix of the names of metrics on the validation samples.
inline constexpr const char* validation_prefix = "validation_";

/// The rule in `until`: "converged", "converged:metric=auc,patience=5", "auc=0.8", "mrr=50%" or "mrr=50%,best=0.9". The
/// metric is one of the task's, on the validation samples, or "loss", the training loss.
struct UntilRule {
  std::string metric = "loss";
  bool converged = false;      // no better value for `patience` epochs in a row; else: has reached `value`
  double value = 0;            // of a share: known once the rule is resolved
  std::int64_t patience = 10;  // epochs
  /// A share in (0, 1] of the way from the best rule that learns nothing to the best known value.
  std::optional<double> share;
  std::optional<double> best;       // the best known value: as given, or as the generator of the data states it
  std::optional<double> best_rule;  // what the best rule reaches on the validation samples; set by resolve_until
  std::string name_of_rule;         // "" = the task has none

  bool reads_loss() const { return metric == "loss"; }
  bool is_target() const { return !converged && !reads_loss(); }
  /// Whether a rule that learns nothing reaches the target.
  bool reached_by_rule() const;
  /// The name of the watched series: "loss", or the metric on the validation samples.
  std::string series() const;
};

/// Parses `until`. Throws InvalidRequest("/until", ...) when the text is not a rule.
UntilRule parse_until(const std::string& text);

/// Refuses a rule that the case cannot follow: its metric is not in the task's `metrics`, or it lacks validation
/// samples or values. Throws InvalidRequest("/until", ...) and ("/numerics", ...).
void check_until(const Case& c, std::vector<std::string> metrics, bool has_validation);

/// The rule of `c` with the levels of its metric, and with a share as a value; nothing without a rule. Throws
/// InvalidRequest("/until", ...) when a share lacks one of its two ends, or when these are in the wrong order.
std::optional<UntilRule> resolve_until(const Case& c, const ReferenceLevels& levels);

/// A sentence about a resolved target: what a share means, or that a rule which learns nothing reaches it; else "".
std::string note_on_target(const UntilRule& rule, const std::string& text);

/// Refuses a target that a rule reaches which learns nothing. Throws InvalidRequest("/until", ...).
void refuse_target_of_rules(const UntilRule& rule, const std::string& text);

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

/// Whether the rule held after the last epoch of these curves; false without a rule or without an epoch.
bool until_holds(const std::optional<UntilRule>& rule, const std::vector<double>& loss,
                 const std::map<std::string, std::vector<double>>& metrics);

}  // namespace strobe
