// Branch and bound over open settings, one setting after another. A point represents all values of the later settings.
// It is varied until a simulated point dominates its bound in time and cost.
// Invariant: points are simulated in an order that depends on outcomes only, never on threads.
#include "harness/advisor/plan_search.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace strobe {
namespace {

constexpr auto compute = static_cast<std::size_t>(Phase::compute);
constexpr auto communicate = static_cast<std::size_t>(Phase::communicate);
constexpr auto transfer = static_cast<std::size_t>(Phase::transfer);
constexpr auto waiting = static_cast<std::size_t>(Phase::wait);

/// Without copies, ranks may also meet earlier within an exchange. At least this share of an exchange's time remains.
/// The measured minimum is 0.98 (docs/explanation/planning.md).
constexpr double still_exchanged = 0.8;

/// The most that settings from `level` on may remove.
Shortens shortened_from(const std::vector<OpenSetting>& open, std::size_t level) {
  Shortens most = Shortens::copies;
  for (std::size_t s = level; s < open.size(); ++s) {
    const Shortens own = shortened_by(open[s].name);
    if (own == Shortens::anything || most == Shortens::anything) return Shortens::anything;
    if (own == Shortens::exchanges) most = own;
  }
  return most;
}

/// The outcome with another epoch time, including start-up and billing.
PlanOutcome with_epoch(PlanOutcome outcome, double seconds, const JobCosts& costs) {
  const double times = outcome.epoch_seconds > 0 ? seconds / outcome.epoch_seconds : 0;
  outcome.epoch_seconds = seconds;
  if (outcome.dollars && outcome.billed_seconds > 0) {  // the price per time does not change
    *outcome.dollars *= times;
    outcome.billed_seconds *= times;
  }
  outcome.job_seconds *= times;
  std::vector<PlanOutcome> one{std::move(outcome)};
  if (times > 0) add_costs(costs, one);
  return one.front();
}

bool costs_no_more(const PlanOutcome& a, const PlanOutcome& b) {
  if (!b.dollars) return true;
  return a.dollars && a.currency == b.currency && *a.dollars <= *b.dollars;
}

bool within(const PlanOutcome& outcome, const PlanLimits& limits) {
  if (limits.deadline_seconds && outcome.job_seconds > *limits.deadline_seconds) return false;
  return !limits.budget ||
         (outcome.dollars && outcome.currency == limits.currency && *outcome.dollars <= *limits.budget);
}

/// Whether other values may give a possible point. A division that fails does not depend on inputs and exchanges.
bool can_vary(const PlanOutcome& outcome) { return outcome.status == "ok" || outcome.status == "out_of_memory"; }

/// Number of combinations of the settings from `level` on.
std::size_t behind(const PlanPoint& point, std::size_t level) {
  std::size_t count = 1;
  for (std::size_t s = level; s < point.open.size(); ++s) count *= point.open[s].values.size();
  return count;
}

/// Whether the two outcomes are equal, so that the changed setting has no effect here.
bool as_before(const PlanOutcome& now, const PlanOutcome& before) {
  return now.status == "ok" && before.status == "ok" && now.epoch_seconds == before.epoch_seconds &&
         now.peak_bytes == before.peak_bytes && now.sent_bytes == before.sent_bytes;
}

bool same_place(const PlanPoint& a, const PlanPoint& b) {
  return a.cluster == b.cluster && a.nodes == b.nodes && a.request.ranks == b.request.ranks &&
         a.request.strategy.at("name") == b.request.strategy.at("name") &&
         a.request.model.at("name") == b.request.model.at("name");
}

/// Values of settings, by name.
using Values = std::map<std::string, std::string>;

/// The point's open settings that differ from their first values.
Values changed_values(const PlanPoint& point) {
  Values values;
  for (const auto& [name, value] : point.choices) {
    const auto is_it = [&name = name](const OpenSetting& setting) { return setting.name == name; };
    if (std::any_of(point.open.begin(), point.open.end(), is_it)) values[name] = value;
  }
  return values;
}

/// The point with these values, and first values for the other settings.
PlanPoint with_values(PlanPoint point, const Values& values) {
  for (const OpenSetting& setting : std::vector<OpenSetting>(point.open)) {
    const auto value = values.find(setting.name);
    if (value != values.end() && value->second != setting.values.front())
      point = with_setting(std::move(point), setting.name, value->second);
  }
  return point;
}

class Search {
 public:
  Search(const SearchRules& rules, const std::function<std::vector<PlanOutcome>(const std::vector<PlanPoint>&)>& run)
      : rules_(rules), evaluate_(run) {}

  SearchResult run(const std::vector<PlanPoint>& points) {
    simulate(points, {});
    const std::size_t first = found_.outcomes.size();
    count_combinations();
    find_incumbents();
    if (!rules_.exhaustive) vary({front_.begin(), front_.end()});  // first, because good points exclude others
    for (std::size_t before = 0; before != found_.counts.simulated;) {
      before = found_.counts.simulated;
      std::vector<std::size_t> all(found_.outcomes.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      vary(std::move(all));
    }
    if (!rules_.exhaustive) {
      simulate_wanted(first);
      simulate_neighbours_of_best(first);
    }
    SearchCounts& counts = found_.counts;
    counts.left_out = counts.combinations - found_.outcomes.size() - counts.cannot_combine - counts.without_effect;
    return std::move(found_);
  }

 private:
  void count_combinations() {
    SearchCounts& counts = found_.counts;
    counts.exhaustive = rules_.exhaustive;
    for (const PlanOutcome& outcome : found_.outcomes) {
      counts.combinations += can_vary(outcome) ? behind(outcome.point, 0) : 1;
      for (const OpenSetting& setting : outcome.point.open) {
        const bool known = std::any_of(counts.settings.begin(), counts.settings.end(),
                                       [&](const OpenSetting& one) { return one.name == setting.name; });
        if (!known) counts.settings.push_back(setting);
      }
    }
  }

  /// Simulates the points that were not simulated yet. `parents` are the outcomes that they vary; empty for the first
  /// points. `level` is the number of decided settings. Returns the positions of the new outcomes.
  std::vector<std::size_t> simulate(const std::vector<PlanPoint>& points, const std::vector<std::size_t>& parents,
                                    std::size_t level = 0) {
    std::vector<PlanPoint> fresh;
    std::vector<std::size_t> fresh_parents, added;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!seen_.insert(points[i].id).second) continue;
      fresh.push_back(points[i]);
      if (!parents.empty()) fresh_parents.push_back(parents[i]);
    }
    if (fresh.empty()) return {};
    std::vector<PlanOutcome> outcomes = evaluate_(fresh);
    found_.counts.simulated += outcomes.size();
    const std::size_t first = found_.outcomes.size();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!parents.empty() && is_no_point(outcomes[i], fresh_parents[i], first, level)) continue;
      added.push_back(found_.outcomes.size());
      origins_.push_back({parents.empty() ? added.back() : origins_[fresh_parents[i]].base,
                          parents.empty() ? added.back() : fresh_parents[i], level});
      found_.outcomes.push_back(std::move(outcomes[i]));
    }
    return added;
  }

  /// Whether a combination is impossible, or equals its parent or a sibling (outcomes from `first` on). If so, the
  /// combinations that vary it are no points either.
  bool is_no_point(const PlanOutcome& outcome, std::size_t parent, std::size_t first, std::size_t level) {
    if (outcome.point.id == rules_.wanted) return false;
    const bool cannot = outcome.status == "cannot_combine";
    bool same = as_before(outcome, found_.outcomes[parent]);
    for (std::size_t i = first; i < found_.outcomes.size() && !same; ++i)
      same = origins_[i].parent == parent && as_before(outcome, found_.outcomes[i]);
    if (cannot) found_.counts.cannot_combine += exclude(outcome.point, level);
    if (same) found_.counts.without_effect += exclude(outcome.point, level);
    return cannot || same;
  }

  /// Marks a combination and all that vary it as no points of the plan. Returns their number.
  std::size_t exclude(const PlanPoint& point, std::size_t level) {
    PlanPoint rest = point;
    rest.open.erase(rest.open.begin(), rest.open.begin() + static_cast<std::ptrdiff_t>(level));
    std::size_t count = 1;
    for (const PlanPoint& one : all_combinations({rest})) count += seen_.insert(one.id).second ? 1 : 0;
    return count;
  }

  PlanOutcome priced(std::size_t index) const {
    std::vector<PlanOutcome> one{found_.outcomes[index]};
    add_costs(rules_.costs, one);
    return one.front();
  }

  /// The points of one contest have the same text: all points, or those of a cluster and a number of ranks.
  std::string contest_of(const PlanPoint& point) const {
    return rules_.each_place ? point.cluster + " " + std::to_string(point.request.ranks) : "";
  }

  /// Finds the outcomes that bounds are compared with: undominated times and costs, the least memory within the limits,
  /// and the front of all three; for each contest.
  void find_incumbents() {
    std::map<std::string, std::vector<std::size_t>> contests;
    for (std::size_t i = 0; i < found_.outcomes.size(); ++i)
      contests[contest_of(found_.outcomes[i].point)].push_back(i);
    incumbents_.clear(), front_.clear(), least_bytes_.clear();
    for (const auto& [contest, members] : contests) find_incumbents(contest, members);
  }

  void find_incumbents(const std::string& contest, const std::vector<std::size_t>& members) {
    std::vector<PlanOutcome> outcomes;
    for (const std::size_t i : members) outcomes.push_back(priced(i));
    std::uint64_t& least = least_bytes_.emplace(contest, UINT64_MAX).first->second;
    for (const PlanOutcome& own : outcomes) {
      if (own.status == "ok" && within(own, rules_.limits)) least = std::min(least, own.peak_bytes);
    }
    for (const PlanVerdict& verdict : find_front(outcomes, {}, PlanGoal::time)) {
      if (!verdict.kept) break;
      const PlanOutcome& own = outcomes[verdict.index];
      front_.insert(members[verdict.index]);
      if (!dominated(own)) incumbents_[contest].push_back(own);
    }
  }

  bool dominated(const PlanOutcome& outcome) {
    const std::vector<PlanOutcome>& others = incumbents_[contest_of(outcome.point)];
    return std::any_of(others.begin(), others.end(), [&](const PlanOutcome& other) {
      return same_job(other, outcome) && other.job_seconds <= outcome.job_seconds && costs_no_more(other, outcome);
    });
  }

  /// Whether other values of the point's settings from `level` on may lead to a useful point. It may be faster or
  /// cheaper, be on the front with less of one quantity, or have the least memory. A point that does not fit may fit
  /// with other values, and no bound excludes that.
  bool promises(std::size_t index, std::size_t level) {
    const PlanOutcome& own = found_.outcomes[index];
    if (!can_vary(own)) return false;
    if (rules_.exhaustive || own.status == "out_of_memory" || front_.contains(index)) return true;
    const PlanOutcome least = with_epoch(own, least_epoch(own, shortened_from(own.point.open, level)), rules_.costs);
    if (!dominated(least)) return true;
    const double reach = memory_reach * static_cast<double>(least_bytes_.at(contest_of(own.point)));
    return static_cast<double>(own.peak_bytes) <= reach && within(least, rules_.limits);
  }

  /// Tries one setting after the other on these points and on all points that earlier settings added.
  void vary(std::vector<std::size_t> live) {
    for (std::size_t level = 0; level < found_.counts.settings.size(); ++level) {
      find_incumbents();
      std::vector<PlanPoint> points;
      std::vector<std::size_t> parents;
      for (const std::size_t i : live) {
        const PlanPoint& point = found_.outcomes[i].point;
        if (level >= point.open.size() || level < origins_[i].level || !promises(i, level)) continue;
        const OpenSetting& setting = point.open[level];
        for (std::size_t v = 1; v < setting.values.size(); ++v) {
          points.push_back(with_setting(point, setting.name, setting.values[v]));
          parents.push_back(i);
        }
      }
      const std::vector<std::size_t> added = simulate(points, parents, level + 1);
      live.insert(live.end(), added.begin(), added.end());
    }
  }

  void simulate_wanted(std::size_t first) {
    for (std::size_t i = 0; i < first && !rules_.wanted.empty() && !seen_.contains(rules_.wanted); ++i) {
      for (const PlanPoint& point : all_combinations({found_.outcomes[i].point})) {
        if (point.id == rules_.wanted) simulate({point}, {i}, point.open.size());
      }
    }
  }

  /// Simulates the best point with each other value of one open setting. Also simulates its settings on the other
  /// choices at its place.
  void simulate_neighbours_of_best(std::size_t first) {
    std::vector<PlanOutcome> outcomes;
    for (std::size_t i = 0; i < found_.outcomes.size(); ++i) outcomes.push_back(priced(i));
    const std::vector<PlanVerdict> verdicts = find_front(outcomes, rules_.limits, rules_.goal);
    if (verdicts.empty() || !verdicts.front().kept) return;
    const std::size_t best = verdicts.front().index;
    const Values values = changed_values(outcomes[best].point);
    std::vector<PlanPoint> points;
    std::vector<std::size_t> parents;
    for (std::size_t i = 0; i < first; ++i) {
      const PlanPoint& point = outcomes[i].point;
      if (!same_place(point, outcomes[best].point)) continue;
      points.push_back(with_values(point, values));
      for (const OpenSetting& setting : point.open) {
        for (std::size_t v = 0; i == origins_[best].base && v < setting.values.size(); ++v) {
          Values others = values;
          others[setting.name] = setting.values[v];
          points.push_back(with_values(point, others));
        }
      }
      parents.resize(points.size(), i == origins_[best].base ? best : i);
    }
    simulate(points, parents, found_.counts.settings.size());
  }

  const SearchRules& rules_;
  const std::function<std::vector<PlanOutcome>(const std::vector<PlanPoint>&)>& evaluate_;
  SearchResult found_;
  struct Origin {
    std::size_t base = 0, parent = 0;  // the first point that it varies; the point that differs in one setting
    std::size_t level = 0;             // the number of decided settings
  };
  std::vector<Origin> origins_;  // [outcomes]
  std::set<std::string> seen_;
  std::map<std::string, std::vector<PlanOutcome>> incumbents_;  // [contest]
  std::set<std::size_t> front_;
  std::map<std::string, std::uint64_t> least_bytes_;  // [contest]
};

}  // namespace

double least_epoch(const PlanOutcome& outcome, Shortens most) {
  const auto& seconds = outcome.phase_seconds;
  if (most == Shortens::anything) return 0;
  if (most == Shortens::exchanges) return std::max(seconds[compute], still_exchanged * seconds[communicate]);
  const double rest = outcome.epoch_seconds - seconds[transfer] - seconds[waiting];
  return rest - (1 - still_exchanged) * seconds[communicate];
}

SearchResult search_settings(const std::vector<PlanPoint>& points, const SearchRules& rules,
                             const std::function<std::vector<PlanOutcome>(const std::vector<PlanPoint>&)>& evaluate) {
  return Search(rules, evaluate).run(points);
}

std::vector<PlanPoint> all_combinations(const std::vector<PlanPoint>& points) {
  std::vector<PlanPoint> all;
  for (const PlanPoint& point : points) {
    const std::size_t first = all.size();
    all.push_back(point);
    for (const OpenSetting& setting : point.open) {
      const std::size_t end = all.size();
      for (std::size_t i = first; i < end; ++i) {
        for (std::size_t v = 1; v < setting.values.size(); ++v)
          all.push_back(with_setting(PlanPoint(all[i]), setting.name, setting.values[v]));
      }
    }
  }
  return all;
}

}  // namespace strobe
