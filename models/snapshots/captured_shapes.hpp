// The shapes of the values of a captured model.
#pragma once

#include <string>
#include <vector>

#include "models/snapshots/captured_graph.hpp"

namespace strobe {

/// The shape of every value for vertices of `features` features. Throws InvalidInput(source, ...) when an operation's
/// shapes do not fit.
std::vector<CapturedShape> captured_shapes(const CapturedGraph& graph, std::int64_t features,
                                           const std::string& source);

}  // namespace strobe
