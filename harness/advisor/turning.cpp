// Bisects factors of constants.
// For each rival of the best point: where does it win? Only the nearest factor of each direction counts, so a later
// rival is first tried there. Invariant: results depend neither on threads nor on the order of work.
#include "harness/advisor/turning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/system/parallel.hpp"

namespace strobe {
namespace {

constexpr const char* price_name = "price_per_node_hour";

bool is_link(const std::string& key) { return key.rfind("intra_node_", 0) == 0 || key.rfind("inter_node_", 0) == 0; }

/// The value that the file states at a key, or nothing.
std::optional<double> stated(const Json& raw, const std::string& key) {
  const std::size_t dot = key.find('.');
  const Json part = dot == std::string::npos ? raw : raw.value(key.substr(0, dot), Json::object());
  const Json quantity = part.value(key.substr(dot == std::string::npos ? 0 : dot + 1), Json());
  const Json value = quantity.is_object() ? quantity.value("value", Json()) : Json();
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

/// The first point of every other choice of strategy, cluster and number of GPUs that does the same job.
std::vector<const PlanOutcome*> rivals_of(const std::vector<PlanOutcome>& outcomes, const PlanLimits& limits,
                                          PlanGoal goal, const PlanOutcome& best) {
  std::vector<const PlanOutcome*> rivals;
  const auto choice = [](const PlanOutcome& o) {
    return std::tuple(o.point.request.strategy.at("name"), o.point.cluster, o.point.request.ranks);
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].status == "ok" && same_job(outcomes[i], best)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return comes_before(outcomes[a], outcomes[b], goal); });
  for (const std::size_t i : order) {
    const PlanOutcome& own = outcomes[i];
    const auto same = [&](const PlanOutcome* other) { return choice(*other) == choice(own); };
    if (choice(own) == choice(best) || std::any_of(rivals.begin(), rivals.end(), same)) continue;
    if (find_front({own}, limits, goal).front().kept) rivals.push_back(&own);
    if (rivals.size() == most_rivals) break;
  }
  return rivals;
}

/// A point on clusters with one constant of `cluster` changed. Keeps what was simulated.
class ChangedPoint {
 public:
  ChangedPoint(const PlanOutcome& outcome, const std::string& cluster, const TurningRules& rules,
               const DataCache& cache)
      : outcome_(outcome),
        elsewhere_(outcome.point.cluster != cluster),
        rules_(rules),
        repriced_(outcome.point, rules.epochs, cache) {}

  const PlanOutcome& outcome() const { return outcome_; }

  PlanOutcome at(const TurnedConstant& constant, double factor) {
    if (elsewhere_) return outcome_;
    if (constant.key == price_name) {
      PlanOutcome priced = outcome_;
      if (priced.dollars) *priced.dollars *= factor;
      return priced;
    }
    const std::pair key(constant.key, factor);
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = kept_.find(key); known != kept_.end()) return known->second;
    }
    const double value =
        constant.key == "gpu.memory_bytes" ? std::round(constant.value * factor) : constant.value * factor;
    std::vector<PlanOutcome> one{
        repriced_.on(change_cluster(outcome_.point.request.cluster, constant.key, fmt::format("{:.17g}", value)))};
    add_costs(rules_.costs, one);
    const std::lock_guard lock(mutex_);
    return kept_.emplace(key, std::move(one.front())).first->second;
  }

  std::size_t simulations() const { return kept_.size(); }

 private:
  const PlanOutcome& outcome_;
  const bool elsewhere_;
  const TurningRules& rules_;
  const RepricedPoint repriced_;
  std::mutex mutex_;
  std::map<std::pair<std::string, double>, PlanOutcome> kept_;
};

/// The best point and one rival.
struct Duel {
  ChangedPoint& best;
  ChangedPoint& rival;
  const TurningRules& rules;

  /// Whether the rival is better when the constant has `factor` times its value. A value that no cluster may have turns
  /// nothing.
  bool turns(const TurnedConstant& constant, double factor) const {
    try {
      const std::vector<PlanOutcome> both{best.at(constant, factor), rival.at(constant, factor)};
      const PlanVerdict first = find_front(both, rules.limits, rules.goal).front();
      return first.kept && first.index == 1;
    } catch (const InvalidRequest&) {
      return false;
    }
  }
};

/// The nearest turn in one direction, given the nearest of earlier rivals. `sign` is -1 for smaller values.
void find_turn(const Duel& duel, const TurnedConstant& constant, double sign, std::optional<Turn>& nearest) {
  const double log_end = nearest ? std::abs(std::log(nearest->factor)) : std::log(widest_factor);
  const double end = std::exp(sign * log_end);
  if (!duel.turns(constant, end)) return;
  double still = 0, turned = log_end;  // logarithms of factors without and with a turn
  for (int i = 0; i < factor_halvings && turned - still > std::log(widest_factor) / (1 << factor_halvings); ++i) {
    const double middle = (still + turned) / 2;
    (duel.turns(constant, std::exp(sign * middle)) ? turned : still) = middle;
  }
  nearest = {std::exp(sign * turned), duel.rival.outcome().point.id};
}

/// Whether a constant can change the comparison: the price only where money decides, links of nodes only with several.
bool matters(const TurnedConstant& constant, const PlanOutcome& best, const PlanOutcome& rival,
             const TurningRules& rules) {
  const std::string& key = constant.key;
  const bool rival_too = rival.point.cluster == best.point.cluster;
  const auto nodes = std::max(best.point.nodes, rival_too ? rival.point.nodes : 1);
  const auto ranks = std::max(best.point.request.ranks, rival_too ? rival.point.request.ranks : 1);
  if (key == price_name) return best.dollars && (rules.goal == PlanGoal::dollars || rules.limits.budget);
  if (key.rfind("inter_node_", 0) == 0) return nodes > 1;
  const bool on_links = is_link(key) || key == "message_seconds" || key == "all_to_all_peer_seconds";
  return !on_links || ranks > 1;
}

/// The turn with the factor nearest to 1.
const Turn* nearest_turn(const std::vector<TurnedConstant>& constants, const TurnedConstant*& at) {
  const Turn* nearest = nullptr;
  for (const TurnedConstant& constant : constants) {
    for (const std::optional<Turn>* turn : {&constant.below, &constant.above}) {
      if (!*turn) continue;
      if (nearest != nullptr && std::abs(std::log((*turn)->factor)) >= std::abs(std::log(nearest->factor))) continue;
      nearest = &**turn;
      at = &constant;
    }
  }
  return nearest;
}

std::string summarise(const TurningStudy& study, const std::string& cluster) {
  if (study.rivals.empty()) return "nothing was compared with the best point: it is the only choice within the limits";
  const TurnedConstant* at = nullptr;
  const Turn* turn = nearest_turn(study.constants, at);
  if (turn == nullptr)
    return fmt::format(
        "no single constant of {}: {} constants were varied from a quarter to {:.0f} times their value, and the best "
        "point stays ahead of {} other{} ({} re-simulations)",
        cluster, study.constants.size(), widest_factor, study.rivals.size(), study.rivals.size() == 1 ? "" : "s",
        study.simulations);
  return fmt::format(
      "{} of {} at {:.2g} times its value ({:.3g} instead of {:.3g}): then {} is better ({} "
      "re-simulations, each constant from a quarter to {:.0f} times its value)",
      at->key, cluster, turn->factor, at->value * turn->factor, at->value, turn->point, study.simulations,
      widest_factor);
}

}  // namespace

std::vector<TurnedConstant> constants_of(const std::string& text, const std::string& precision) {
  const auto cluster = load_cluster(text);
  std::vector<TurnedConstant> constants;
  for (const std::string& key :
       {"gpu.flops_" + precision + "_per_second", std::string("gpu.memory_bytes_per_second"),
        std::string("gpu.memory_bytes"), std::string("gpu.launch_seconds"),
        std::string("host_to_device_bytes_per_second"), std::string("intra_node_bytes_per_second"),
        std::string("intra_node_latency_seconds"), std::string("inter_node_bytes_per_second"),
        std::string("inter_node_latency_seconds"), std::string("message_seconds"),
        std::string("all_to_all_peer_seconds"), std::string(price_name)}) {
    if (is_link(key) && cluster->calibration != nullptr) continue;  // its fits hold for the measured links only
    std::optional<double> value = stated(cluster->raw, key);
    if (!value && key == "message_seconds") value = cluster->message_seconds;
    if (!value && key == "all_to_all_peer_seconds") value = cluster->all_to_all_peer_seconds;
    if (value && *value > 0) constants.push_back({key, *value, {}, {}});
  }
  return constants;
}

TurningStudy study_turning(const std::vector<PlanOutcome>& outcomes, const std::vector<PlanVerdict>& verdicts,
                           const TurningRules& rules, const DataCache& cache) {
  const PlanOutcome& best = outcomes[verdicts.front().index];
  TurningStudy study;
  study.constants = constants_of(best.point.request.cluster, best.point.request.precision);
  Workers workers(std::max(1, rules.threads));
  const std::string& cluster = best.point.cluster;
  ChangedPoint changed_best(best, cluster, rules, cache);
  for (const PlanOutcome* rival : rivals_of(outcomes, rules.limits, rules.goal, best)) {
    study.rivals.push_back(rival->point.id);
    ChangedPoint changed_rival(*rival, cluster, rules, cache);
    const Duel duel{changed_best, changed_rival, rules};
    workers.run(static_cast<std::int64_t>(2 * study.constants.size()), [&](std::int64_t task) {
      TurnedConstant& constant = study.constants[task / 2];
      if (!matters(constant, best, *rival, rules)) return;
      const bool below = task % 2 == 0;
      find_turn(duel, constant, below ? -1 : 1, below ? constant.below : constant.above);
    });
    study.simulations += changed_rival.simulations();
  }
  study.simulations += changed_best.simulations();
  study.summary = summarise(study, cluster);
  return study;
}

}  // namespace strobe
