// Checks the types of JSON values that are read back against their JSON Schema.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// Reports the first value, `value` or one inside it, whose type is none of those in `schema`, or which is a word
/// beyond its list of words: "/n is text, expected integer". "" where there is none. Missing or unknown keys and ranges
/// of numbers are not checked, because files of other versions have others.
std::string type_complaint(const Json& value, const Json& schema, const std::string& pointer = "");

}  // namespace strobe
