#include "results/trace/trace_flows.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace strobe {
namespace {

/// One rank's part of a collective: its span, and when the rank arrived.
struct Arrival {
  std::size_t span = 0;
  double seconds = 0;
};

/// Collectives in flight and waits for them are separate keys.
using Collective = std::pair<std::string_view, bool>;
using Arrivals = std::map<Collective, std::vector<Arrival>>;

/// Spans of one rank by collective, in order. A rank has arrived when the wait before the collective began.
Arrivals arrivals_of(const std::vector<Span>& spans) {
  Arrivals arrivals;
  std::map<std::string_view, double> waiting;  // begin of each wait, by the name of the collective
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    if (span.phase == Phase::wait) waiting.emplace(span.name, span.begin_seconds);
    if (span.phase != Phase::communicate) continue;
    const auto since = waiting.find(span.name);
    arrivals[{span.name, span.blocking}].push_back(
        {i, since == waiting.end() ? span.begin_seconds : std::min(since->second, span.begin_seconds)});
    if (since != waiting.end()) waiting.erase(since);
  }
  return arrivals;
}

/// Whether the n-th spans of all ranks overlap, for every n.
bool meet(const std::vector<std::vector<Span>>& ranks, const std::vector<const std::vector<Arrival>*>& parts) {
  for (std::size_t n = 0; n < parts[0]->size(); ++n) {
    double latest_begin = ranks[0][(*parts[0])[n].span].begin_seconds,
           earliest_end = ranks[0][(*parts[0])[n].span].end_seconds;
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      const Span& span = ranks[rank][(*parts[rank])[n].span];
      latest_begin = std::max(latest_begin, span.begin_seconds);
      earliest_end = std::min(earliest_end, span.end_seconds);
    }
    if (latest_begin > earliest_end) return false;
  }
  return true;
}

void add_flows(const std::vector<const std::vector<Arrival>*>& parts, std::vector<TraceFlow>& flows) {
  for (std::size_t n = 0; n < parts[0]->size(); ++n) {
    std::size_t last = 0;
    for (std::size_t rank = 1; rank < parts.size(); ++rank) {
      if ((*parts[rank])[n].seconds > (*parts[last])[n].seconds) last = rank;
    }
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      if (rank != last) flows.push_back({last, (*parts[last])[n].span, rank, (*parts[rank])[n].span});
    }
  }
}

}  // namespace

std::vector<TraceFlow> trace_flows(const std::vector<std::vector<Span>>& ranks) {
  std::vector<TraceFlow> flows;
  if (ranks.size() < 2) return flows;
  std::vector<Arrivals> by_rank;
  for (const std::vector<Span>& spans : ranks) by_rank.push_back(arrivals_of(spans));
  for (const auto& [collective, first] : by_rank[0]) {
    std::vector<const std::vector<Arrival>*> parts;
    for (const Arrivals& arrivals : by_rank) {
      const auto found = arrivals.find(collective);
      if (found != arrivals.end() && found->second.size() == first.size()) parts.push_back(&found->second);
    }
    if (parts.size() == ranks.size() && meet(ranks, parts)) add_flows(parts, flows);
  }
  return flows;
}

}  // namespace strobe
