// When the events of `bursty_events` happen, and whose they are.
#pragma once

#include <vector>

#include "core/ids.hpp"
#include "workloads/generators/bursty_parameters.hpp"

namespace strobe {

struct Arrivals {
  std::vector<double> time;        // [E], ascending from 0 to the span, decimals of `time_decimals`
  std::vector<VertexId> source;    // [E]
  std::vector<std::int8_t> label;  // [E] or empty
};

/// Self-exciting arrivals. Events of their own come at a constant rate, each of a source drawn by activity; every event
/// sets off others of the same source, a Poisson number of mean `burst`, after exponential times of mean `decay()`. So
/// the events of each source are a Hawkes process with exponential kernel, and those of all together are one, too. At
/// time 0 as many events wait to be set off as do on average later on. Times are stretched so that the last is `span`.
/// An event that another set off has label 1 with probability labels (2 - burst), any other with labels (1 - burst),
/// or less far apart where that exceeds 1: of all, the share `labels` in expectation. Sources are named in turn as
/// well, so that all occur where the events suffice. O(E).
Arrivals draw_arrivals(const BurstyParameters& parameters, std::uint64_t seed);

/// Decimals of the times: the mean distance of two events is a thousand of their last digit, as far as doubles reach.
int time_decimals(const BurstyParameters& parameters);

}  // namespace strobe
