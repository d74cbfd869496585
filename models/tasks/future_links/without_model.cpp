#include "models/tasks/future_links/without_model.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/tasks/future_links/ranking.hpp"
#include "models/tasks/protocols/protocol.hpp"
#include "workloads/graph/planted_links.hpp"

namespace strobe {
namespace {

/// The posterior of the events so far.
class Posterior {
 public:
  Posterior(const EventGraph& graph, bool only_new) : graph_(graph), filter_(graph.planted), only_new_(only_new) {}

  /// Learns all events before `event`, and when that one happens.
  void look_at(EdgeId event) {
    for (; next_ < event; ++next_) {
      const VertexId source = graph_.source[next_], target = graph_.target[next_];
      filter_.look(source, graph_.time[next_]);
      filter_.learn(target);
      if (only_new_ && met_.insert(pair(source, target)).second) own_[source].push_back(target);
    }
    source_ = graph_.source[event];
    filter_.look(source_, graph_.time[event]);
    new_ = 1;
    if (!only_new_) return;
    for (const VertexId target : own_[source_]) new_ -= filter_.probability(target);
  }

  /// The probability of `target` to be the destination of the event that is looked at.
  double operator()(VertexId target) const {
    if (!only_new_) return filter_.probability(target);
    return met_.contains(pair(source_, target)) ? 0.0 : filter_.probability(target) / new_;
  }

 private:
  static std::uint64_t pair(VertexId source, VertexId target) {
    return (static_cast<std::uint64_t>(source) << 32) | static_cast<std::uint64_t>(target);
  }

  const EventGraph& graph_;
  PlantedFilter filter_;
  bool only_new_;
  EdgeId next_ = 0;
  VertexId source_ = 0;
  double new_ = 1;  // probability that the destination is new to the source
  std::unordered_set<std::uint64_t> met_;
  std::unordered_map<VertexId, std::vector<VertexId>> own_;  // destinations of each source
};

/// The mean of 1 / rank of the first score over all orders of equal scores. A model is free to break the posterior's
/// ties, and 1 / rank has a larger mean than the mean rank has a reciprocal.
double expected_reciprocal_rank(const std::vector<double>& scores) {
  std::int64_t higher = 0, equal = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    higher += scores[i] > scores[0] ? 1 : 0;
    equal += scores[i] == scores[0] ? 1 : 0;
  }
  double sum = 0;
  for (std::int64_t place = 0; place <= equal; ++place) sum += 1.0 / static_cast<double>(1 + higher + place);
  return sum / static_cast<double>(1 + equal);
}

}  // namespace

std::map<std::string, double> best_possible(const EventGraph& graph, const EventCandidates& candidates,
                                            const RankedEvents& events, TieRule ties) {
  if (graph.planted.communities == 0) return {};
  Posterior posterior(graph, !events.judged.empty());
  std::vector<double> scores, pairs;
  std::vector<std::int32_t> truth;
  double reciprocal = 0, ranked = 0;
  for (EdgeId e = events.first; e < events.last; ++e) {
    if (!events.judged.empty() && events.judged[e] == 0) continue;
    posterior.look_at(e);
    scores.assign(1, posterior(graph.target[e]));
    for (const VertexId other : candidates.evaluation(e, events.candidates)) scores.push_back(posterior(other));
    if (scores.size() < 2) continue;
    pairs.insert(pairs.end(), {scores[0], scores[1]});
    truth.insert(truth.end(), {1, 0});
    reciprocal += expected_reciprocal_rank(scores);
    ranked += 1;
  }
  if (ranked == 0) return {};
  std::map<std::string, double> metrics{{"ap", average_precision(pairs, truth)}, {"auc", area_under_roc(pairs, truth)}};
  if (ties != TieRule::optimistic) metrics["mrr"] = reciprocal / ranked;
  return metrics;
}

void judge_without_model(const EventGraph& graph, const EventCandidates& candidates, const RankedEvents& events,
                         const FutureLinksOptions& options, const std::string& prefix,
                         std::map<std::string, double>& rules, ReferenceLevels& levels) {
  const TieRule ties = tie_rule(options.ties);
  std::map<std::string, double> metrics = rule_metrics(graph, candidates, events, ties);
  // Rules have AP and AUC over all events, which do not compare with means over batches.
  if (averages_batches(options)) std::erase_if(metrics, [](const auto& rule) { return !rule.first.ends_with("_mrr"); });
  add_best_rules(metrics, prefix, levels);
  for (const auto& [name, value] : metrics)
    if (name.ends_with("_mrr")) rules[prefix + name] = value;
  if (options.evaluation_negatives != "random" || candidates.are_given()) return;
  for (const auto& [name, value] : best_possible(graph, candidates, events, ties))
    levels.best_possible[prefix + name] = value;
}

}  // namespace strobe
