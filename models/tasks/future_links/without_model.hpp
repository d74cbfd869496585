// Levels that future links reach without a model: rules that learn nothing, and, where the law of the events is known,
// the best that any model could reach.
#pragma once

#include <map>
#include <string>

#include "models/tasks/future_links/options.hpp"
#include "models/tasks/link_rules.hpp"
#include "models/tasks/reference_levels.hpp"

namespace strobe {

/// The expected metrics (mrr, ap, auc) of the true posterior of the events that `events` names, which ranks by the
/// probability of each vertex to be the destination, given all earlier events of its source and the event's own time.
/// No score has a higher expectation when candidates are random: their draw then tells nothing about the destination
/// (mrr), and the odds of a destination against a candidate ascend with that probability (ap and auc, by the lemma of
/// Neyman and Pearson). Where only some events are judged, these are the first ones of their pairs, and pairs that had
/// an event get probability 0. Ties of the posterior count as the mean over their orders. Empty when the law of the
/// events is not known; without mrr when ties are optimistic, since equal scores for all then have mrr 1. O(E K) for K
/// communities, and O(1) for each candidate.
std::map<std::string, double> best_possible(const EventGraph& graph, const EventCandidates& candidates,
                                            const RankedEvents& events, TieRule ties);

/// Adds the mean reciprocal ranks of the rules to `rules`, and the best rule and the best possible of every metric to
/// `levels`; names begin with `prefix`. The best possible is known for random candidates only. Events with a kept-out
/// end have none: a model cannot know which they are.
void judge_without_model(const EventGraph& graph, const EventCandidates& candidates, const RankedEvents& events,
                         const FutureLinksOptions& options, const std::string& prefix,
                         std::map<std::string, double>& rules, ReferenceLevels& levels);

}  // namespace strobe
