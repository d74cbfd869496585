// What --dump-samples writes of links to come.
#pragma once

#include <string>

#include "harness/events/event_case.hpp"

namespace strobe {

/// CSV with the header `event,part,group,place,vertex`: of every training event its negatives by group, of every other
/// one its candidates (group -1), in original ids; the destination itself is not listed. Throws SystemError.
void write_link_samples(const std::string& path, const EventData& data);

}  // namespace strobe
