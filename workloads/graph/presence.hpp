// The cells (v, t) of a snapshot graph that exist. A cell that does not exist is computed by nobody: it has no row, no
// edges and no samples. A recurrence starts again where a vertex's next sequence starts (readings G9, G12 of the
// project's decisions; DGC, SIGMOD'23, Table 1 and Figure 3 count existing cells).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "workloads/storage/column.hpp"
#include "workloads/storage/shared_parts.hpp"

namespace strobe {

struct SnapshotGraph;

/// Existing cells of a graph, as sequences: the maximal runs of steps of each vertex.
class Presence {
 public:
  /// `begins` [T * N]: the step at which the sequence of cell t * N + v began, or -1 where it does not exist.
  Presence(std::int64_t vertices, Column<std::int32_t> begins);
  /// `counts` [T]: the existing cells of each step.
  Presence(std::int64_t vertices, Column<std::int32_t> begins, Column<std::int64_t> counts);

  std::int64_t vertices() const { return vertices_; }
  std::int64_t steps() const { return static_cast<std::int64_t>(count_.size()); }
  bool exists(VertexId v, Step t) const { return begin(v, t) >= 0; }
  /// The first step of the sequence that (v, t) belongs to; -1 when it does not exist.
  std::int32_t begin(VertexId v, Step t) const {
    return begins_[static_cast<std::size_t>(t) * static_cast<std::size_t>(vertices_) + static_cast<std::size_t>(v)];
  }
  /// Existing cells of one step, and of all.
  std::int64_t count(Step t) const { return count_[t]; }
  std::int64_t cells() const;
  /// Private memory; 0 where a file has the cells.
  std::size_t own_bytes() const { return begins_.own_bytes() + count_.own_bytes(); }

 private:
  std::int64_t vertices_;
  Column<std::int32_t> begins_;
  Column<std::int64_t> count_;  // [T]
};

/// The values of the option `presence`: all; seen (from a vertex's first edge on); lifetime (from its first edge to its
/// last); active (at steps at which it has an edge, each run of such steps being one sequence).
const std::vector<std::string>& presence_kinds();

/// The cells of `graph` that exist, by the edges of its steps, whichever end a vertex is of them; null for `all`.
/// Throws InvalidRequest("/presence", ...) for another word. Cost O(nnz + T N).
std::shared_ptr<const Presence> presence_of(const SnapshotGraph& graph, const std::string& kind);

/// Writes the same cells step by step to a file, which a process makes and others wait for (JointFile). `kind` is not
/// `all`. Memory O(N).
void write_presence(const SnapshotGraph& graph, const std::string& kind, const std::string& path,
                    const BeginWait& begin_wait);
/// Maps a file of `write_presence`; `keeper` lives as long as the mapping.
std::shared_ptr<const Presence> read_presence(const std::string& path, std::shared_ptr<const void> keeper);

}  // namespace strobe
