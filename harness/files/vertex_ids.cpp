#include "harness/files/vertex_ids.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "results/run/files.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/storage/output_target.hpp"

namespace strobe {
namespace {

/// Whether the input numbers vertices in another way than by rows.
bool renumbered(std::span<const std::int64_t> ids) {
  for (std::size_t v = 0; v < ids.size(); ++v) {
    if (ids[v] != static_cast<std::int64_t>(v)) return true;
  }
  return false;
}

std::string column_of(const std::string& end, const char* what) { return end.empty() ? what : end + "_" + what; }

}  // namespace

VertexIds vertex_ids(const SnapshotGraph& graph) { return {graph.vertices, graph.original_id, graph.vertex_name}; }

VertexIds vertex_ids(const EventGraph& graph) {
  return {graph.vertices, {graph.original_id.data(), graph.original_id.size()}, graph.vertex_name};
}

VertexColumns::VertexColumns(const VertexIds& ids, std::vector<std::string> ends)
    : ids_(ids), ends_(std::move(ends)), renumbered_(renumbered(ids.id)) {}

std::string VertexColumns::header() const {
  std::string text;
  for (const std::string& end : ends_) text += renumbered_ ? "," + column_of(end, "id") : "";
  for (const std::string& end : ends_) text += ids_.name.empty() ? "" : "," + column_of(end, "name");
  return text;
}

std::string VertexColumns::cells(const VertexId* vertices) const {
  std::string text;
  for (std::size_t end = 0; renumbered_ && end < ends_.size(); ++end)
    text += fmt::format(",{}", ids_.id[vertices[end]]);
  for (std::size_t end = 0; !ids_.name.empty() && end < ends_.size(); ++end)
    text += "," + csv_cell(ids_.name[vertices[end]]);
  return text;
}

std::string ids_path(const std::string& path, const VertexIds& ids) {
  if (ids.id.empty() && ids.name.empty()) return {};
  if (output_target(path).direct) return {};
  return std::filesystem::path(path).replace_extension(".ids.csv").string();
}

void write_ids(const std::string& path, const VertexIds& ids) {
  const std::string file = ids_path(path, ids);
  if (file.empty()) return;
  std::string text = ids.name.empty() ? "row,id\n" : "row,id,name\n";
  for (std::size_t v = 0; v < static_cast<std::size_t>(ids.vertices); ++v) {
    text += fmt::format("{},{}", v, ids.id.empty() ? static_cast<std::int64_t>(v) : ids.id[v]);
    text += ids.name.empty() ? "\n" : "," + csv_cell(ids.name[v]) + "\n";
  }
  write_file_atomically(file, text);
}

}  // namespace strobe
