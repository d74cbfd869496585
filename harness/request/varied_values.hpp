// The values of --vary: what stands behind "key.path=".
#pragma once

#include <string>
#include <vector>

#include "harness/request/suite.hpp"

namespace strobe {

/// The values in `text`, separated by commas that stand outside braces, brackets and quotes. "1..5" is 1,2,3,4,5, but
/// for the choice of a plug-in, where "key=value" belongs to the "NAME:key=value" before it; a JSON list is its
/// elements. Throws InvalidRequest("--vary", ...) where something is left open, and for a range that ends before it
/// begins or has more than `most_cases` values.
std::vector<std::string> varied_values(const std::string& path, const std::string& text);

/// What one of these values sets: a plug-in's name with its parameters ("vertex:partitioner=metis", or a JSON object),
/// a cluster with what is changed of it, or a single setting. Throws InvalidRequest("--vary PATH", ...).
std::vector<Setting> settings_of_value(const std::string& path, const std::string& value);

}  // namespace strobe
