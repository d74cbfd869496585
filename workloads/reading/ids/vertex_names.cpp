#include "workloads/reading/ids/vertex_names.hpp"

#include <algorithm>

namespace strobe {
namespace {

std::string_view name_or_none(const NameTable& names, std::int64_t number) {
  return number < static_cast<std::int64_t>(names.size()) ? names.name(number) : std::string_view();
}

}  // namespace

void NameWriter::add(std::string_view name) {
  bytes_.append(reinterpret_cast<const std::int8_t*>(name.data()), name.size());
  ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
}

void name_vertices(const NameTable& names, EventGraph& graph) { name_vertices(names, names, graph); }

void name_vertices(const NameTable& sources, const NameTable& targets, EventGraph& graph) {
  NameWriter names;
  for (const std::int64_t id : graph.original_id) names.add(name_or_none(sources, id));
  if (graph.two_sided)
    for (const std::int64_t id : graph.original_id) names.add(name_or_none(targets, id));
  graph.vertex_name = names.finish();
}

void name_targets(const std::vector<std::string>& names, EventGraph& graph) {
  std::vector<std::string> all(static_cast<std::size_t>(graph.vertices));
  all.insert(all.end(), names.begin(), names.end());
  graph.vertex_name = all;
}

bool names_by_side(const EventGraph& graph) {
  return graph.vertices > 0 && graph.vertex_name.size() == 2 * static_cast<std::size_t>(graph.vertices);
}

void join_names_of_sides(EventGraph& graph) {
  if (!names_by_side(graph)) return;
  const auto vertices = static_cast<std::size_t>(graph.vertices);
  NameWriter joined;
  for (std::size_t v = 0; v < vertices; ++v) {
    const std::string_view source = graph.vertex_name[v], target = graph.vertex_name[vertices + v];
    if (!source.empty() && !target.empty() && source != target) {
      graph.vertex_name.clear();
      graph.provenance.notes.push_back(
          "names are left out, because ids=shared merges vertices that have different names");
      return;
    }
    joined.add(source.empty() ? target : source);
  }
  graph.vertex_name = joined.finish();
}

bool names_tell_apart(const NameColumn& names) {
  NameTable seen;
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    const auto new_number = static_cast<std::int64_t>(seen.size());
    return !name.empty() && seen.number(name) == new_number;
  });
}

NameColumn names_of(const BinaryFile& file, std::int64_t vertices) {
  const auto ends = file.column<std::int64_t>("name_ends", vertices, false);
  if (ends.empty()) return {};
  const std::int64_t size = file.count("name_bytes", most_binary_rows);
  if (!std::is_sorted(ends.begin(), ends.end()) || ends.front() < 0 || ends.back() != size)
    file.refuse("the names of vertices are damaged");
  return {file.column<std::int8_t>("name_bytes", size, true), ends};
}

}  // namespace strobe
