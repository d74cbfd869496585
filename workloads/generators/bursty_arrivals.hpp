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

/// Self-exciting arrivals. Spontaneous events come at a constant rate; the source of each is drawn by activity. Every
/// event sets off others of the same source: a Poisson number of mean `burst`, after exponential times of mean
/// `decay()`. So the events of each source are a Hawkes process with exponential kernel, and so are those of all
/// sources together. At time 0 the number of events that wait to be set off is the later average. Times are stretched
/// so that the last is `span`. An event that another set off has label 1 with probability labels (2 - burst), any other
/// with labels (1 - burst). Where the first would exceed 1, the two are closer to each other. The expected share of
/// label 1 among all events is `labels`. Spontaneous events also introduce every source once, so that all sources occur
/// where the events suffice. O(E).
Arrivals draw_arrivals(const BurstyParameters& parameters, std::uint64_t seed);

/// Decimals of the times: the mean distance of two events is a thousand of their last digit, as far as doubles reach.
int time_decimals(const BurstyParameters& parameters);

}  // namespace strobe
