// Every rule gives each vertex a whole number, larger = more likely, so that one pass over an event's candidates ranks
// its destination by all rules. The history is replayed event by event, up to the batch's first one or to the time of
// the event that is ranked.
#include "models/tasks/link_rules.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "models/tasks/kept_out.hpp"
#include "workloads/continuous/time_csr.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

constexpr std::size_t rules = 4;
using Scores = std::array<std::uint64_t, rules>;  // in the order of rule_names()

/// Everything that the rules know of the events so far. Under a bound of memory (reading_bound.hpp) what grows with
/// vertices, events and pairs lies in files. Cost of making it: O(N + E).
class LinkHistory {
 public:
  /// For the events [0, end) of `graph`.
  LinkHistory(const EventGraph& graph, EdgeId end)
      : graph_(graph),
        begin_(size_of(graph) + 1, reading_bound()),
        met_(size_of(graph), reading_bound()),
        last_(size_of(graph), reading_bound()),
        hits_(size_of(graph), reading_bound()),
        seen_(size_of(graph), reading_bound()) {
    const GrowingColumn<std::uint32_t> by_source = events_by_source(static_cast<std::size_t>(end));
    place_.resize(static_cast<std::size_t>(end));
    std::uint32_t first_event = 0;
    for (std::size_t source = 0; source < met_.size(); ++source) {
      const std::uint32_t end_event = begin_[source];  // until it becomes the place of the source's first visit
      begin_[source] = static_cast<std::uint32_t>(visits_.size());
      for (; first_event < end_event; ++first_event) {
        const std::uint32_t event = by_source[first_event];
        const VertexId target = graph.target[event];
        std::uint32_t& place = seen_[static_cast<std::size_t>(target)];  // from 1
        if (place == 0) visits_.push_back({target, 0}), place = static_cast<std::uint32_t>(visits_.size());
        place_[event] = place - 1;
      }
      for (std::size_t at = begin_[source]; at < visits_.size(); ++at) seen_[visits_[at].target] = 0;
    }
  }

  /// Learns the events up to `end`.
  void replay(EdgeId end) {
    for (; next_ < end; ++next_) {
      const std::size_t e = next_;
      const std::size_t target = graph_.target[e];
      const auto number = static_cast<std::uint32_t>(next_ + 1);  // 0 = never
      Visit& visit = visits_[place_[e]];
      if (visit.event == 0) ++met_[graph_.source[e]];
      visit.event = number;
      last_[target] = number;
      ++hits_[target];
    }
  }

  /// Makes `seen_` hold the visits of `source`; the window begins at `window_start`.
  void look_from(VertexId source, double window_start) {
    for (std::size_t at = looking_; at < looking_end_; ++at) seen_[visits_[at].target] = 0;
    looking_ = begin_[source], looking_end_ = looking_ + met_[source];
    for (std::size_t at = looking_; at < looking_end_; ++at) seen_[visits_[at].target] = visits_[at].event;
    window_start_ = window_start;
  }

  Scores scores(VertexId vertex) const {
    const std::size_t v = vertex;
    const std::uint64_t own = seen_[v];
    const bool recent = own > 0 && graph_.time[own - 1] >= window_start_;
    return {own > 0 ? 1u : 0u, recent ? 1u : 0u, own > 0 ? (std::uint64_t{1} << 32) + own : last_[v], hits_[v]};
  }

 private:
  struct Visit {
    VertexId target = 0;
    std::uint32_t event = 0;  // the last one that was learnt, counted from 1
  };
  static std::size_t size_of(const EventGraph& graph) { return static_cast<std::size_t>(graph.vertices); }

  /// The events of each source in turn, in the order of time. Makes `begin_` hold the end of each source's part.
  GrowingColumn<std::uint32_t> events_by_source(std::size_t end) {
    for (std::size_t e = 0; e < end; ++e) ++begin_[static_cast<std::size_t>(graph_.source[e]) + 1];
    for (std::size_t v = 1; v < begin_.size(); ++v) begin_[v] += begin_[v - 1];
    GrowingColumn<std::uint32_t> events;
    events.resize(end);
    for (std::size_t e = 0; e < end; ++e) events[begin_[graph_.source[e]]++] = static_cast<std::uint32_t>(e);
    return events;
  }

  const EventGraph& graph_;
  EdgeId next_ = 0;
  GrowingColumn<Visit> visits_;         // of each source in turn, its destinations in the order of their first events
  GrowingColumn<std::uint32_t> place_;  // [E] of an event's pair in `visits_`
  GrowingColumn<std::uint32_t> begin_;  // [N + 1] the first visit of a source
  GrowingColumn<std::uint32_t> met_;    // [N] its destinations so far; they are its first visits
  GrowingColumn<std::uint32_t> last_, hits_;   // [N] last event of a destination, from 1; their number
  GrowingColumn<std::uint32_t> seen_;          // [N] last event of the source that is looked from
  std::size_t looking_ = 0, looking_end_ = 0;  // its visits
  double window_start_ = 0;
};

/// The rules' scores of some events, and their metrics.
class RuleResults {
 public:
  explicit RuleResults(TieRule ties) : tie_share_(tie_share(ties)) {}

  void add(const LinkHistory& history, VertexId destination, const std::vector<VertexId>& candidates) {
    std::array<std::int64_t, rules> higher{}, equal{};
    const Scores own = history.scores(destination);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Scores other = history.scores(candidates[i]);
      for (std::size_t r = 0; r < rules; ++r) {
        higher[r] += other[r] > own[r] ? 1 : 0;
        equal[r] += other[r] == own[r] ? 1 : 0;
        if (i == 0) pairs_[r].push_back(scored_label(own[r], true)), pairs_[r].push_back(scored_label(other[r], false));
      }
    }
    for (std::size_t r = 0; r < rules; ++r)
      sums_[r] += 1.0 / (1.0 + static_cast<double>(higher[r]) + tie_share_ * static_cast<double>(equal[r]));
    ++count_;
  }

  std::int64_t count() const { return count_; }

  /// The last call.
  void put(const std::string& prefix, std::map<std::string, double>& metrics) {
    for (std::size_t r = 0; r < rules; ++r) {
      const std::string name = prefix + rule_names()[r], stem = name.substr(0, name.size() - std::string("mrr").size());
      metrics[name] = count_ > 0 ? sums_[r] / static_cast<double>(count_) : std::numeric_limits<double>::quiet_NaN();
      std::sort(pairs_[r].begin(), pairs_[r].end(), std::greater<>());
      const std::span<const std::uint64_t> sorted(pairs_[r].data(), pairs_[r].size());
      metrics[stem + "ap"] = average_precision(sorted);
      metrics[stem + "auc"] = area_under_roc(sorted);
    }
  }

 private:
  double tie_share_;
  std::array<double, rules> sums_{};                       // of reciprocal ranks
  std::array<GrowingColumn<std::uint64_t>, rules> pairs_;  // scored labels of destinations and first candidates
  std::int64_t count_ = 0;
};

}  // namespace

const std::vector<std::string>& rule_names() {
  static const std::vector<std::string> names = {"edgebank_unlimited_mrr", "edgebank_window_mrr", "recency_mrr",
                                                 "popularity_mrr"};
  return names;
}

std::map<std::string, double> rule_metrics(const EventGraph& graph, const EventCandidates& candidates,
                                           const RankedEvents& events, TieRule ties) {
  LinkHistory history(graph, events.last);
  const double trained = events.train_end > 0 ? graph.time[events.train_end - 1] - graph.time[0] : 0.0;
  RuleResults all(ties), inductive(ties);
  for (EdgeId first = events.first; first < events.last; first += events.batch) {
    const EdgeId last = std::min(events.last, first + events.batch);
    EdgeId known = first;
    for (EdgeId e = first; e < last; ++e) {
      const std::size_t at = e;
      if (!events.judged.empty() && events.judged[at] == 0) continue;
      if (events.to_event) known = events_before(graph, graph.time[at]);
      history.replay(known);
      const double newest = known > 0 ? graph.time[known - 1] : 0.0;
      history.look_from(graph.source[at], newest - edgebank_window_share * trained);
      const std::vector<VertexId> others = candidates.evaluation(e, events.candidates);
      all.add(history, graph.target[at], others);
      if (is_inductive(graph, events.kept_out, e)) inductive.add(history, graph.target[at], others);
    }
  }
  std::map<std::string, double> metrics;
  all.put("", metrics);
  if (inductive.count() > 0) inductive.put(inductive_prefix, metrics);
  return metrics;
}

}  // namespace strobe
