#include "harness/hybrid_batches/encoding/batch_timelines.hpp"

#include <algorithm>

#include "harness/full_batch/inputs/device_lists.hpp"

namespace strobe {
namespace {

/// Calls visit(row, before) for the rows of step t, with the row of the same vertex at the step before, or -1.
template <class Visit>
void with_row_before(const StepCells& cells, std::int64_t t, const Visit& visit) {
  std::int64_t at = t > 0 ? cells.begin(t - 1) : 0;
  const std::int64_t end = t > 0 ? cells.end(t - 1) : 0;
  for (std::int64_t row = cells.begin(t); row < cells.end(t); ++row) {
    while (at < end && cells.vertex(at) < cells.vertex(row)) ++at;
    visit(row, at < end && cells.vertex(at) == cells.vertex(row) ? at : -1);
  }
}

bool same_vertices(const StepCells& cells, std::int64_t a, std::int64_t b) {
  const auto at = [&](std::int64_t row) { return cells.vertices.begin() + row; };
  return std::equal(at(cells.begin(a)), at(cells.end(a)), at(cells.begin(b)), at(cells.end(b)));
}

}  // namespace

VisibleCells chained(const StepCells& cells, std::int64_t reset_every) {
  VisibleCells chain;
  chain.own_rows = cells.count();
  chain.vertex = cells.vertices;
  for (std::int64_t t = 0; t < cells.steps(); ++t) {
    const bool restarts = reset_every > 0 && t % reset_every == 0;
    with_row_before(cells, t, [&](std::int64_t row, std::int64_t before) {
      chain.row.push_back(row);
      chain.step.push_back(static_cast<Step>(t));
      chain.before.push_back(restarts ? -1 : before);
    });
  }
  return chain;
}

std::vector<TemporalSegment> steps_alike(const StepCells& cells) {
  std::vector<TemporalSegment> segments;
  for (std::int64_t t = 0; t < cells.steps(); ++t) {
    if (t == 0 || !same_vertices(cells, t - 1, t)) segments.push_back({t, 0});
    ++segments.back().steps;
  }
  return segments;
}

std::vector<PackedRows> states_that_stay(Device& device, const StepCells& cells,
                                         const std::vector<TemporalSegment>& segments, std::int64_t rows_per_vertex) {
  std::vector<PackedRows> all;
  for (std::size_t s = 1; s < segments.size(); ++s) {
    const std::int64_t t = segments[s].first_step;
    std::vector<std::int64_t> rows, places;
    for (std::int64_t block = 0; block < rows_per_vertex; ++block) {
      with_row_before(cells, t, [&](std::int64_t row, std::int64_t before) {
        if (before < 0) return;
        rows.push_back(block * cells.count(t - 1) + before - cells.begin(t - 1));
        places.push_back(block * cells.count(t) + row - cells.begin(t));
      });
    }
    const std::int64_t count = rows.size();
    all.push_back({list_of(device, rows, count), list_of(device, places, count), count});
  }
  return all;
}

}  // namespace strobe
