#include "harness/advisor/choice_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/units.hpp"
#include "harness/advisor/front.hpp"

namespace strobe {
namespace {

/// The value of a choice at a point, whether the search named it or left it at its default.
std::string value_of(const PlanPoint& point, const std::string& choice) {
  for (const auto& [key, value] : point.choices) {
    if (key == choice) return value;
  }
  for (const OpenSetting& setting : point.open) {
    if (setting.name == choice) return setting.values.front();
  }
  const Json& strategy = point.request.strategy;
  if (!strategy.contains(choice)) return "";
  return strategy.at(choice).is_string() ? strategy.at(choice).get<std::string>() : strategy.at(choice).dump();
}

bool same_place_of_choice(const PlanPoint& a, const PlanPoint& b) {
  return a.cluster == b.cluster && a.nodes == b.nodes && a.request.ranks == b.request.ranks &&
         a.request.strategy.at("name") == b.request.strategy.at("name");
}

std::set<std::string> choices_of(const PlanPoint& point) {
  std::set<std::string> keys;
  for (const auto& [key, value] : point.choices) keys.insert(key);
  for (const OpenSetting& setting : point.open) keys.insert(setting.name);
  return keys;
}

/// The one choice in which the two points differ; "" if there are none or several. A choice that only one of them has
/// follows from a choice that both made. For example, models that are averaged after every update have no interval.
std::string difference(const PlanPoint& a, const PlanPoint& b) {
  const std::set<std::string> of_a = choices_of(a), of_b = choices_of(b);
  std::set<std::string> keys = of_a;
  keys.insert(of_b.begin(), of_b.end());
  std::vector<std::string> made_by_both, made_by_one;
  for (const std::string& key : keys) {
    if (value_of(a, key) == value_of(b, key)) continue;
    (of_a.contains(key) && of_b.contains(key) ? made_by_both : made_by_one).push_back(key);
  }
  const std::vector<std::string>& differing = made_by_both.empty() ? made_by_one : made_by_both;
  return differing.size() == 1 ? differing.front() : "";
}

/// The phase of an epoch that changes most, with the size of the change.
std::string changed_phase(const PlanOutcome& other, const PlanOutcome& best) {
  std::size_t most = 0;
  const auto change = [&](std::size_t i) { return other.phase_seconds[i] - best.phase_seconds[i]; };
  for (std::size_t i = 1; i < phase_count; ++i) {
    if (std::abs(change(i)) > std::abs(change(most))) most = i;
  }
  return fmt::format("{} of an epoch {}{}", phase_names[most], change(most) < 0 ? "-" : "+",
                     format_seconds(std::abs(change(most))));
}

std::string updates_text(double updates, double seconds) {
  return fmt::format("{:.4g} updates of {}", updates, format_seconds(seconds / std::max(updates, 1.0)));
}

std::string reason_of(const PlanOutcome& other, const PlanOutcome& best) {
  if (other.status != "ok") return other.status + ": " + other.reason;
  const std::string phase = changed_phase(other, best);
  if (other.metric_updates && best.metric_updates) {
    return fmt::format("{} to the metric in place of {}; {}",
                       updates_text(static_cast<double>(*other.metric_updates), other.job_seconds),
                       updates_text(static_cast<double>(*best.metric_updates), best.job_seconds), phase);
  }
  if (other.updates == 0 || best.updates == 0) return phase;
  return fmt::format("an epoch is {} in place of {}; {}", updates_text(other.updates, other.epoch_seconds),
                     updates_text(best.updates, best.epoch_seconds), phase);
}

/// Points can differ from the best one in the same choice, but not in the choices that follow from it. This keeps the
/// fastest of them.
void keep_fastest(std::vector<ChoiceCost>& costs, ChoiceCost cost) {
  const auto same = std::find_if(costs.begin(), costs.end(), [&](const ChoiceCost& other) {
    return other.choice == cost.choice && other.value == cost.value;
  });
  if (same == costs.end()) return costs.push_back(std::move(cost));
  const auto rank = [](const ChoiceCost& one) { return std::pair(one.times <= 0, one.times); };
  if (rank(cost) < rank(*same)) *same = std::move(cost);
}

}  // namespace

std::vector<ChoiceCost> choice_costs(const std::vector<PlanOutcome>& outcomes, const PlanOutcome& best) {
  std::vector<ChoiceCost> costs;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!same_job(outcomes[i], best)) continue;
    const PlanOutcome& other = outcomes[i];
    if (&other == &best || !same_place_of_choice(other.point, best.point)) continue;
    const std::string choice = difference(other.point, best.point);
    if (choice.empty()) continue;
    const double times = other.status == "ok" && best.job_seconds > 0 ? other.job_seconds / best.job_seconds : 0;
    keep_fastest(costs, {i, choice, value_of(other.point, choice), times, reason_of(other, best)});
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const ChoiceCost& a, const ChoiceCost& b) { return a.choice < b.choice; });
  return costs;
}

std::string choice_costs_text(const std::vector<ChoiceCost>& costs) {
  std::string text;
  for (const ChoiceCost& cost : costs) {
    const std::string times = cost.times > 0 ? fmt::format("{:.3g} x the time", cost.times) : "-";
    text += fmt::format("  {:<28} {:>16}   {}\n", cost.choice + "=" + cost.value, times, cost.reason);
  }
  return text.empty() ? text : "\nother choices in place of the best point's\n" + text;
}

}  // namespace strobe
