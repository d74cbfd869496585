// Every rule gives each vertex a whole number, larger = more likely, so that one pass over an event's candidates ranks
// its destination by all rules. The history is replayed event by event, up to the batch's first one or to the time of
// the event that is ranked.
#include "models/tasks/link_rules.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <vector>

#include "models/tasks/kept_out.hpp"
#include "workloads/continuous/time_csr.hpp"

namespace strobe {
namespace {

constexpr std::size_t rules = 4;
using Scores = std::array<std::uint64_t, rules>;  // in the order of rule_names()

/// Everything that the rules know of the events so far.
class LinkHistory {
 public:
  explicit LinkHistory(const EventGraph& graph)
      : graph_(graph), own_(size_of(graph)), last_(size_of(graph), 0), hits_(size_of(graph), 0), seen_(last_) {}

  /// Learns the events up to `end`.
  void replay(EdgeId end) {
    for (; next_ < end; ++next_) {
      const std::size_t e = next_;
      const std::size_t source = graph_.source[e];
      const std::size_t target = graph_.target[e];
      const auto number = static_cast<std::uint32_t>(next_ + 1);  // 0 = never
      const std::uint64_t pair = (static_cast<std::uint64_t>(source) << 32) | target;
      const auto [place, is_new] = place_.try_emplace(pair, static_cast<std::uint32_t>(own_[source].size()));
      if (is_new) own_[source].push_back({graph_.target[e], number});
      own_[source][place->second].event = number;
      last_[target] = number;
      ++hits_[target];
    }
  }

  /// Makes `seen_` hold the visits of `source`; the window begins at `window_start`.
  void look_from(VertexId source, double window_start) {
    for (const Visit& visit : *looking_) seen_[visit.target] = 0;
    looking_ = &own_[source];
    for (const Visit& visit : *looking_) seen_[visit.target] = visit.event;
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
    std::uint32_t event = 0;  // its last one, counted from 1
  };
  static std::size_t size_of(const EventGraph& graph) { return static_cast<std::size_t>(graph.vertices); }

  const EventGraph& graph_;
  EdgeId next_ = 0;
  std::vector<std::vector<Visit>> own_;                     // [N] of each source, one for each destination
  std::unordered_map<std::uint64_t, std::uint32_t> place_;  // of a pair in its source's list
  std::vector<std::uint32_t> last_, hits_;                  // [N] last event of a destination, from 1; their number
  std::vector<std::uint32_t> seen_;                         // [N] last event of the source that is looked from
  const std::vector<Visit> none_;
  const std::vector<Visit>* looking_ = &none_;
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
        if (i == 0) pairs_[r].insert(pairs_[r].end(), {static_cast<double>(own[r]), static_cast<double>(other[r])});
      }
      if (i == 0) truth_.insert(truth_.end(), {1, 0});
    }
    for (std::size_t r = 0; r < rules; ++r)
      sums_[r] += 1.0 / (1.0 + static_cast<double>(higher[r]) + tie_share_ * static_cast<double>(equal[r]));
    ++count_;
  }

  std::int64_t count() const { return count_; }

  void put(const std::string& prefix, std::map<std::string, double>& metrics) const {
    for (std::size_t r = 0; r < rules; ++r) {
      const std::string name = prefix + rule_names()[r], stem = name.substr(0, name.size() - std::string("mrr").size());
      metrics[name] = count_ > 0 ? sums_[r] / static_cast<double>(count_) : std::numeric_limits<double>::quiet_NaN();
      metrics[stem + "ap"] = average_precision(pairs_[r], truth_);
      metrics[stem + "auc"] = area_under_roc(pairs_[r], truth_);
    }
  }

 private:
  double tie_share_;
  std::array<double, rules> sums_{};              // of reciprocal ranks
  std::array<std::vector<double>, rules> pairs_;  // scores of a destination and of its first candidate, in turn
  std::vector<std::int32_t> truth_;               // 1 and 0, in turn
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
  LinkHistory history(graph);
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
