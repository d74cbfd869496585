// Where the files lie that come with the program: data sets, shapes, clusters, suites, scripts.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// `folder`, a path in the source tree that the program was built from, or where the same folder was installed: a
/// program in PREFIX/bin finds it below PREFIX/share/strobe, wherever PREFIX has been moved to.
std::string program_folder(const std::string& folder);

/// Loads the plug-ins that $STROBE_PLUGINS names, paths of shared libraries between colons, whose strategies, models,
/// formats and whatever else registers itself stand beside the program's own from then on. Throws InvalidRequest for
/// one that cannot be loaded, with the loader's words. What is loaded stays.
void load_plugins();

/// The plug-ins that were loaded, as they were named.
const std::vector<std::string>& loaded_plugins();

}  // namespace strobe
