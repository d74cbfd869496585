// Features of events and vertices that a format keeps in .npy files next to its own file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/text/npy.hpp"

namespace strobe {

/// Gives the row of `events` added last the number of its row in an array of features. While rows are sorted, the
/// number takes the place of features.
void add_feature_row(std::int64_t row, EventBuilder& events);

/// The array of features and the least number of its rows that an event has.
struct TakenFeatures {
  std::vector<std::int64_t> shape;
  std::int64_t least_row = 0;
};

/// Replaces the numbers of `add_feature_row` by the features in the array [R, F] of `file`. `what` names the numbers.
/// Large features lie in a file under a bound of memory (reading_bound.hpp). Throws InvalidInput for another number of
/// axes, a row that the array does not have, or a value that is no finite fp32.
TakenFeatures take_edge_features(const std::string& file, const std::string& what, EventGraph& graph);

/// Gives the vertices of `graph` the rows of the array [R, F] in `file` by their original ids, and notes it. Throws the
/// same errors as the function above.
void add_vertex_features(const std::string& file, EventGraph& graph);

}  // namespace strobe
