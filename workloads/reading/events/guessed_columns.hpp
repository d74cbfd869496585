// The note of a format that assumes the meaning of columns because the file does not name them.
#pragma once

#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Notes how columns were taken ("source, target, time"), and when the times are few small numbers, that they may be
/// weights.
void note_guessed_columns(EventGraph& graph, const std::string& columns);

}  // namespace strobe
