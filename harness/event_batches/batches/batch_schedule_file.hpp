// What --dump-schedule writes.
#pragma once

#include <string>

#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

/// CSV with the header `iteration,trainer,copy,sweep,first_event,last_event,negatives,operation`: what each rank does
/// in each iteration of `epochs` epochs, in the order in which a copy's memory sees it: all reads of an iteration, then
/// training, then writes. A rank without events in an iteration has no line. Events are numbers among all of `data`,
/// `last_event` included; those between that are not trained on are left out. Throws SystemError.
void write_batch_schedule(const std::string& path, const EventData& data, const BatchOrder& order, std::int64_t epochs);

}  // namespace strobe
