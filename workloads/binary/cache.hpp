// Binary copies of large text graphs, made and used without being asked.
#pragma once

#include <functional>
#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Folder of the cache: $STROBE_CACHE_DIR, else $XDG_CACHE_HOME/strobe, else ~/.cache/strobe; "" when none of them is
/// set or $STROBE_CACHE is off.
std::string cache_folder();

/// The graph that `read` gives for the file `path`, from the cache when it holds it. `options` are all the choices
/// besides the path that the graph depends on. The cache holds one binary graph for each path and options, and uses it
/// while every file that the reading looked at, and this program, are unchanged; files below 1 MiB are not worth it.
/// A cache that cannot be written is a note in the provenance, not an error. Safe when several processes read at once:
/// each writes a file of its own and renames it.
EventGraph read_through_cache(const std::string& path, const std::string& options,
                              const std::function<EventGraph()>& read);

}  // namespace strobe
