// Counts the entries that leave and enter between the steps of a shape. Invariants: at most the existing entries leave,
// and the number that enters, z_t - z_(t-1) + removed_t, is not negative. Cost O(T). Source: edge lives
// (workloads/shape/shape.hpp); decisions section 2.4 for the bound.
#include "workloads/shape/shape_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.hpp"

namespace strobe {
namespace {

/// Edges of a step that a diagonal does not keep.
double off_diagonal(const GraphStatistics& shape, const std::vector<std::int64_t>& edges, std::size_t step,
                    bool diagonal) {
  const double all = edges[step];
  if (!diagonal || shape.self_loops_per_step.empty()) return all;
  return all - static_cast<double>(shape.self_loops_per_step[step]);
}

/// The share of edges that have not appeared again within `window` steps, among edges with that many steps after them.
double leaving_share(const GraphStatistics& shape, const std::vector<std::int64_t>& edges, std::int64_t window) {
  double living = static_cast<double>(*shape.edges), present = living;
  for (std::size_t g = 0; g < static_cast<std::size_t>(window) && g < edges.size(); ++g) {
    living -= static_cast<double>(shape.edge_lives[g]);
    present -= static_cast<double>(edges[edges.size() - 1 - g]);
  }
  return present <= 0 ? 0 : std::clamp(living / present, 0.0, 1.0);
}

/// Share of step t's edges that step t - 1 has as well; below 0 when the shape does not say.
double overlap_at(const GraphStatistics& shape, std::size_t t) {
  if (!shape.overlap_per_step.empty()) {
    return std::isfinite(shape.overlap_per_step[t]) ? shape.overlap_per_step[t] : 0.0;
  }
  return shape.overlap_mean ? *shape.overlap_mean : -1.0;
}

void note_bound(const GraphStatistics& shape, std::vector<std::string>& notes) {
  const std::string note = fmt::format(
      "how many edges of shape {} stay from step to step is not known; none is taken to come again, so graph "
      "differences are counted from above",
      shape.name);
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

/// Expected entries that leave at each step: [T].
std::vector<double> expected_removed(const GraphStatistics& shape, std::int64_t window, bool diagonal,
                                     std::vector<std::string>& notes) {
  const std::vector<std::int64_t> edges = step_edges(shape);
  std::vector<double> removed(edges.size(), 0.0);
  const std::size_t w = window;
  const bool lives = !shape.edge_lives.empty();
  const bool overlap = !lives && window == 1 && edges.size() > 1 && overlap_at(shape, 1) >= 0;
  if (!lives && !overlap) note_bound(shape, notes);
  const double share = lives ? leaving_share(shape, edges, window) : 1.0;
  for (std::size_t t = w; t < edges.size(); ++t) {
    const double before = off_diagonal(shape, edges, t - w, diagonal);
    removed[t] = overlap ? before - overlap_at(shape, t) * off_diagonal(shape, edges, t, diagonal) : share * before;
  }
  return removed;
}

}  // namespace

std::vector<std::int64_t> removed_entries(const GraphStatistics& shape, std::int64_t window, bool diagonal,
                                          const std::vector<std::int64_t>& counts, std::vector<std::string>& notes) {
  std::vector<std::int64_t> removed(counts.size(), 0);
  const std::vector<double> expected = expected_removed(shape, window, diagonal, notes);
  double due = 0;  // the remainder of rounding and limits moves to the next steps, so that sums stay
  for (std::size_t t = 1; t < counts.size(); ++t) {
    due += expected[t];
    const std::int64_t least = std::max<std::int64_t>(0, counts[t - 1] - counts[t]);
    removed[t] = std::clamp<std::int64_t>(std::llround(due), least, std::max(least, counts[t - 1]));
    due -= static_cast<double>(removed[t]);
  }
  return removed;
}

std::vector<DifferenceSizes> counted_differences(const PreparedGraph& graph, const std::vector<std::int64_t>& removed,
                                                 const std::vector<StepPair>& pairs) {
  std::vector<DifferenceSizes> all;
  for (const StepPair& pair : pairs) {
    if (pair.to != pair.from + 1) {
      throw InvalidRequest("/transfer",
                           "of a shape only steps that follow each other can be moved as differences; use "
                           "transfer=direct");
    }
    DifferenceSizes sizes;
    sizes.rows = graph.vertices;
    sizes.entries = graph.step_nonzeros(pair.to);
    sizes.before = graph.step_nonzeros(pair.from);
    sizes.removed = removed[pair.to];
    sizes.added = sizes.entries - sizes.before + sizes.removed;
    all.push_back(sizes);
  }
  return all;
}

}  // namespace strobe
