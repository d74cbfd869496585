// Baselines that every model should beat: rules that rank an event's destination by past events and learn nothing
// (Poursafaei et al., NeurIPS'22; TGB's board). They see the events before the first one of the evaluation batch, like
// a model whose memory is refreshed once a batch; or all events of an earlier time.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "models/tasks/event_candidates.hpp"
#include "models/tasks/metrics.hpp"

namespace strobe {

/// Events [first, last) are ranked in batches of `batch`; the events [0, train_end) fix the length of the window.
struct RankedEvents {
  EdgeId train_end = 0, first = 0, last = 0;
  std::int64_t batch = 200;
  std::int64_t candidates = 49;      // of each event; -1 = all
  std::span<const char> kept_out{};  // [N] 1 of vertices that are kept out of training; empty = none
  std::span<const char> judged{};    // [E] 1 of the events that are judged; empty = all
  bool to_event = false;             // the rules know all events of an earlier time, also in the event's own batch
};

/// Share of the training span that `edgebank_window` looks back from the newest event that it knows.
inline constexpr double edgebank_window_share = 0.15;

/// The metrics of rules by name: mean reciprocal rank (`recency_mrr`), and average precision (`recency_ap`) and area
/// under the ROC curve (`recency_auc`) of the destinations and the first candidates. `edgebank_unlimited`: has the
/// source hit this destination before. `edgebank_window`: the same within the window. `recency`: the source's own
/// destinations by their last visit, then all others by their last visit by anyone. `popularity`: the number of events
/// that hit the destination so far. NaN without events; an event without a candidate counts in the first only. With
/// `kept_out` also the same over the events that have a kept-out end, with `inductive_` in front, unless there are
/// none. The rules learn nothing, so they know the history of these vertices like any other. Cost: O(candidates +
/// distinct destinations of the source) an event.
std::map<std::string, double> rule_metrics(const EventGraph& graph, const EventCandidates& candidates,
                                           const RankedEvents& events, TieRule ties);

/// The names of their mean reciprocal ranks.
const std::vector<std::string>& rule_names();

}  // namespace strobe
