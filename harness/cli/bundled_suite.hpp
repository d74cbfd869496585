// Suites that ship with Strobe.
#pragma once

#include <string>

namespace strobe {

/// The path of a suite: `typed` when it is a file, else the bundled suite of that name. Throws InvalidRequest("SUITE")
/// naming the nearest bundled one when it is neither.
std::string suite_path(const std::string& typed);

}  // namespace strobe
