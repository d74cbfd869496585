// The distributions of a workload as text for a terminal.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// Writes `facts`, an inspection's report or a shape as JSON, for people. It has single values, then a table of
/// distributions (shares of steps or vertices at or below a value), then edges and overlap per step as bars.
std::string profile_text(const Json& facts);

}  // namespace strobe
