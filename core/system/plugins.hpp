// Plug-ins: third-party shared libraries whose strategies, models, formats, ... register themselves with this program.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// Loads the plug-ins that $STROBE_PLUGINS names: paths of shared libraries, separated by colons. Their entries join
/// the registries, and they are never unloaded. Call it once, before there are threads.
/// A name without a folder is refused, because the working folder may belong to somebody else. A relative path is made
/// absolute.
/// Throws InvalidRequest with the path and the reason for a file that cannot be loaded, was built for another release,
/// registers nothing, or has static objects that throw or end the program.
void load_plugins();

/// The absolute paths of the plug-ins that were loaded.
const std::vector<std::string>& loaded_plugins();

/// Removes relative and empty elements from $PATH, $PYTHONPATH and $LD_LIBRARY_PATH, for this process's searches and
/// for the programs that it starts. Such elements mean the working folder, which may belong to somebody else.
void search_no_working_folder();

}  // namespace strobe
