// Maps the vertex numbers in output files to the input's vertices. Outputs number vertices from 0; extra columns or
// files hold the input's numbers and names (docs/reference/output_formats.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// The input's numbers and names for the vertices of a graph. The graph must outlive this.
struct VertexIds {
  std::int64_t vertices = 0;
  std::span<const std::int64_t> id;  // [N] or empty: the input's number of each vertex
  NameColumn name;                   // [N] or empty: its name
};

VertexIds vertex_ids(const SnapshotGraph& graph);
VertexIds vertex_ids(const EventGraph& graph);

/// The last columns of a CSV with vertex numbers: `id` where the input numbers vertices differently, `name` where
/// vertices have names. A line with two vertices has both, such as source_id,target_id.
class VertexColumns {
 public:
  /// `ends` names the vertices of a line; "" names a single vertex.
  VertexColumns(const VertexIds& ids, std::vector<std::string> ends);
  /// The column names, each after a comma.
  std::string header() const;
  /// The fields for the vertices of one line, each after a comma. `vertices` has one entry per end.
  std::string cells(const VertexId* vertices) const;

 private:
  VertexIds ids_;
  std::vector<std::string> ends_;
  bool renumbered_;
};

/// The file that lists the vertices of the output `path`: e.ids.csv for e.npy. Returns "" when `path` is not a file (a
/// device, a pipe), or when the vertices have neither input numbers nor names.
std::string ids_path(const std::string& path, const VertexIds& ids);

/// Writes row,id[,name] as CSV, atomically: the input's vertex for each row of embeddings and states. Writes nothing
/// when `ids_path` is "". Throws SystemError.
void write_ids(const std::string& path, const VertexIds& ids);

}  // namespace strobe
