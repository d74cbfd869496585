#include "models/tasks/future_links/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strobe {

double reciprocal_rank(const double* scores, std::int64_t count, TieRule ties) {
  double higher = 0, equal = 0;
  for (std::int64_t c = 1; c < count; ++c) {
    if (std::isnan(scores[c]) || std::isnan(scores[0])) return std::numeric_limits<double>::quiet_NaN();
    higher += scores[c] > scores[0] ? 1 : 0;
    equal += scores[c] == scores[0] ? 1 : 0;
  }
  return 1.0 / (1.0 + higher + tie_share(ties) * equal);
}

double reciprocal_rank(const EventOutputs& scores, std::size_t i, TieRule ties) {
  if (!scores.reciprocal.empty()) return scores.reciprocal[i];
  return reciprocal_rank(scores.values.data() + scores.first[i], scores.counts[i], ties);
}

void shorten_scores(EventOutputs& scores, std::size_t event, std::int64_t most, TieRule ties) {
  if (event >= scores.first.size()) return;
  const std::size_t begin = scores.first[event], end = scores.values.size();
  scores.seen += static_cast<std::int64_t>(end - begin);
  for (std::size_t i = begin; i < end; ++i) scores.equal &= scores.values[i] == scores.values.front();
  std::size_t to = begin;
  for (std::size_t i = event; i < scores.first.size(); ++i) {
    const std::size_t own = scores.first[i], next = i + 1 < scores.first.size() ? scores.first[i + 1] : end;
    scores.reciprocal.push_back(reciprocal_rank(scores.values.data() + own, scores.counts[i], ties));
    scores.first[i] = static_cast<std::int64_t>(to);
    const std::size_t kept = std::min(next - own, static_cast<std::size_t>(most));
    std::copy_n(scores.values.begin() + static_cast<std::ptrdiff_t>(own), kept,
                scores.values.begin() + static_cast<std::ptrdiff_t>(to));
    to += kept;
  }
  scores.values.resize(to);
}

void append_scores(const EventOutputs& scores, std::size_t i, std::vector<double>& flat) {
  const auto first = scores.values.begin() + scores.first[i];
  flat.push_back(static_cast<double>(scores.counts[i]));
  flat.insert(flat.end(), first, first + scores.counts[i]);
}

std::map<std::string, double> link_metrics(const EventOutputs& scores, const std::vector<std::size_t>& events,
                                           const std::string& prefix, TieRule ties) {
  std::vector<double> pairs;
  std::vector<std::int32_t> truth;
  double reciprocal = 0, ranked = 0;
  for (const std::size_t i : events) {
    if (scores.counts[i] < 2) continue;  // no candidates to rank against
    const double* const own = scores.values.data() + scores.first[i];
    pairs.insert(pairs.end(), {own[0], own[1]});
    truth.insert(truth.end(), {1, 0});
    reciprocal += reciprocal_rank(scores, i, ties);
    ranked += 1;
  }
  return {{prefix + "mrr", reciprocal / ranked},
          {prefix + "ap", average_precision(pairs, truth)},
          {prefix + "auc", area_under_roc(pairs, truth)}};
}

std::vector<std::string> remarks_on_levels(const std::map<std::string, std::vector<double>>& metrics,
                                           const ReferenceLevels& levels, const SeenHistory& seen) {
  const auto model = metrics.find("mrr");
  if (model == metrics.end() || model->second.empty()) return {};
  const double own = model->second.back();
  if (const auto best = levels.best_possible.find("mrr"); best != levels.best_possible.end() && own > best->second) {
    return {fmt::format("mrr {:.4f} exceeds the best possible {:.4f}: by chance, or the model looks ahead", own,
                        best->second)};
  }
  ReferenceLevels known = levels;
  std::map<std::string, double> values;
  for (const auto& [name, curve] : metrics)
    if (!curve.empty()) values[name] = curve.back();
  add_best_rule("mrr", values, known);
  const auto rule = known.best_rule.find("mrr");
  if (rule == known.best_rule.end()) return {};
  const std::string name = known.rule["mrr"];
  const std::string compared =
      fmt::format("mrr {:.4f}, and the {} rule's at the same evaluation batch {:.4f}", own, name, rule->second);
  if (!(own > rule->second)) return {"the model does not beat a rule that learns nothing: " + compared};
  if (!seen.model_sees_batch || seen.rules_see_batch) return {};
  return {fmt::format(
      "the model beats the best rule, {}, but sees earlier events of its own batch, which the rule does not see; for a "
      "rule that does, add history=event to the task: {}",
      name, compared)};
}

}  // namespace strobe
