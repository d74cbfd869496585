// Counts the memory rows that batches read and write. They decide the cost of a batch for the host and the links, and
// they compare generated graphs with real ones. They follow from the events and the draws alone.
#pragma once

#include <cstdint>

#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

/// Means over the ranks' parts of batches, for the first set of negatives in the first sweep of the first copy.
struct BatchRows {
  double read = 0;           // U: distinct vertices among roots and neighbours, or all of these if the model needs so
  double with_mail = 0;      // M: those of U with a mail
  double written = 0;        // W: distinct ends of the batch's events, each counted for the rank of its last event
  std::int64_t batches = 0;  // number of batches drawn: all of the sweep, or evenly spread over it
};

/// Draws batches with about `most_events` events in total, but at least eight batches. Cost: O(drawn events x
/// neighbours). Throws InvalidRequest for an event without a negative.
BatchRows batch_rows(const EventCase& c, const BatchOrder& order, std::int64_t most_events = 200'000);

}  // namespace strobe
