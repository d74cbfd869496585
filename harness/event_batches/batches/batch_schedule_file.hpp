// The file of --dump-schedule.
#pragma once

#include <string>

#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

/// Writes CSV with the header `iteration,trainer,copy,sweep,first_event,last_event,negatives,operation`, one line per
/// operation of a rank. Each iteration of `epochs` epochs lists all reads, then training, then writes. This is the
/// order in which a copy's memory sees them.
/// A rank without events in an iteration has no line. Event numbers count all events of the workload; the range
/// includes `last_event`. Events in the range that are not for training are skipped. Throws SystemError.
void write_batch_schedule(const std::string& path, const EventData& data, const BatchOrder& order, std::int64_t epochs);

}  // namespace strobe
