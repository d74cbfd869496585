// The metrics of predicted future links, the same for every model. The average precision and the area under the ROC
// curve take each event with its first candidate, one to one. The mean reciprocal rank takes all candidates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/tasks/event_task.hpp"
#include "models/tasks/metrics.hpp"

namespace strobe {

/// 1 / rank of the first of `count` scores among all of them; NaN where one is no number.
double reciprocal_rank(const double* scores, std::int64_t count, TieRule ties);

/// mrr, ap and auc of those judged events that `events` lists; `prefix` comes before their names. An event without a
/// candidate is left out. The scores of an event begin with its true destination's.
std::map<std::string, double> link_metrics(const EventOutputs& scores, const std::vector<std::size_t>& events,
                                           const std::string& prefix, TieRule ties);

/// The past that a model and the rules see.
struct SeenHistory {
  bool model_sees_batch = false;  // earlier events of the own batch
  bool rules_see_batch = false;   // history=event
  bool knows_pairs = false;       // pair_history > 0
};

/// Notes for the row that compare the curve of `mrr` with that of the recency rule. One says that the model does not
/// beat a rule which learns nothing. Another says that it beats the rule although it sees no history of its own batch
/// and no codes of pairs, so that it may be looking ahead. A third says that it beats the rule and sees more than it.
/// Empty where one of the curves is missing.
std::vector<std::string> remarks_on_rules(const std::map<std::string, std::vector<double>>& metrics,
                                          const SeenHistory& seen);

}  // namespace strobe
