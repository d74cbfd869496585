// Which vertex of the data each number of an output stands for: outputs number vertices from 0, and what the file calls
// them stands beside (docs/interchange.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// What a file calls the vertices of a graph, which must outlive this.
struct VertexIds {
  std::int64_t vertices = 0;
  std::span<const std::int64_t> id;   // [N] or empty: the file's number of each vertex
  std::span<const std::string> name;  // [N] or empty: its name
};

VertexIds vertex_ids(const SnapshotGraph& graph);
VertexIds vertex_ids(const EventGraph& graph);

/// Columns of a CSV that stand behind those with numbers of vertices: `id` where the file's numbers differ from the
/// rows, `name` where it has names. A line with several vertices has both of each, as source_id,target_id.
class VertexColumns {
 public:
  /// `ends` names the vertices of a line, "" being the only one.
  VertexColumns(const VertexIds& ids, std::vector<std::string> ends);
  /// With a comma in front of each.
  std::string header() const;
  /// Of the line's vertices, as many as there are ends.
  std::string cells(const VertexId* vertices) const;

 private:
  VertexIds ids_;
  std::vector<std::string> ends_;
  bool renumbered_;
};

/// Where the vertices of the output `path` are listed: e.ids.csv for e.npy; "" when `path` is no file (a device, a
/// pipe) or the graph's vertices have neither numbers of a file nor names.
std::string ids_path(const std::string& path, const VertexIds& ids);

/// Writes row,id[,name] as CSV, atomically: which vertex of the file each row of embeddings and states is. Nothing when
/// `ids_path` is "". Throws SystemError.
void write_ids(const std::string& path, const VertexIds& ids);

}  // namespace strobe
