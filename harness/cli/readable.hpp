// Prints JSON for people: indented keys and short lists.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// The object as lines "key   value". Nested objects are indented. Long lists are cut and followed by their length.
std::string readable(const Json& object, const std::string& indent = "");

}  // namespace strobe
