#include "workloads/graph/exact_values.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

bool same(double exact, float rounded) {
  return exact == static_cast<double>(rounded) || (std::isnan(exact) && std::isnan(rounded));
}

/// The place of (row, column) among the entries of a snapshot that has it.
std::size_t entry_of(const Snapshot& snapshot, VertexId row, VertexId column) {
  const std::size_t v = row;
  const auto begin = snapshot.columns.begin() + static_cast<std::ptrdiff_t>(snapshot.row_offsets[v]);
  const auto end = snapshot.columns.begin() + static_cast<std::ptrdiff_t>(snapshot.row_offsets[v + 1]);
  return static_cast<std::size_t>(std::lower_bound(begin, end, column) - snapshot.columns.begin());
}

}  // namespace

Column<double> where_rounded(Column<double> exact, std::span<const float> rounded) {
  const bool all = exact.empty() || std::equal(exact.begin(), exact.end(), rounded.begin(), rounded.end(), same);
  return all ? Column<double>() : std::move(exact);
}

Column<float> in_single(std::span<const double> values) {
  GrowingColumn<float> single(values.size(), reading_bound());
  std::transform(values.begin(), values.end(), single.begin(), [](double value) { return static_cast<float>(value); });
  return single.finish();
}

BothPrecisions both_precisions(Column<double> values) {
  BothPrecisions both;
  both.rounded = in_single(values);
  both.exact = where_rounded(std::move(values), both.rounded);
  return both;
}

Column<double> exact_sums(const EventGraph& events, std::size_t first, std::size_t last, bool counted,
                          bool rows_are_targets, bool rows_are_sources, const Snapshot& snapshot) {
  GrowingColumn<double> sums(snapshot.columns.size(), reading_bound());
  for (std::size_t e = first; e < last; ++e) {
    const double weight = counted ? 1.0 : exact_weight(events, e);
    const VertexId source = events.source[e], target = events.target[e];
    if (rows_are_targets) sums[entry_of(snapshot, target, source)] += weight;
    const bool visited = rows_are_targets && source == target;  // a loop is its own reverse
    if (rows_are_sources && !visited) sums[entry_of(snapshot, source, target)] += weight;
  }
  return sums.finish();
}

}  // namespace strobe
