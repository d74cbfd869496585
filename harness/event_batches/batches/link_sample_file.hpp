// The files of --dump-samples and --dump-ranks for link prediction.
#pragma once

#include <span>
#include <string>

#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

/// Writes CSV with the header `event,part,group,place,vertex`, followed by the columns of VertexColumns. It lists the
/// negatives of each training event by group, and the candidates of each validation and test event (group -1). The
/// destination is not listed. Numbers of events and vertices count all of the workload from 0. Throws SystemError.
void write_link_samples(const std::string& path, const EventCase& c);

/// Writes `event,part,source,destination,candidates,rank` for each judged validation and test event, numbered in the
/// same way. `ranks` are those of EventViews. `candidates` counts the destination, too. Throws SystemError.
void write_link_ranks(const std::string& path, const EventCase& c, std::span<const double> ranks);

}  // namespace strobe
