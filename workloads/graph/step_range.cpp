#include "workloads/graph/step_range.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>

#include "core/errors.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

struct StepRange {
  std::int64_t first = 0, last = 0;  // [first, last)
};

StepRange range_from_text(const std::string& text, std::int64_t steps) {
  StepRange range;
  const char* const end = text.data() + text.size();
  const auto [colon, first_error] = std::from_chars(text.data(), end, range.first);
  bool known = first_error == std::errc() && colon != end && *colon == ':';
  if (known) {
    const auto [rest, last_error] = std::from_chars(colon + 1, end, range.last);
    known = last_error == std::errc() && rest == end;
  }
  if (known && range.first >= 0 && range.first < range.last && range.last <= steps) return range;
  throw InvalidRequest("steps", fmt::format("expected A:B with 0 <= A < B <= {}, the number of steps, for the steps A "
                                            "to B - 1; found {}",
                                            steps, text));
}

/// Keeps the values of the steps in `range` of a list with `size` values a step; an empty list stays empty.
template <class Values>
void keep(Values& values, const StepRange& range, std::int64_t size = 1) {
  if (values.empty()) return;
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(range.last * size), values.end());
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(range.first * size));
}

template <class T>
void keep(Column<T>& values, const StepRange& range, std::int64_t size) {
  GrowingColumn<T> kept;
  if (!values.empty())
    kept.append(values.data() + range.first * size, static_cast<std::size_t>((range.last - range.first) * size));
  values = kept.finish();
}

}  // namespace

void keep_steps(const std::string& range, SnapshotGraph& graph, StepCut& cut) {
  if (range.empty()) return;
  const std::int64_t all = graph.steps();
  const StepRange kept = range_from_text(range, all);
  keep(graph.features, kept, graph.vertices * graph.feature_width);
  keep(graph.exact_features, kept, graph.vertices * graph.feature_width);
  keep(graph.snapshots, kept);
  for (auto* const times : {&graph.step_begin, &graph.step_end, &cut.begin, &cut.end, &cut.next_end})
    keep(*times, kept);
  for (auto* const events : {&cut.first, &cut.last}) keep(*events, kept);
  graph.provenance.notes.push_back(fmt::format("steps {} to {} of {} were kept", kept.first, kept.last - 1, all));
}

}  // namespace strobe
