#include "harness/files/sample_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "results/files.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/storage/output_target.hpp"

namespace strobe {
namespace {

/// Element `i` of an optional column.
template <class T>
std::string cell(const std::vector<T>& column, std::size_t i, const std::string& without) {
  return column.empty() ? without : fmt::format("{}", column[i]);
}

/// Whether the file numbers vertices otherwise than by rows.
bool renumbered(const SnapshotGraph& graph) {
  for (std::size_t v = 0; v < graph.original_id.size(); ++v) {
    if (graph.original_id[v] != static_cast<std::int64_t>(v)) return true;
  }
  return false;
}

/// The columns behind those of the samples: what the file calls the vertices.
class VertexColumns {
 public:
  VertexColumns(const SnapshotGraph& graph, int arity) : graph_(graph), arity_(arity), ids_(renumbered(graph)) {}

  std::string header() const {
    std::string text;
    for (const auto& [wanted, column] : {std::pair{ids_, "id"}, {!graph_.vertex_name.empty(), "name"}}) {
      if (!wanted) continue;
      text += arity_ == 1 ? fmt::format(",{}", column) : fmt::format(",source_{},target_{}", column, column);
    }
    return text;
  }

  /// Of the vertices that the sample begins with.
  std::string cells(const VertexId* vertices) const {
    std::string text;
    for (int end = 0; ids_ && end < arity_; ++end)
      text += fmt::format(",{}", graph_.original_id[static_cast<std::size_t>(vertices[end])]);
    for (int end = 0; !graph_.vertex_name.empty() && end < arity_; ++end)
      text += "," + csv_cell(graph_.vertex_name[static_cast<std::size_t>(vertices[end])]);
    return text;
  }

 private:
  const SnapshotGraph& graph_;
  int arity_;
  bool ids_;
};

void append(std::string& text, const std::string& split, const Samples& samples, const VertexColumns& columns) {
  const auto arity = static_cast<std::size_t>(samples.arity);
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    text += fmt::format("{},{}", split, samples.step[i]);
    for (std::size_t end = 0; end < arity; ++end) text += fmt::format(",{}", samples.vertices[i * arity + end]);
    const bool candidate = !samples.candidate_of.empty() && samples.candidate_of[i] >= 0;
    text += fmt::format(",{},{},{},{}{}\n", samples.label[i], cell(samples.value, i, ""), cell(samples.weight, i, "1"),
                        candidate ? fmt::format("{}", samples.candidate_of[i]) : "",
                        columns.cells(samples.vertices.data() + i * arity));
  }
}

}  // namespace

void write_samples(const std::string& path, const TaskData& data, const SnapshotGraph& graph) {
  const VertexColumns columns(graph, data.train.arity);
  std::string text = fmt::format("split,step,{},label,value,weight,candidate_of{}\n",
                                 data.train.arity == 1 ? "vertex" : "source,target", columns.header());
  append(text, "train", data.train, columns);
  append(text, "validation", data.validation, columns);
  append(text, "test", data.test, columns);
  write_file_atomically(path, text);
}

std::string ids_path(const std::string& path, const SnapshotGraph& graph) {
  if (graph.original_id.empty() && graph.vertex_name.empty()) return {};
  if (output_target(path).direct) return {};
  return std::filesystem::path(path).replace_extension(".ids.csv").string();
}

void write_ids(const std::string& path, const SnapshotGraph& graph) {
  const std::string file = ids_path(path, graph);
  if (file.empty()) return;
  const bool named = !graph.vertex_name.empty();
  std::string text = named ? "row,id,name\n" : "row,id\n";
  for (std::size_t v = 0; v < static_cast<std::size_t>(graph.vertices); ++v) {
    text += fmt::format("{},{}", v, cell(graph.original_id, v, fmt::format("{}", v)));
    text += named ? "," + csv_cell(graph.vertex_name[v]) + "\n" : "\n";
  }
  write_file_atomically(file, text);
}

}  // namespace strobe
