// Binary copies of large text graphs, made and used without being asked.
#pragma once

#include <functional>
#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Folder of the cache: $STROBE_CACHE_DIR, else $XDG_CACHE_HOME/strobe, else ~/.cache/strobe; "" when none of them is
/// set or $STROBE_CACHE is off.
std::string cache_folder();

/// Returns the graph that `read` makes of the file `path`, from the cache when it holds it. `options` are all other
/// choices that the graph depends on. The cache holds one binary graph for each path and options. It uses that graph
/// while every file that the reading looked at, and this program, are unchanged. Files below 1 MiB are not cached. A
/// cache that cannot be written is a note in the provenance, not an error. Several processes may read at once: each
/// writes its own file and renames it.
EventGraph read_through_cache(const std::string& path, const std::string& options,
                              const std::function<EventGraph()>& read);

}  // namespace strobe
