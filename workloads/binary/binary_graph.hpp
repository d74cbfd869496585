// What the cache needs of the binary graph beyond reading and writing it (workloads/workload.hpp).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// A binary graph with the object that was written beside it.
struct TaggedGraph {
  EventGraph graph;
  Json tag;
};

/// Like `write_binary_graph`, with `tag` in the file.
void write_tagged_graph(const EventGraph& graph, const Json& tag, const std::string& path);
/// Like `read_binary_graph`; the tag is {} when the file has none.
TaggedGraph read_tagged_graph(const std::string& path, bool verify = false);

}  // namespace strobe
