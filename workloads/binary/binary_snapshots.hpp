// Graphs of steps as files of Strobe's own.
#pragma once

#include <memory>
#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Writes `graph` atomically, versioned and checksummed, with provenance; snapshots that steps share are written once.
/// Throws InvalidRequest for a graph without steps.
void write_binary_snapshots(const SnapshotGraph& graph, const std::string& path);
/// The same for processes that run now: without checksums, and not flushed to the disk.
void write_passing_snapshots(const SnapshotGraph& graph, const std::string& path);
/// Maps a file of `write_passing_snapshots` that this run wrote; its content is not checked. `keeper` lives as long as
/// the mapping.
SnapshotGraph read_passing_snapshots(const std::string& path, std::shared_ptr<const void> keeper);

/// Maps a file of `write_binary_snapshots`: the large arrays are views on it, and unused parts are not read. Throws
/// InvalidInput when the file is foreign, of another version, truncated or damaged. For a file that changed since it
/// was written (or is a copy), all checksums and the content are checked. For an unchanged file only the checksums of
/// its beginning are, unless `verify` asks for all.
SnapshotGraph read_binary_snapshots(const std::string& path, bool verify = false);

}  // namespace strobe
