// Cost: O(1), and one pass over the first and last quarter of the times when there may be outlying ones.
#include "workloads/graph/outlying_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "core/units.hpp"
#include "workloads/graph/growing_labels.hpp"
#include "workloads/storage/date_time.hpp"
#include "workloads/storage/growing_column.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {
namespace {

constexpr double far_in_spans = 5, year_seconds = 31556952;
constexpr std::int64_t fewest_events = 8, outer_parts = 4;
constexpr const char* empty_steps = " steps are empty";
constexpr const char* advice = "; outliers=drop leaves them out";

std::string length_text(double length, bool stepped) {
  if (stepped) return fmt::format("{:.0f} steps", length);
  if (length >= 2 * year_seconds) return fmt::format("{:.0f} years", length / year_seconds);
  if (length >= 2 * day_seconds) return fmt::format("{:.0f} days", length / day_seconds);
  return format_seconds(length);
}

/// Looks for the gaps nearest to the middle that are large compared with the span of the middle half.
class Search {
 public:
  explicit Search(const TimeColumn& times) : times_(times), events_(static_cast<std::int64_t>(times.size())) {}

  OutlyingTimes find(bool stepped) {
    const std::int64_t part = (events_ - 1) / outer_parts;
    const double middle = at(events_ - 1 - part) - at(part);
    if (middle == 0 && stepped) return {};
    least_ = middle == 0 ? day_seconds : 0;  // seconds apart say nothing of one instant
    std::int64_t first = first_of_others(part, middle), last = last_of_others(part, middle);
    // A gap must be large compared with the span of all that stays. That span includes the other end when its own gap
    // is not large.
    for (int round = 0; round < 2; ++round) {
      const double span = at(last) - at(first);
      if (first > 0 && !is_far(at(first) - at(first - 1), span)) first = 0;
      if (last < events_ - 1 && !is_far(at(last + 1) - at(last), span)) last = events_ - 1;
    }
    OutlyingTimes found{first, events_ - 1 - last};
    if (found.before > 0) found.gap_before = at(first) - at(first - 1);
    if (found.after > 0) found.gap_after = at(last + 1) - at(last);
    return found;
  }

 private:
  double at(std::int64_t i) const { return times_[i]; }
  bool is_far(double gap, double span) const { return gap > far_in_spans * span && gap > least_; }

  std::int64_t first_of_others(std::int64_t part, double span) const {
    if (!is_far(at(part) - at(0), span)) return 0;
    for (std::int64_t i = part; i > 0; --i)
      if (is_far(at(i) - at(i - 1), span)) return i;
    return 0;
  }
  std::int64_t last_of_others(std::int64_t part, double span) const {
    const std::int64_t end = events_ - 1;
    if (!is_far(at(end) - at(end - part), span)) return end;
    for (std::int64_t i = end - part; i < end; ++i)
      if (is_far(at(i + 1) - at(i), span)) return i;
    return end;
  }

  const TimeColumn& times_;
  std::int64_t events_;
  double least_ = 0;
};

std::string text_of(const OutlyingTimes& found, bool stepped) {
  std::string text;
  const auto add = [&](std::int64_t count, double gap, const char* side) {
    if (count == 0) return;
    text += fmt::format("{}{} {} {} {} the others", text.empty() ? "" : " and ", count,
                        count == 1 ? "event lies" : "events lie", length_text(gap, stepped), side);
  };
  add(found.before, found.gap_before, "before");
  add(found.after, found.gap_after, "after");
  return text;
}

template <class T>
void keep_rows(Column<T>& column, std::size_t first, std::size_t count, std::size_t width = 1) {
  if (column.empty()) return;
  GrowingColumn<T> kept;
  kept.reserve(count * width);
  kept.append(column.data() + first * width, count * width);
  column = kept.finish();
}

void keep_times(TimeColumn& times, std::size_t first, std::size_t count) {
  constexpr std::size_t part = std::size_t{1} << 16;
  GrowingColumn<double> kept(count, reading_bound());
  for (std::size_t done = 0; done < count; done += part)
    times.copy(first + done, std::span(kept.data() + done, std::min(part, count - done)));
  times = TimeColumn(kept.finish());
}

/// Keeps the values of the vertices that have an event left: new number of each vertex, -1 = gone.
template <class T>
void keep_values(Column<T>& values, const GrowingColumn<VertexId>& number, std::size_t width = 1) {
  GrowingColumn<T> kept;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (number[i / width % number.size()] >= 0) kept.push_back(values[i]);
  values = kept.finish();
}

void keep_names(const GrowingColumn<VertexId>& number, NameColumn& names) {
  GrowingColumn<std::int8_t> bytes;
  GrowingColumn<std::int64_t> ends;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (number[i % number.size()] < 0) continue;
    const std::string_view name = names[i];
    bytes.append(reinterpret_cast<const std::int8_t*>(name.data()), name.size());
    ends.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  names = NameColumn(bytes.finish(), ends.finish());
}

void keep_labels(const GrowingColumn<VertexId>& number, TimedLabels& labels) {
  GrowingLabels kept;
  for (std::size_t i = 0; i < labels.time.size(); ++i) {
    const VertexId v = number[labels.vertex[i]];
    if (v >= 0) kept.add(v, labels.time[i], labels.label[i], labels.share[i]);
  }
  labels = kept.finish();
}

/// Vertices are those that occur, as in a file without the other rows.
void keep_vertices(EventGraph& events) {
  GrowingColumn<VertexId> number(static_cast<std::size_t>(events.vertices), reading_bound());
  std::fill(number.begin(), number.end(), -1);
  for (const auto* side : {&events.source, &events.target})
    for (const VertexId v : *side) number[v] = 0;
  VertexId next = 0;
  for (VertexId& v : number)
    if (v == 0) v = next++;
  if (next == events.vertices) return;
  for (auto* side : {&events.source, &events.target}) renumber_ends(*side, number);
  keep_values(events.original_id, number);
  keep_values(events.vertex_label, number);
  keep_names(number, events.vertex_name);
  if (events.vertex_feature_width > 0)
    keep_values(events.vertex_features, number, static_cast<std::size_t>(events.vertex_feature_width));
  keep_labels(number, events.timed_labels);
  events.vertices = next;
}

void keep_events(EventGraph& events, std::size_t first, std::size_t count) {
  keep_times(events.time, first, count);
  keep_rows(events.source, first, count);
  keep_rows(events.target, first, count);
  keep_rows(events.weight, first, count);
  keep_rows(events.event_label, first, count);
  keep_rows(events.edge_features, first, count, static_cast<std::size_t>(events.edge_feature_width));
  keep_rows(events.exact_weight, first, count);
  keep_vertices(events);
}

bool is_note(const std::string& note) { return note.ends_with(advice); }

}  // namespace

OutlyingTimes find_outlying_times(const EventGraph& events) {
  if (events.events() < fewest_events) return {};
  return Search(events.time).find(events.stepped);
}

std::string outlying_times_hint(const EventGraph& events) {
  const OutlyingTimes found = find_outlying_times(events);
  return found.any() ? text_of(found, events.stepped) + advice : "";
}

void settle_outlying_times(const std::string& choice, EventGraph& events) {
  std::vector<std::string>& notes = events.provenance.notes;
  std::erase_if(notes, is_note);  // of the file that a binary graph was made of
  const OutlyingTimes found = find_outlying_times(events);
  if (choice != "drop") {
    if (found.any()) notes.push_back(text_of(found, events.stepped) + advice);
    return;
  }
  if (!found.any()) {
    notes.emplace_back("outliers=drop: no few times lie far from all others, so nothing was left out");
    return;
  }
  keep_events(events, static_cast<std::size_t>(found.before),
              static_cast<std::size_t>(events.events() - found.before - found.after));
  notes.push_back(text_of(found, events.stepped) + "; they were left out (outliers=drop)");
}

void note_empty_steps(SnapshotGraph& graph) {
  std::vector<std::string>& notes = graph.provenance.notes;
  const auto note = std::find_if(notes.begin(), notes.end(), is_note);
  const auto empty = std::count_if(graph.snapshots.begin(), graph.snapshots.end(),
                                   [](const auto& snapshot) { return snapshot->nonzeros() == 0; });
  if (note == notes.end() || empty == 0) return;
  note->insert(note->size() - std::string(advice).size(),
               fmt::format(", so {} of {}{}", empty, graph.steps(), empty_steps));
}

std::string outlying_times_note(const std::vector<std::string>& notes) {
  const auto note = std::find_if(notes.begin(), notes.end(), is_note);
  return note == notes.end() || note->find(empty_steps) == std::string::npos ? "" : *note;
}

}  // namespace strobe
