// Finds the files that come with the program: data sets, shapes, clusters, suites, scripts.
#pragma once

#include <string>

namespace strobe {

/// The folder `folder` of the source tree that the program was built from, or its installed copy. A program in
/// PREFIX/bin finds it below PREFIX/share/strobe, wherever PREFIX has been moved to.
std::string program_folder(const std::string& folder);

}  // namespace strobe
