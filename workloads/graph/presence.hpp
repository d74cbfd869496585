// The cells (v, t) of a snapshot graph that exist. A cell that does not exist is computed by nobody: it has no row, no
// edges and no samples. A recurrence starts again where a vertex's next sequence starts (readings G9, G12 of the
// project's decisions; DGC, SIGMOD'23, Table 1 and Figure 3 count existing cells).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "workloads/storage/column.hpp"

namespace strobe {

struct SnapshotGraph;

/// Existing cells of a graph, as sequences: the maximal runs of steps of each vertex.
class Presence {
 public:
  /// `begins` [T * N]: the step at which the sequence of cell t * N + v began, or -1 where it does not exist.
  Presence(std::int64_t vertices, std::vector<std::int32_t> begins);
  /// The same with the number of existing cells of each step [T], for `begins` in a mapped file.
  Presence(std::int64_t vertices, Column<std::int32_t> begins, std::vector<std::int64_t> count)
      : vertices_(vertices), begins_(std::move(begins)), count_(std::move(count)) {}

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

 private:
  std::int64_t vertices_;
  Column<std::int32_t> begins_;
  std::vector<std::int64_t> count_;  // [T]
};

/// The values of the option `presence`: all; seen (from a vertex's first edge on); lifetime (from its first edge to its
/// last); active (at steps at which it has an edge, each run of such steps being one sequence).
const std::vector<std::string>& presence_kinds();

/// The cells of `graph` that exist, by the edges of its steps, whichever end a vertex is of them; null for `all`.
/// Throws InvalidRequest("/presence", ...) for another word. Cost O(nnz + T N).
std::shared_ptr<const Presence> presence_of(const SnapshotGraph& graph, const std::string& kind);

/// Calls visit(begins [N]) for every step in order, with the part of Presence::begin that belongs to it. `kind` is not
/// `all`. Throws as `presence_of` does. Cost: that of `presence_of`; memory O(N).
void visit_presence(const SnapshotGraph& graph, const std::string& kind,
                    const std::function<void(std::span<const std::int32_t>)>& visit);

}  // namespace strobe
