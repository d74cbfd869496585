// Plug-ins: shared libraries of others whose strategies, models, formats, ... register themselves with this program.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// Loads the plug-ins that $STROBE_PLUGINS names: paths of shared libraries, with colons between them. It adds their
/// entries to the registries, and never unloads them. Call it once, before there are threads.
/// A name without a folder is refused: the working folder may be another's. A relative path is made absolute.
/// Throws InvalidRequest with the path and the reason for a file that cannot be loaded, that was built for another
/// release, that registers nothing, or whose static objects throw or end the program.
void load_plugins();

/// The absolute paths of the plug-ins that were loaded.
const std::vector<std::string>& loaded_plugins();

/// Takes relative and empty elements out of $PATH, $PYTHONPATH and $LD_LIBRARY_PATH, for this process's searches and
/// for the programs that it starts: they mean the working folder, which may be another's.
void search_no_working_folder();

}  // namespace strobe
