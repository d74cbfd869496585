#include "workloads/reading/ids/vertex_names.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace strobe {
namespace {

std::string name_or_none(const NameTable& names, std::int64_t number) {
  return number < static_cast<std::int64_t>(names.size()) ? std::string(names.name(number)) : std::string();
}

}  // namespace

void name_vertices(const NameTable& names, EventGraph& graph) { name_vertices(names, names, graph); }

void name_vertices(const NameTable& sources, const NameTable& targets, EventGraph& graph) {
  const std::size_t vertices = graph.vertices;
  graph.vertex_name.clear();
  graph.vertex_name.reserve(graph.two_sided ? 2 * vertices : vertices);
  for (const std::int64_t id : graph.original_id) graph.vertex_name.push_back(name_or_none(sources, id));
  if (!graph.two_sided) return;
  for (const std::int64_t id : graph.original_id) graph.vertex_name.push_back(name_or_none(targets, id));
}

void name_targets(std::vector<std::string> names, EventGraph& graph) {
  graph.vertex_name.assign(graph.vertices, "");
  std::move(names.begin(), names.end(), std::back_inserter(graph.vertex_name));
}

bool names_by_side(const EventGraph& graph) {
  return graph.vertices > 0 && graph.vertex_name.size() == 2 * static_cast<std::size_t>(graph.vertices);
}

void join_names_of_sides(EventGraph& graph) {
  if (!names_by_side(graph)) return;
  const std::size_t vertices = graph.vertices;
  for (std::size_t v = 0; v < vertices; ++v) {
    const std::string& source = graph.vertex_name[v];
    const std::string& target = graph.vertex_name[vertices + v];
    if (!source.empty() && !target.empty() && source != target) {
      graph.vertex_name.clear();
      graph.provenance.notes.push_back(
          "names are left out, because ids=shared merges vertices that have different names");
      return;
    }
    if (source.empty()) graph.vertex_name[v] = target;
  }
  graph.vertex_name.resize(vertices);
}

bool names_tell_apart(const std::vector<std::string>& names) {
  std::unordered_set<std::string_view> seen;
  seen.reserve(names.size());
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return !name.empty() && seen.insert(name).second;
  });
}

PackedNames pack_names(const std::vector<std::string>& names) {
  PackedNames packed;
  for (const std::string& name : names) {
    packed.bytes.insert(packed.bytes.end(), name.begin(), name.end());
    packed.ends.push_back(static_cast<std::int64_t>(packed.bytes.size()));
  }
  return packed;
}

std::vector<std::string> names_of(const BinaryFile& file, std::int64_t vertices) {
  const auto ends = file.column<std::int64_t>("name_ends", vertices, false);
  if (ends.empty()) return {};
  const std::int64_t size = file.count("name_bytes", most_binary_rows);
  if (!std::is_sorted(ends.begin(), ends.end()) || ends.front() < 0 || ends.back() != size)
    file.refuse("the names of vertices are damaged");
  const auto bytes = file.column<std::int8_t>("name_bytes", size, true);
  std::vector<std::string> names;
  names.reserve(ends.size());
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    names.emplace_back(bytes.begin() + begin, bytes.begin() + end);
    begin = end;
  }
  return names;
}

}  // namespace strobe
