#include "results/answer/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strobe {
namespace {

/// A rate times a time gives a count up to rounding.
bool equal_counts(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(a, b); }

double count_of(const EpochWork& work, WorkUnit unit) {
  switch (unit) {
    case WorkUnit::epoch:
      return 1;
    case WorkUnit::event:
      return work.events;
    case WorkUnit::cell:
      return work.cells;
    case WorkUnit::edge:
      return work.edges;
    case WorkUnit::none:
      break;
  }
  return 0;
}

std::string counted_text(double count, const char* one) {
  const std::string number = count < 1e6 ? fmt::format("{:.0f}", count) : fmt::format("{:.3g} million", count / 1e6);
  return fmt::format("{} {}{}", number, one, number == "1" ? "" : "s");
}

}  // namespace

bool same_work(const EpochWork& a, const EpochWork& b) {
  return equal_counts(a.cells, b.cells) && equal_counts(a.edges, b.edges) && equal_counts(a.events, b.events) &&
         equal_counts(a.updates, b.updates);
}

bool is_known(const EpochWork& work) { return work.events > 0 || work.cells > 0 || work.edges > 0; }

std::string work_text(const EpochWork& work) {
  const std::string on = work.events > 0  ? counted_text(work.events, "event")
                         : work.cells > 0 ? counted_text(work.cells, "cell")
                                          : counted_text(work.edges, "edge");
  return work.updates > 0 ? fmt::format("{} on {}", counted_text(work.updates, "update"), on) : on;
}

WorkUnit common_unit(const std::vector<EpochWork>& works) {
  const bool any_known = works.front().events + works.front().cells + works.front().edges > 0;
  if (any_known &&
      std::all_of(works.begin(), works.end(), [&](const EpochWork& work) { return same_work(work, works.front()); }))
    return WorkUnit::epoch;
  for (const WorkUnit unit : {WorkUnit::event, WorkUnit::cell, WorkUnit::edge}) {
    if (std::all_of(works.begin(), works.end(), [&](const EpochWork& work) { return count_of(work, unit) > 0; }))
      return unit;
  }
  return WorkUnit::none;
}

double units_in(const EpochWork& work, WorkUnit unit) { return count_of(work, unit); }

std::string unit_name(WorkUnit unit) {
  switch (unit) {
    case WorkUnit::epoch:
      return "epoch";
    case WorkUnit::event:
      return "event";
    case WorkUnit::cell:
      return "cell";
    case WorkUnit::edge:
      return "edge";
    case WorkUnit::none:
      break;
  }
  return "";
}

}  // namespace strobe
