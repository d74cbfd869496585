// What --dump-schedule writes.
#pragma once

#include <string>

#include "harness/events/groups/batch_order.hpp"

namespace strobe {

/// CSV with the header `iteration,trainer,copy,sweep,first_event,last_event,negatives,operation`: what each rank does
/// in each iteration of `epochs` epochs, in the order in which a copy's memory sees it: all reads of an iteration, then
/// training, then writes. Events are numbers among those that are trained on, `last_event` included, below
/// `first_event` where a rank has none. Throws SystemError.
void write_batch_schedule(const std::string& path, const BatchOrder& order, std::int64_t epochs);

}  // namespace strobe
