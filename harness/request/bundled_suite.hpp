// Suites that ship with Strobe.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Their names, sorted: paths below the folder of suites without ".json", such as "quickstart" or "dgc/fusion".
std::vector<std::string> bundled_suite_names();

/// The file of a bundled suite.
std::string bundled_suite(const std::string& name);

/// The path of a suite: `typed` when it is a file, else the bundled suite of that name. If it is neither, throws
/// InvalidRequest("SUITE") that names the nearest bundled suite.
std::string suite_path(const std::string& typed);

/// The entries of `strobe list suites`.
Json describe_bundled_suites();

}  // namespace strobe
