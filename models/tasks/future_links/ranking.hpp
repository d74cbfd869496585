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

/// Those of event i of `scores`, which may be shortened.
double reciprocal_rank(const EventOutputs& scores, std::size_t i, TieRule ties);

/// Shortens the scores of the events from number `event` on: at most `most` scores stay of each (EventTask::shorten).
void shorten_scores(EventOutputs& scores, std::size_t event, std::int64_t most, TieRule ties);

/// Appends the scores of event i of `scores` to `flat`: their number, then the scores, that of its true destination
/// first.
void append_scores(const EventOutputs& scores, std::size_t i, std::vector<double>& flat);

/// mrr, ap and auc of those judged events that `events` lists; `prefix` comes before their names. An event without a
/// candidate is left out. The scores of an event begin with its true destination's.
std::map<std::string, double> link_metrics(const EventOutputs& scores, const std::vector<std::size_t>& events,
                                           const std::string& prefix, TieRule ties);

/// The past that a model and the rules see.
struct SeenHistory {
  bool model_sees_batch = false;  // earlier events of the own batch
  bool rules_see_batch = false;   // history=event
};

/// Notes for the row about the last `mrr`: it exceeds the best possible; it does not beat the best rule; or it beats
/// the rule and sees more than it. Empty without any of these.
std::vector<std::string> remarks_on_levels(const std::map<std::string, std::vector<double>>& metrics,
                                           const ReferenceLevels& levels, const SeenHistory& seen);

}  // namespace strobe
