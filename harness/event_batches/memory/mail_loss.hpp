// The information that batches lose for node memory (DistTGL, Fig. 3 and 8). Only one of a vertex's mails in a batch
// stays, and a batch reads memory as it was before the batch's first event. Both follow from the events alone.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

struct MailLoss {
  /// Share of mails that never reach a memory, because a later mail of the batch replaces them. An event sends one mail
  /// to each of its ends; a self-loop sends one.
  double lost_share = 0;
  /// Mean staleness of an end's memory, over all ends of all events. It is the time from the last event that the memory
  /// knows to the end's last event before this one. It is 0 if the memory knows all events before.
  double mean_staleness_seconds = 0;
};

/// The loss over the first `events` events in batches of `batch`. Cost: O(events + vertices). Memory: 24 bytes a
/// vertex, which lie in a file under a bound of memory when they are many (GrowingColumn).
MailLoss mail_loss(const EventGraph& graph, EdgeId events, std::int64_t batch);

/// The number of mails that reach each vertex's memory from the first `events` events, [N] (Fig. 8).
std::vector<std::int64_t> captured_mails(const EventGraph& graph, EdgeId events, std::int64_t batch);

}  // namespace strobe
