// What batches cost the memory (DistTGL, Fig. 3 and 8): of several mails of a vertex in a batch one stays, and a batch
// reads what was known before its first event. Both follow from the events alone.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

struct MailLoss {
  /// Mails that never reach a memory because a later one of the batch takes their place, of all mails: each event sends
  /// one to each of its ends, a self-loop one.
  double lost_share = 0;
  /// Mean over all ends of all events: seconds from the event that the end's memory has last heard of to its last event
  /// before this one. 0 for an end whose memory has heard of all.
  double mean_staleness_seconds = 0;
};

/// Of the first `events` events in batches of `batch`. Cost: O(events + vertices).
MailLoss mail_loss(const EventGraph& graph, EdgeId events, std::int64_t batch);

/// Of each vertex, how many of its mails among the first `events` events reach its memory: [N] (Fig. 8).
std::vector<std::int64_t> captured_mails(const EventGraph& graph, EdgeId events, std::int64_t batch);

}  // namespace strobe
