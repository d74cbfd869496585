// Rules of papers that choose a configuration without simulating all of them. `strobe plan` shows such a rule's choice
// next to its own search. Each rule registers itself from its own file.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/registry.hpp"
#include "harness/advisor/evaluate.hpp"
#include "harness/advisor/plan_points.hpp"

namespace strobe {

/// The choice of one rule for one search.
class PlanAdvice {
 public:
  virtual ~PlanAdvice() = default;
  /// The choice and its cost among the outcomes of the search. Absent values are null.
  virtual Json to_json(const std::vector<PlanOutcome>& outcomes) const = 0;
  /// The same for reading, in whole lines.
  virtual std::string text(const std::vector<PlanOutcome>& outcomes) const = 0;
};

struct PlanAdviceTag {
  static constexpr const char* kind = "advice";
  /// An option of `strobe plan` that belongs to the rule.
  struct Option {
    std::string name, help, value;  // "max_missing" for --max-missing; the name of its value in the help, such as "X"
  };
  struct Value {
    std::vector<Option> options;
    /// Null when the rule does not apply to the search. May replace points by those that the rule compares. `options`
    /// are as typed, without those that were not given. Throws InvalidRequest, also for options of a rule that does not
    /// apply; Interrupted.
    std::shared_ptr<const PlanAdvice> (*advise)(const PlanSpace& space,
                                                const std::map<std::string, std::string>& options,
                                                const DataCache& cache, std::vector<PlanPoint>& points) = nullptr;
  };
};
/// By name: the key of the advice in the JSON of a plan.
using PlanAdviceRegistry = Registry<PlanAdviceTag>;

/// The option as it is typed, such as "--max-missing".
inline std::string advice_flag(const std::string& name) {
  std::string flag = "--" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace strobe
