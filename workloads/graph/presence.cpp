#include "workloads/graph/presence.hpp"

#include <algorithm>
#include <numeric>

#include "core/errors.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {
namespace {

/// Whether each vertex has an edge at each step: [T * N].
std::vector<bool> touched_cells(const SnapshotGraph& graph) {
  const std::size_t n = graph.vertices;
  std::vector<bool> touched(static_cast<std::size_t>(graph.steps()) * n, false);
  for (std::size_t t = 0; t < static_cast<std::size_t>(graph.steps()); ++t) {
    const auto& snapshot = *graph.snapshots[t];
    for (std::size_t v = 0; v < n; ++v) {
      for (std::int64_t e = snapshot.row_offsets[v]; e < snapshot.row_offsets[v + 1]; ++e) {
        touched[t * n + v] = true;
        touched[t * n + static_cast<std::size_t>(snapshot.columns[e])] = true;
      }
    }
  }
  return touched;
}

/// The last step at which each vertex has an edge, or -1: [N].
std::vector<std::int64_t> last_touched(const std::vector<bool>& touched, std::size_t vertices) {
  std::vector<std::int64_t> last(vertices, -1);
  for (std::size_t cell = 0; cell < touched.size(); ++cell) {
    if (touched[cell]) last[cell % vertices] = static_cast<std::int64_t>(cell / vertices);
  }
  return last;
}

}  // namespace

Presence::Presence(std::int64_t vertices, std::vector<std::int32_t> begins)
    : vertices_(vertices), begins_(std::move(begins)) {
  const std::size_t n = vertices;
  for (std::size_t first = 0; n > 0 && first < begins_.size(); first += n) {
    const auto row = begins_.begin() + static_cast<std::ptrdiff_t>(first);
    count_.push_back(std::count_if(row, row + static_cast<std::ptrdiff_t>(n), [](auto begin) { return begin >= 0; }));
  }
}

std::int64_t Presence::cells() const { return std::accumulate(count_.begin(), count_.end(), std::int64_t{0}); }

const std::vector<std::string>& presence_kinds() {
  static const std::vector<std::string> kinds = {"all", "seen", "lifetime", "active"};
  return kinds;
}

std::shared_ptr<const Presence> presence_of(const SnapshotGraph& graph, const std::string& kind) {
  const auto& kinds = presence_kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw InvalidRequest("/presence", unknown_name_message("presence", kind, kinds));
  if (kind == "all") return nullptr;
  const std::size_t n = graph.vertices;
  const std::vector<bool> touched = touched_cells(graph);
  const std::vector<std::int64_t> last = last_touched(touched, n);
  std::vector<std::int32_t> begins(touched.size(), -1);
  for (std::size_t cell = 0; cell < touched.size(); ++cell) {
    const auto t = static_cast<std::int32_t>(cell / n);
    const std::int32_t before = t > 0 ? begins[cell - n] : -1;
    const bool stays = before >= 0 && (kind == "seen" || (kind == "lifetime" && t <= last[cell % n]));
    if (touched[cell] || stays) begins[cell] = before >= 0 ? before : t;
  }
  return std::make_shared<const Presence>(graph.vertices, std::move(begins));
}

}  // namespace strobe
