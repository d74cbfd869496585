// The values of --vary: the text after "key.path=".
#pragma once

#include <string>
#include <vector>

#include "harness/request/suite.hpp"

namespace strobe {

/// The values in `text`, separated by commas outside braces, brackets and quotes. "1..5" means 1,2,3,4,5, except for
/// the choice of a plug-in. There, "key=value" belongs to the "NAME:key=value" before it. A JSON list stands for its
/// elements. Throws InvalidRequest("--vary", ...) for an unclosed bracket or quote, and for a range that is reversed or
/// has more than `most_cases` values.
std::vector<std::string> varied_values(const std::string& path, const std::string& text);

/// The settings of one of these values. A value is a plug-in's name with its parameters ("vertex:partitioner=metis", or
/// a JSON object), a cluster with its changes, or a single setting. Throws InvalidRequest("--vary PATH", ...).
std::vector<Setting> settings_of_value(const std::string& path, const std::string& value);

}  // namespace strobe
