// Where the files lie that come with the program: data sets, shapes, clusters, suites, scripts.
#pragma once

#include <string>

namespace strobe {

/// `folder`, a path in the source tree that the program was built from, or where the same folder was installed: a
/// program in PREFIX/bin finds it below PREFIX/share/strobe, wherever PREFIX has been moved to.
std::string program_folder(const std::string& folder);

}  // namespace strobe
