#include "workloads/graph/presence.hpp"

#include <algorithm>
#include <numeric>

#include "core/errors.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {
namespace {

/// Calls visit(v) for both ends of every edge of a step.
template <class Visit>
void visit_ends(const Snapshot& step, const Visit& visit) {
  for (std::size_t v = 0; v + 1 < step.row_offsets.size(); ++v) {
    if (step.row_offsets[v] < step.row_offsets[v + 1]) visit(v);
    for (std::int64_t e = step.row_offsets[v]; e < step.row_offsets[v + 1]; ++e)
      visit(static_cast<std::size_t>(step.columns[e]));
  }
}

/// The last step at which each vertex has an edge, or -1: [N].
std::vector<Step> last_touched(const SnapshotGraph& graph) {
  std::vector<Step> last(static_cast<std::size_t>(graph.vertices), -1);
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t)
    visit_ends(*graph.snapshots[t], [&](std::size_t v) { last[v] = static_cast<Step>(t); });
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
  if (kind == "all") return nullptr;
  std::vector<std::int32_t> begins;
  begins.reserve(static_cast<std::size_t>(graph.steps() * graph.vertices));
  visit_presence(graph, kind,
                 [&](std::span<const std::int32_t> step) { begins.insert(begins.end(), step.begin(), step.end()); });
  return std::make_shared<const Presence>(graph.vertices, std::move(begins));
}

void visit_presence(const SnapshotGraph& graph, const std::string& kind,
                    const std::function<void(std::span<const std::int32_t>)>& visit) {
  const auto& kinds = presence_kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw InvalidRequest("/presence", unknown_name_message("presence", kind, kinds));
  const auto n = static_cast<std::size_t>(graph.vertices);
  const std::vector<Step> last = kind == "lifetime" ? last_touched(graph) : std::vector<Step>();
  std::vector<std::int32_t> begins(n, -1);
  std::vector<bool> touched(n);
  for (std::size_t at = 0; at < graph.snapshots.size(); ++at) {
    const auto t = static_cast<Step>(at);
    touched.assign(n, false);
    visit_ends(*graph.snapshots[at], [&](std::size_t v) { touched[v] = true; });
    for (std::size_t v = 0; v < n; ++v) {
      const bool stays = begins[v] >= 0 && (kind == "seen" || (kind == "lifetime" && t <= last[v]));
      if (!touched[v] && !stays)
        begins[v] = -1;
      else if (begins[v] < 0)
        begins[v] = t;
    }
    visit(begins);
  }
}

}  // namespace strobe
