#include "harness/files/placement_file.hpp"

#include <fmt/format.h>

#include <iterator>

#include "results/run/files.hpp"

namespace strobe {
namespace {

bool same_at_all_steps(const Placement& placement, VertexId v) {
  for (Step t = 1; t < placement.steps(); ++t) {
    if (placement.owner(v, t) != placement.owner(v, 0)) return false;
  }
  return true;
}

/// Appends the columns after the ranks, for the next cell of vertex v.
void append_rest(std::string& text, VertexId v, const std::uint32_t* chunk, const VertexLoads* loads) {
  const auto end = std::back_inserter(text);
  if (chunk != nullptr) fmt::format_to(end, ",{}", *chunk);
  if (loads != nullptr) fmt::format_to(end, ",{},{}", loads->load[v], loads->group[v]);
  text += '\n';
}

}  // namespace

void write_placement_file(const std::string& path, const Placement& spatial, const Placement& temporal,
                          const Column<std::uint32_t>* chunk_of_cell, const VertexLoads* loads) {
  std::string text = "step,vertex,rank,temporal_rank";
  if (chunk_of_cell != nullptr) text += ",chunk";
  if (loads != nullptr) text += ",load,group";
  text += '\n';
  const auto end = std::back_inserter(text);
  std::size_t cell = 0;
  for (std::int64_t i = 0; i < spatial.vertices; ++i) {
    const auto v = static_cast<VertexId>(i);
    if (chunk_of_cell == nullptr && spatial.owner(v, 0) >= 0 && same_at_all_steps(spatial, v) &&
        same_at_all_steps(temporal, v)) {
      fmt::format_to(end, ",{},{},{}", v, spatial.owner(v, 0), temporal.owner(v, 0));
      append_rest(text, v, nullptr, loads);
      continue;
    }
    for (Step t = 0; t < spatial.steps(); ++t) {
      if (spatial.owner(v, t) < 0) continue;  // the cell does not exist
      fmt::format_to(end, "{},{},{},{}", t, v, spatial.owner(v, t), temporal.owner(v, t));
      append_rest(text, v, chunk_of_cell == nullptr ? nullptr : &(*chunk_of_cell)[cell++], loads);
    }
  }
  write_file_atomically(path, text);
}

}  // namespace strobe
