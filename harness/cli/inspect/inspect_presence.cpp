// A sequence is counted at its last step, when the vertex's next step does not continue it. Cost: O(T N) per kind.
#include "harness/cli/inspect/inspect_presence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/errors.hpp"
#include "harness/cli/command.hpp"
#include "harness/request/option_text.hpp"
#include "workloads/graph/presence.hpp"
#include "workloads/storage/histogram.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// All cells exist, and each vertex is one sequence.
Presence all_cells(const SnapshotGraph& graph) {
  return {graph.vertices, std::vector<std::int32_t>(graph.vertices * graph.steps(), 0)};
}

/// The number of sequences with each length from 0 to T.
std::vector<std::int64_t> count_lengths(const Presence& presence) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(presence.steps()) + 1, 0);
  for (Step t = 0; t < presence.steps(); ++t) {
    for (VertexId v = 0; v < presence.vertices(); ++v) {
      const std::int32_t begin = presence.begin(v, t);
      const bool ends = begin >= 0 && (t + 1 == presence.steps() || presence.begin(v, t + 1) != begin);
      if (ends) ++counts[t + 1 - begin];
    }
  }
  return counts;
}

/// Exact quantiles and mean of lengths, and the number of sequences with each length that occurs.
Json spread_of(const std::vector<std::int64_t>& counts) {
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  Json spread{{"count", all}, {"counts", Json::array()}};
  if (all == 0) return spread;
  std::int64_t steps = 0;
  for (std::size_t length = 0; length < counts.size(); ++length) {
    if (counts[length] > 0) spread["counts"].push_back({length, counts[length]});
    steps += static_cast<std::int64_t>(length) * counts[length];
  }
  spread["mean"] = static_cast<double>(steps) / static_cast<double>(all);
  for (const auto& [name, share] : {std::pair{"min", 0.0},
                                    {"p25", 0.25},
                                    {"median", 0.5},
                                    {"p75", 0.75},
                                    {"p90", 0.9},
                                    {"p95", 0.95},
                                    {"p99", 0.99},
                                    {"max", 1.0}}) {
    std::int64_t length = -1, seen = 0;
    while (seen < nearest_rank(share, all)) seen += counts[++length];
    spread[name] = length;
  }
  return spread;
}

Json describe(const Presence& presence) {
  std::vector<std::int64_t> cells_per_step;
  std::vector<bool> has_any(presence.vertices(), false);
  for (Step t = 0; t < presence.steps(); ++t) {
    cells_per_step.push_back(presence.count(t));
    for (VertexId v = 0; v < presence.vertices(); ++v)
      if (presence.exists(v, t)) has_any[v] = true;
  }
  const auto all = static_cast<double>(presence.vertices()) * static_cast<double>(presence.steps());
  const Json lengths = spread_of(count_lengths(presence));
  return {{"cells", presence.cells()},
          {"share", static_cast<double>(presence.cells()) / std::max(all, 1.0)},
          {"vertices", std::count(has_any.begin(), has_any.end(), true)},
          {"sequences", lengths.at("count")},
          {"sequence_length", lengths},
          {"cells_per_step", cells_per_step}};
}

}  // namespace

std::vector<std::string> presences_to_inspect(const std::string& text) {
  const std::vector<std::string>& known = presence_kinds();
  std::vector<std::string> kinds;
  for (const std::string& kind : split_text(text, ',')) {
    if (std::find(known.begin(), known.end(), kind) == known.end())
      throw InvalidRequest("--presence", unknown_name_message("presence", kind, known));
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end())
      throw InvalidRequest("--presence", fmt::format("presence {} is named twice", kind));
    kinds.push_back(kind);
  }
  if (kinds.empty()) throw InvalidRequest("--presence", "name kinds of presence, such as seen,lifetime,active");
  return kinds;
}

Json inspect_presence(const std::vector<std::string>& kinds, const std::string& workload, const Json& parameters,
                      std::uint64_t seed) {
  const SnapshotGraph graph = load_workload(workload, parameters, seed);
  Json found = Json::object();
  for (const std::string& kind : kinds) {
    const std::shared_ptr<const Presence> presence = presence_of(graph, kind);
    found[kind] = describe(presence == nullptr ? all_cells(graph) : *presence);
  }
  return found;
}

}  // namespace strobe
