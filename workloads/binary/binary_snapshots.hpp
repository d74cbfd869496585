// Graphs of steps as files of Strobe's own.
#pragma once

#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Writes `graph` atomically, versioned and checksummed, with provenance; snapshots that steps share are written once.
/// Throws InvalidRequest for a graph without steps.
void write_binary_snapshots(const SnapshotGraph& graph, const std::string& path);

/// Reads a file of `write_binary_snapshots`. The file is mapped and its numbers are copied on all threads, because
/// snapshots own their memory. Throws InvalidInput when the file is foreign, of another version, truncated or damaged.
/// For a file that changed since it was written (or is a copy), all checksums and the content are checked. For an
/// unchanged file only the checksums of its beginning are, unless `verify` asks for all.
SnapshotGraph read_binary_snapshots(const std::string& path, bool verify = false);

}  // namespace strobe
