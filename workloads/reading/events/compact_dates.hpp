// Times that are dates written as numbers: 20160131.
#pragma once

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Replaces times of events and labels by the seconds since 1970 at which their days begin, and notes it. It does so
/// when every one of them is a date YYYYMMDD between 1900 and 2100. Times that only look like dates, months (201601) or
/// years (2016) stay seconds, and a note says that. Graphs of steps and Strobe's binary graphs, which were settled when
/// first read, are not changed.
void settle_dates(EventGraph& graph);

}  // namespace strobe
