// How many rows of memory the batches of a sweep read and write: what a batch costs the host and the links, and by what
// a generated graph is judged against a real one. They follow from the events and the draws alone.
#pragma once

#include <cstdint>

#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

/// Means over the parts of batches that ranks train on, first set of negatives, first sweep of the first copy.
struct BatchRows {
  double read = 0;           // U: distinct vertices among roots and neighbours, unless a model reads one for each asker
  double with_mail = 0;      // M of these have a mail
  double written = 0;        // W: distinct ends of the batch's events, each counted with its last event's rank
  std::int64_t batches = 0;  // so many of the sweep's batches were drawn, all or evenly spread over it
};

/// Of batches of about `most_events` events together, at least eight. Cost: O(training events + drawn events x
/// neighbours). Throws InvalidRequest where an event leaves no negative.
BatchRows batch_rows(const EventCase& c, const BatchOrder& order, std::int64_t most_events = 200'000);

}  // namespace strobe
