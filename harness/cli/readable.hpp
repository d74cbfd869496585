// JSON for reading: indented keys and short lists.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// The object as lines "key   value", nested objects indented, long lists cut with their length named.
std::string readable(const Json& object, const std::string& indent = "");

}  // namespace strobe
