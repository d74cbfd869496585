#include "harness/advisor/plan_explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/units.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

std::string cost_text(const PlanOutcome& outcome) {
  return outcome.dollars ? fmt::format("{:.4g} {}", *outcome.dollars, outcome.currency) : "not sold";
}

std::string change_text(double own, double other) {
  if (!(other > 0)) return own > 0 ? "only here" : "";
  return fmt::format("{:.3g} x", own / other);
}

void add_times(TextTable& table, const PlanOutcome& own, const PlanOutcome& other) {
  const auto line = [&](const std::string& what, double a, double b) {
    table.add({what, format_seconds(a), format_seconds(b), change_text(a, b)});
  };
  line("epoch", own.epoch_seconds, other.epoch_seconds);
  for (std::size_t i = 0; i < phase_count; ++i) {
    if (own.phase_seconds[i] > 0 || other.phase_seconds[i] > 0)
      line("  " + std::string(phase_names[i]), own.phase_seconds[i], other.phase_seconds[i]);
  }
  line("job", own.job_seconds, other.job_seconds);
}

std::string beside(const PlanOutcome& own, const PlanOutcome& other) {
  TextTable table("|this point>|that one>|this / that>");
  add_times(table, own, other);
  const auto bytes = [&](const char* what, std::uint64_t a, std::uint64_t b) {
    table.add({what, format_bytes(static_cast<double>(a)), format_bytes(static_cast<double>(b)),
               change_text(static_cast<double>(a), static_cast<double>(b))});
  };
  bytes("sent in an epoch", own.sent_bytes, other.sent_bytes);
  bytes("memory/GPU", own.peak_bytes, other.peak_bytes);
  const bool comparable = own.dollars && other.dollars && own.currency == other.currency;
  table.add({"cost", cost_text(own), cost_text(other), comparable ? change_text(*own.dollars, *other.dollars) : ""});
  return table.text();
}

std::string bands_text(const PlanOutcome& own, const PlanOutcome& other) {
  const std::optional<bool> equal = equal_within_bands(own, other);
  if (!equal) return "one of the points has no 90 % band, so the certainty of the difference is not known\n";
  const ConfidenceInterval a = *job_band(own), b = *job_band(other);
  return fmt::format("90 % bands of the jobs: {} .. {} and {} .. {}: {}\n", format_seconds(a.low),
                     format_seconds(a.high), format_seconds(b.low), format_seconds(b.high),
                     *equal ? "they overlap, so it is not known which job ends first" : "they do not overlap");
}

const PlanVerdict& verdict_of(const PlanReport& report, std::size_t index) {
  return *std::find_if(report.verdicts.begin(), report.verdicts.end(),
                       [&](const PlanVerdict& verdict) { return verdict.index == index; });
}

}  // namespace

std::string equals_text(const PlanReport& report) {
  const PlanOutcome* best = report.best();
  if (best == nullptr) return "";
  std::vector<const PlanOutcome*> equal;
  for (const PlanVerdict& verdict : report.verdicts) {
    const PlanOutcome& outcome = report.outcomes[verdict.index];
    const bool possible = verdict.kept || verdict.cause == "dominated";
    if (&outcome != best && possible && equal_within_bands(outcome, *best).value_or(false)) equal.push_back(&outcome);
  }
  if (equal.empty()) return "";
  std::string text =
      fmt::format("{} of {} points {} equal to the best one in time: their 90 % bands overlap (marked =)\n",
                  equal.size(), report.verdicts.size(), equal.size() == 1 ? "is" : "are");
  const auto memory =
      *std::min_element(equal.begin(), equal.end(), [](auto* a, auto* b) { return a->peak_bytes < b->peak_bytes; });
  if (memory->peak_bytes < best->peak_bytes)
    text += fmt::format("  of these, the least memory: {}, {}\n", memory->point.id,
                        format_bytes(static_cast<double>(memory->peak_bytes)));
  std::erase_if(equal, [&](auto* o) { return !o->dollars || !best->dollars || o->currency != best->currency; });
  if (equal.empty()) return text;
  const auto cost =
      *std::min_element(equal.begin(), equal.end(), [](auto* a, auto* b) { return *a->dollars < *b->dollars; });
  if (*cost->dollars < *best->dollars)
    text += fmt::format("  of these, the least cost: {}, {}\n", cost->point.id, cost_text(*cost));
  return text;
}

std::string costs_note(const PlanReport& report) {
  const JobCosts& costs = report.costs;
  const bool loads = std::any_of(report.outcomes.begin(), report.outcomes.end(),
                                 [](const PlanOutcome& outcome) { return outcome.load_seconds.has_value(); });
  const std::string start =
      costs.start_up_seconds > 0
          ? fmt::format("{} of start-up and then the epochs", format_seconds(costs.start_up_seconds))
      : loads ? "reading and preparing the graph, at the rates of the cluster's file, and then the epochs (--start-up "
                "replaces this time)"
              : "the epochs alone, without start-up and reading of data (add them with --start-up)";
  const std::string unit =
      costs.billing_unit_seconds > 0
          ? fmt::format("billed in units of {}, rounded up", format_seconds(costs.billing_unit_seconds))
          : "billed for the exact time (choose a unit with --billing-unit)";
  return fmt::format("a job is {}; whole nodes are {}", start, unit);
}

std::size_t point_called(const std::vector<PlanPoint>& points, const std::string& id) {
  std::vector<std::string> matches, all;
  std::size_t found = points.size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].id == id) return i;
    all.push_back(points[i].id);
    if (points[i].id.find(id) == std::string::npos) continue;
    matches.push_back(points[i].id);
    found = i;
  }
  if (matches.size() == 1) return found;
  if (matches.empty()) {
    const std::string nearest = nearest_name(id, all);
    throw InvalidRequest(
        "--explain", fmt::format("no point of this plan is called '{}'{}", id,
                                 nearest.empty() ? fmt::format("; an id looks like {}", all.empty() ? "none" : all[0])
                                                 : fmt::format("; did you mean '{}'?", nearest)));
  }
  const std::size_t shown = std::min<std::size_t>(5, matches.size());
  throw InvalidRequest(
      "--explain", fmt::format("{} points have '{}' in their ids; give a longer part of one: {}{}", matches.size(), id,
                               fmt::join(matches.begin(), matches.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                               matches.size() > shown ? ", ..." : ""));
}

std::string id_called(const std::vector<PlanPoint>& points, const std::string& id) {
  const std::vector<PlanPoint> all = all_combinations(points);
  const auto named = [&id](const PlanPoint& point) { return point.id == id; };
  const auto has_part = [&id](const PlanPoint& point) { return point.id.find(id) != std::string::npos; };
  if (std::any_of(all.begin(), all.end(), named)) return id;
  if (std::any_of(points.begin(), points.end(), has_part)) return points[point_called(points, id)].id;
  return all[point_called(all, id)].id;
}

std::string explain_point(const PlanReport& report, const std::string& id) {
  std::vector<PlanPoint> points;
  for (const PlanOutcome& outcome : report.outcomes) points.push_back(outcome.point);
  const std::size_t index = point_called(points, id);
  const PlanOutcome& own = report.outcomes[index];
  const PlanVerdict& verdict = verdict_of(report, index);
  std::string text = fmt::format("{}\n", own.point.id);
  const PlanOutcome* other = verdict.cause == "dominated" ? &report.outcomes[verdict.dominated_by] : report.best();
  if (&own == report.best())
    text += fmt::format("is the best point: no other has less {}\n", goal_name(report.goal));
  else
    text += verdict.kept ? "is on the front: no other point is as good in time, cost and memory\n"
                         : fmt::format("is left out ({}): {}\n", verdict.cause, reason_of(report.outcomes, verdict));
  if (own.status == "ok" && other != nullptr && other != &own)
    text += fmt::format("\ncompared with {}\n{}{}", other->point.id, beside(own, *other), bands_text(own, *other));
  for (const std::string& note : own.notes) text += fmt::format("  {}\n", note);
  return text + fmt::format("\nas a case of a suite\n{}\n", case_to_json(own.point.request).dump());
}

}  // namespace strobe
