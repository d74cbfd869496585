// Features of events and vertices that a format keeps in .npy files next to its own file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/text/npy.hpp"

namespace strobe {

/// Gives the row added i-th the features of row rows[i] of the array [R, F] in `file`, and returns the array's shape.
/// `what` names the numbers in `rows`. Throws InvalidInput for another number of axes, a row that the array does not
/// have, or a value that is no finite fp32.
std::vector<std::int64_t> fill_edge_features(const std::string& file, const std::vector<std::int64_t>& rows,
                                             const std::string& what, EventBuilder& events);

/// Gives the vertices of `graph` the rows of the array [R, F] in `file` by their original ids, and notes it. Throws the
/// same errors as the function above.
void add_vertex_features(const std::string& file, EventGraph& graph);

}  // namespace strobe
