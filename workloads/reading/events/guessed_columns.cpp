// Real times are seconds, many and large; weights are few and small. Cost: times up to the hundredth distinct one.
#include "workloads/reading/events/guessed_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strobe {
namespace {

constexpr std::int64_t few_times = 100;
constexpr double small_time = 1e4;

/// How many distinct times there are, at most `few_times` + 1.
std::int64_t count_distinct(const TimeColumn& times) {
  std::int64_t distinct = 0;
  for (auto at = times.begin(); at != times.end() && distinct <= few_times; ++distinct)
    at = std::upper_bound(at, times.end(), *at);
  return distinct;
}

}  // namespace

void note_guessed_columns(EventGraph& graph, const std::string& columns) {
  std::string note = "columns were taken as " + columns;
  const double first = graph.time.front(), last = graph.time.back();
  const std::int64_t distinct = first >= -small_time && last <= small_time ? count_distinct(graph.time) : few_times + 1;
  if (distinct == 1)
    note += fmt::format("; all times are {}, as weights or counts might be", first);
  else if (distinct <= few_times)
    note += fmt::format("; the times are {} different small numbers, {} to {}, as weights or counts might be", distinct,
                        first, last);
  graph.provenance.notes.push_back(std::move(note));
}

}  // namespace strobe
