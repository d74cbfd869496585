// What --dump-samples writes of links to come.
#pragma once

#include <string>

#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

/// CSV with the header `event,part,group,place,vertex`: of every event that is trained on its negatives by group, of
/// every validation and test event its candidates (group -1); vertices and events are numbered from 0 among all, and
/// the columns of VertexColumns stand behind. The destination itself is not listed. Throws SystemError.
void write_link_samples(const std::string& path, const EventCase& c);

/// What --dump-ranks writes: "event,part,source,destination,candidates,rank" of each judged event, with
/// the same numbers. `ranks` are those of EventViews; candidates count the destination. Throws SystemError.
void write_link_ranks(const std::string& path, const EventCase& c, const std::vector<double>& ranks);

}  // namespace strobe
