// Graphs of steps as files of Strobe's own.
#pragma once

#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Writes `graph` atomically, versioned and checksummed, with provenance; snapshots that steps share are written once.
/// Throws InvalidRequest for a graph without steps.
void write_binary_snapshots(const SnapshotGraph& graph, const std::string& path);

/// Reads what `write_binary_snapshots` wrote: the file is mapped, and its numbers are copied from there on all threads,
/// as snapshots own their memory. Throws InvalidInput when it is foreign, of another version, truncated or damaged. A
/// file that changed since it was written (or is a copy) is compared with all its checksums, and its content with what
/// a graph must be; one that did not only with those of its beginning, unless `verify` asks for all.
SnapshotGraph read_binary_snapshots(const std::string& path, bool verify = false);

}  // namespace strobe
