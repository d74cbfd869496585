// Sets of classes that events have (GDELT's events have several each), and the rule that gives one set to all of them.
// A set of at most 64 classes is a whole number whose bit c means class c.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// The class sets of the events [first, first + count) of a graph whose events have them. Cost: O(classes) an event.
std::vector<std::int64_t> class_sets(const EventGraph& graph, EdgeId first, std::int64_t count);

/// How often each class occurs, and among how many events.
struct ClassCounts {
  std::vector<std::int64_t> of_class;
  std::int64_t events = 0;
};

/// Counts the events [first, last) of a graph with class sets. Cost: O(classes) an event, no memory for events.
ClassCounts count_classes(const EventGraph& graph, EdgeId first, EdgeId last);

/// F1-micro over all pairs of an event and a class when every event is said to have the classes `set`; 0 when nothing
/// is said or true, NaN without events.
double fixed_set_f1(const ClassCounts& counts, std::uint64_t set);

/// The set with the largest `fixed_set_f1`. Among sets of m classes the m most frequent have it, so only these are
/// tried. Among equals the smallest set of the smallest classes is taken.
std::uint64_t best_fixed_set(const ClassCounts& counts);

}  // namespace strobe
