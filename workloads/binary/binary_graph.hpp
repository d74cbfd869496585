// Strobe's binary graph: an event graph as a file that is mapped and read where it lies.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/continuous/time_csr.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {

/// Writes `graph` atomically (temporary file, fsync, rename), versioned and checksummed, with provenance.
void write_binary_graph(const EventGraph& graph, const std::string& path);
/// Maps the file: the columns are views on it, and unused parts are not read. Throws InvalidInput when it is foreign,
/// of another version, truncated or damaged. For a file that changed since it was written (or is a copy), all checksums
/// are checked. For an unchanged file only the checksums of its beginning are, unless `verify` asks for all.
EventGraph read_binary_graph(const std::string& path, bool verify = false);

/// A binary graph with the object that was written together with it.
struct TaggedGraph {
  EventGraph graph;
  Json tag;
};

/// Like `write_binary_graph`, with `tag` in the file.
void write_tagged_graph(const EventGraph& graph, const Json& tag, const std::string& path);
/// Like `read_binary_graph`; the tag is {} when the file has none.
TaggedGraph read_tagged_graph(const std::string& path, bool verify = false);

/// A graph with its adjacency, for processes that run now. `graph` is empty when the file holds the adjacency alone.
struct PassingEvents {
  EventGraph graph;
  TimeCsr neighbours;
};

/// Writes both without checksums, and does not flush them to the disk. A null `graph` is left out.
void write_passing_events(const EventGraph* graph, const TimeCsr& neighbours, const std::string& path);
/// Maps a file of `write_passing_events` that this run wrote; its content is not checked. `keeper` lives as long as the
/// mapping.
PassingEvents read_passing_events(const std::string& path, std::shared_ptr<const void> keeper);

}  // namespace strobe
