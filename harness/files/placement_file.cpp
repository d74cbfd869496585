#include "harness/files/placement_file.hpp"

#include <fmt/format.h>

#include <iterator>

#include "results/files.hpp"

namespace strobe {
namespace {

bool same_at_all_steps(const Placement& placement, VertexId v) {
  for (Step t = 1; t < placement.steps(); ++t) {
    if (placement.owner(v, t) != placement.owner(v, 0)) return false;
  }
  return true;
}

}  // namespace

void write_placement_file(const std::string& path, const Placement& spatial, const Placement& temporal) {
  std::string text = "step,vertex,rank,temporal_rank\n";
  const auto end = std::back_inserter(text);
  for (std::int64_t i = 0; i < spatial.vertices; ++i) {
    const auto v = static_cast<VertexId>(i);
    if (spatial.owner(v, 0) >= 0 && same_at_all_steps(spatial, v) && same_at_all_steps(temporal, v)) {
      fmt::format_to(end, ",{},{},{}\n", v, spatial.owner(v, 0), temporal.owner(v, 0));
      continue;
    }
    for (Step t = 0; t < spatial.steps(); ++t) {
      if (spatial.owner(v, t) < 0) continue;  // the cell does not exist
      fmt::format_to(end, "{},{},{},{}\n", t, v, spatial.owner(v, t), temporal.owner(v, t));
    }
  }
  write_file_atomically(path, text);
}

}  // namespace strobe
