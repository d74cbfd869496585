#include "harness/advisor/plan_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/or_null.hpp"
#include "core/units.hpp"
#include "harness/advisor/choice_costs.hpp"
#include "harness/advisor/plan_brief.hpp"
#include "harness/advisor/plan_explain.hpp"
#include "harness/advisor/plan_subject.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

Json phases_json(const PlanOutcome& outcome) {
  Json phases = Json::object();
  for (std::size_t i = 0; i < phase_count; ++i) phases[std::string(phase_names[i])] = outcome.phase_seconds[i];
  return phases;
}

/// Adds whether the point equals the best one, and the number of epochs that the budget pays for there.
void add_limits_json(const PlanReport& report, const PlanOutcome& outcome, Json& json) {
  const PlanOutcome* best = report.best_of_job(outcome);
  const std::optional<bool> equal = best == nullptr ? std::nullopt : equal_within_bands(outcome, *best);
  json["equal_to_best"] = or_null(equal);
  const std::optional<double> paid =
      outcome.status == "ok" && report.limits.budget && outcome.currency == report.limits.currency
          ? epochs_for(*report.limits.budget, outcome, report.costs)
          : std::nullopt;
  json["epochs_for_budget"] = or_null(paid);
}

Json point_json(const PlanReport& report, const PlanVerdict& verdict) {
  const PlanOutcome& outcome = report.outcomes[verdict.index];
  const PlanPoint& point = outcome.point;
  Json choices = Json::object();
  for (const auto& [key, value] : point.choices) choices[key] = value;
  const bool ok = outcome.status == "ok";
  Json json = {{"id", point.id},
               {"strategy", point.request.strategy.at("name")},
               {"cluster", point.cluster},
               {"nodes", point.nodes},
               {"ranks", point.request.ranks},
               {"choices", choices},
               {"status", outcome.status},
               {"verdict", verdict.kept ? "kept" : "discarded"},
               {"cause", verdict.kept ? Json(nullptr) : Json(verdict.cause)},
               {"reason", verdict.kept ? Json(nullptr) : Json(reason_of(report.outcomes, verdict))}};
  json["dominated_by"] =
      verdict.cause == "dominated" ? Json(report.outcomes[verdict.dominated_by].point.id) : Json(nullptr);
  json["epoch_seconds"] = ok ? Json(outcome.epoch_seconds) : Json(nullptr);
  json["epoch_seconds_band90"] =
      outcome.epoch_band ? Json{{"low", outcome.epoch_band->low}, {"high", outcome.epoch_band->high}} : Json(nullptr);
  json["model"] = point.request.model.at("name");
  add_limits_json(report, outcome, json);
  json["metric_updates"] = or_null(outcome.metric_updates);
  json["metric_epochs"] = or_null(outcome.metric_epochs);
  json["job_seconds"] = ok ? Json(outcome.job_seconds) : Json(nullptr);
  json["start_up_seconds"] = ok ? Json(outcome.start_up_seconds) : Json(nullptr);
  json["billed_seconds"] = ok ? Json(outcome.billed_seconds) : Json(nullptr);
  json["dollars"] = or_null(outcome.dollars);
  json["currency"] = or_null(outcome.currency);
  json["peak_bytes"] = ok ? Json(outcome.peak_bytes) : Json(nullptr);
  json["sent_bytes"] = ok ? Json(outcome.sent_bytes) : Json(nullptr);
  json["updates_of_epoch"] = ok && outcome.update_cells ? Json(outcome.updates) : Json(nullptr);
  json["mails_lost_share"] = or_null(outcome.mails_lost_share);
  json["phase_seconds"] = ok ? phases_json(outcome) : Json(nullptr);
  json["notes"] = outcome.notes;
  json["case"] = case_to_json(point.request);
  return json;
}

Json scaling_json(const ScalingPoint& point) {
  Json json = {{"nodes", point.nodes},
               {"ranks", point.ranks},
               {"status", point.status},
               {"reason", or_null(point.reason)},
               {"extrapolated", point.extrapolated}};
  if (point.status != "ok") return json;
  Json communicate = Json::object();
  for (std::size_t i = 0; i < traffic_count; ++i) {
    communicate[std::string(traffic_names[i])] = point.communicate_seconds[i];
  }
  json["epoch_seconds"] = point.epoch_seconds;
  json["compute_seconds"] = point.compute_seconds;
  json["launch_bound_seconds"] = point.launch_bound_seconds;
  json["exposed_communicate_seconds"] = communicate;
  json["exposed_transfer_seconds"] = point.transfer_seconds;
  json["wait_seconds"] = point.wait_seconds;
  json["other_seconds"] = point.other_seconds;
  json["max_over_mean_busy"] = point.max_over_mean_busy;
  json["efficiency"] = point.efficiency;
  return json;
}

Json other_choices_json(const PlanReport& report) {
  Json all = Json::array();
  if (report.best() == nullptr) return all;
  for (const ChoiceCost& cost : choice_costs(report.outcomes, *report.best())) {
    all.push_back({{"choice", cost.choice},
                   {"value", cost.value},
                   {"point", report.outcomes[cost.index].point.id},
                   {"times_the_job", cost.times > 0 ? Json(cost.times) : Json(nullptr)},
                   {"reason", cost.reason}});
  }
  return all;
}

Json search_json(const SearchCounts& search) {
  Json settings = Json::object();
  for (const OpenSetting& setting : search.settings) settings[setting.name] = setting.values;
  return {{"exhaustive", search.exhaustive},
          {"settings", settings},
          {"combinations", search.combinations},
          {"simulated", search.simulated},
          {"cannot_combine", search.cannot_combine},
          {"without_effect", search.without_effect},
          {"left_out", search.left_out}};
}

std::string search_text(const SearchCounts& search) {
  if (search.settings.empty()) return "";
  std::vector<std::string> names;
  for (const OpenSetting& setting : search.settings)
    names.push_back(setting.name + "=" + fmt::format("{}", fmt::join(setting.values, "|")));
  return fmt::format(
      "settings tried: {}\n"
      "of {} combinations {} are points: {} do not go together, {} change nothing, {} were left out{}\n",
      fmt::join(names, ", "), search.combinations,
      search.combinations - search.cannot_combine - search.without_effect - search.left_out, search.cannot_combine,
      search.without_effect, search.left_out,
      search.left_out > 0 ? ", because their epochs cannot be short enough (--exhaustive simulates them too)" : "");
}

std::vector<std::string> all_notes(const PlanReport& report) {
  std::vector<std::string> notes;
  for (const PlanOutcome& outcome : report.outcomes) {
    for (const std::string& note : outcome.notes) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  notes.push_back(costs_note(report));
  const std::vector<std::string> currencies = currencies_of(report.outcomes);
  if (currencies.size() > 1) {
    notes.push_back(fmt::format("costs are in {} and are not compared: no point dominates one of another currency",
                                fmt::join(currencies, " and ")));
  }
  return notes;
}

/// The currency of the budget, or else the only currency of all costs; null when there is none.
Json currency_json(const PlanReport& report) {
  if (report.limits.budget) return report.limits.currency;
  const std::vector<std::string> currencies = currencies_of(report.outcomes);
  return currencies.size() == 1 ? Json(currencies.front()) : Json(nullptr);
}

std::string choices_text(const PlanPoint& point) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : point.choices) parts.push_back(key + "=" + value);
  return fmt::format("{}", fmt::join(parts, " "));
}

/// Whether a note says how certain a prediction is. The table shows its first word.
bool marks_prediction(const std::string& note) {
  return note.rfind("uncalibrated", 0) == 0 || note.rfind("extrapolated", 0) == 0;
}

std::string certainty(const PlanOutcome& outcome) {
  std::vector<std::string> words;
  for (const std::string& note : outcome.notes) {
    const std::string word = note.substr(0, note.find(' '));
    if (marks_prediction(note) && std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  if (words.empty()) words.emplace_back("calibrated");
  if (const auto& band = outcome.epoch_band)
    words.push_back(fmt::format("90 % in {} to {}", format_seconds(band->low), format_seconds(band->high)));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// "best", "front" or nothing, with an equals sign if the bands do not separate the point from the best one.
std::string mark_of(const PlanReport& report, const PlanVerdict& verdict) {
  const PlanOutcome& outcome = report.outcomes[verdict.index];
  const PlanOutcome* best = report.best_of_job(outcome);
  if (&outcome == best) return "best";
  const std::string mark = verdict.kept ? "front" : "";
  if (best == nullptr || !equal_within_bands(outcome, *best).value_or(false)) return mark;
  return mark.empty() ? "=" : mark + " =";
}

std::string paid_epochs(const PlanReport& report, const PlanOutcome& outcome) {
  if (!report.limits.budget || outcome.currency != report.limits.currency) return "";
  const auto epochs = epochs_for(*report.limits.budget, outcome, report.costs);
  return epochs ? fmt::format("{:.6g}", *epochs) : "";
}

std::string points_table(const PlanReport& report, std::size_t shown) {
  TextTable table(
      fmt::format("|strategy|choices|cluster|nodes>|GPUs>|epoch>|updates>|job>|cost>|memory/GPU>|{}>|prediction",
                  report.limits.budget ? "epochs for budget" : ""));
  std::size_t dominated = 0;
  for (const PlanVerdict& verdict : report.verdicts) {
    const PlanOutcome& o = report.outcomes[verdict.index];
    if (!verdict.kept && (verdict.cause != "dominated" || ++dominated > shown)) continue;
    const std::string mark = mark_of(report, verdict);
    const std::string cost = priced_text(o);
    table.add({mark, o.point.request.strategy.at("name").get<std::string>(), choices_text(o.point), o.point.cluster,
               std::to_string(o.point.nodes), std::to_string(o.point.request.ranks), format_seconds(o.epoch_seconds),
               o.metric_updates ? std::to_string(*o.metric_updates) : "", format_seconds(o.job_seconds), cost,
               format_bytes(static_cast<double>(o.peak_bytes)), paid_epochs(report, o), certainty(o)});
  }
  return table.text();
}

/// The points, and the answers to the questions which of them differ and which strategy is best at the best one's
/// place. Tables by numbers of GPUs have these answers already.
std::string points_text(const PlanReport& report, std::optional<std::size_t> shown) {
  std::string text;
  if (shown) text += "\n" + points_table(report, *shown);
  if (report.gpu_tables.empty()) {
    if (report.front) text += fmt::format("{}\n", fmt::join(report.front->sentences, " "));
    const std::string place = place_text(report, *report.best());
    if (!place.empty()) text += place + "\n";
  }
  return text + equals_text(report);
}

/// The fastest point of each way to train, in their order: its number of updates, the time of one, and its largest
/// part.
std::string ways_text(const PlanReport& report) {
  std::map<std::string, const PlanOutcome*> soonest;
  for (const PlanOutcome& o : report.outcomes) {
    if (!o.metric_updates) continue;
    const Case& c = o.point.request;
    const PlanOutcome*& best =
        soonest[fmt::format("{}, {}", c.strategy.at("name").get<std::string>(), c.model.at("name").get<std::string>())];
    if (best == nullptr || o.job_seconds < best->job_seconds) best = &o;
  }
  std::vector<std::pair<std::string, const PlanOutcome*>> ways(soonest.begin(), soonest.end());
  std::stable_sort(ways.begin(), ways.end(),
                   [](const auto& a, const auto& b) { return a.second->job_seconds < b.second->job_seconds; });
  std::string text;
  for (const auto& [way, o] : ways) {
    const auto most = std::max_element(o->phase_seconds.begin(), o->phase_seconds.end());
    const std::size_t phase = most - o->phase_seconds.begin();
    text +=
        fmt::format("  {:<28} {:>10}   {} updates of {}, {:.0f} % of it {}; {}\n", way, format_seconds(o->job_seconds),
                    *o->metric_updates,
                    format_seconds(o->job_seconds / static_cast<double>(std::max<std::int64_t>(1, *o->metric_updates))),
                    100 * *most / std::max(1e-300, o->epoch_seconds), phase_names[phase], o->point.id);
  }
  return text.empty() ? text : "\nfirst to reach the metric, by way to train\n" + text;
}

std::string discards_text(const PlanReport& report) {
  std::map<std::string, std::vector<const PlanVerdict*>> by_cause;
  for (const PlanVerdict& verdict : report.verdicts) {
    if (!verdict.kept) by_cause[verdict.cause].push_back(&verdict);
  }
  std::string text;
  for (const auto& [cause, verdicts] : by_cause) {
    const PlanVerdict& first = *verdicts.front();
    text += fmt::format("  {:<18} {:>6}   e.g. {}: {}\n", cause, verdicts.size(), report.outcomes[first.index].point.id,
                        reason_of(report.outcomes, first));
  }
  return text.empty() ? text : "\ndiscarded\n" + text;
}

std::string study_text(const ScalingStudy& study) {
  TextTable table(
      "nodes>|GPUs>|epoch>|efficiency>|compute>|of it launch-bound>|exposed "
      "communication|copies>|waiting>|other>|max/mean busy>|");
  for (const ScalingPoint& p : study.points) {
    const std::string nodes = std::to_string(p.nodes), ranks = std::to_string(p.ranks);
    if (p.status != "ok") {
      table.add({nodes, ranks, "-", "-", "-", "-", "-", "-", "-", "-", "-", p.status + ": " + p.reason});
      continue;
    }
    const auto share = [&p](double seconds) { return fmt::format("{:.1f} %", 100 * seconds / p.epoch_seconds); };
    std::vector<std::string> kinds;
    for (std::size_t i = 0; i < traffic_count; ++i) {
      if (p.communicate_seconds[i] > 0)
        kinds.push_back(fmt::format("{} {}", traffic_names[i], share(p.communicate_seconds[i])));
    }
    const double bound = p.compute_seconds > 0 ? p.launch_bound_seconds / p.compute_seconds : 0;
    table.add({nodes, ranks, format_seconds(p.epoch_seconds), fmt::format("{:.0f} %", 100 * p.efficiency),
               share(p.compute_seconds), fmt::format("{:.0f} %", 100 * bound),
               kinds.empty() ? "-" : fmt::format("{}", fmt::join(kinds, ", ")), share(p.transfer_seconds),
               share(p.wait_seconds), share(p.other_seconds), fmt::format("{:.2f}", p.max_over_mean_busy),
               p.extrapolated ? "extrapolated" : ""});
  }
  return "\nwhy the best point stops scaling\n" + table.text() + study.summary + "\n";
}

}  // namespace

const PlanOutcome* PlanReport::best_of_job(const PlanOutcome& outcome) const {
  for (const PlanVerdict& verdict : verdicts)
    if (verdict.kept && same_job(outcomes[verdict.index], outcome)) return &outcomes[verdict.index];
  return nullptr;
}

const PlanOutcome* PlanReport::best() const {
  return verdicts.empty() || !verdicts.front().kept ? nullptr : &outcomes[verdicts.front().index];
}

std::string goal_name(PlanGoal goal) {
  switch (goal) {
    case PlanGoal::time:
      return "time";
    case PlanGoal::dollars:
      return "dollars";
    case PlanGoal::memory:
      return "memory";
    case PlanGoal::time_to_metric:
      return "time-to-metric";
  }
  throw Error("no such goal");
}

std::vector<std::string> currencies_of(const std::vector<PlanOutcome>& outcomes) {
  std::set<std::string> currencies;
  for (const PlanOutcome& outcome : outcomes) {
    if (outcome.dollars) currencies.insert(outcome.currency);
  }
  return {currencies.begin(), currencies.end()};
}

void judge_points(PlanReport& report) {
  report.verdicts = find_front(report.outcomes, report.limits, report.goal);
  report.places = place_answers(report.outcomes, report.verdicts, report.goal);
  report.front = front_answer(report.outcomes, report.verdicts);
}

Json plan_to_json(const PlanReport& report) {
  Json json = {
      {"schema_version", plan_schema_version}, {"request", report.request}, {"epochs_of_a_job", report.epochs}};
  json["until"] = or_null(report.until);
  const PlanLimits& limits = report.limits;
  json["start_up_seconds"] = report.costs.start_up_seconds;
  json["billing_unit_seconds"] = report.costs.billing_unit_seconds;
  json["deadline_seconds"] = or_null(limits.deadline_seconds);
  json["budget"] = or_null(limits.budget);
  json["currency"] = currency_json(report);
  json["goal"] = goal_name(report.goal);
  json["best"] = report.best() == nullptr ? Json(nullptr) : Json(report.best()->point.id);
  json["points"] = Json::array();
  Json causes = Json::object();
  for (const PlanVerdict& verdict : report.verdicts) {
    json["points"].push_back(point_json(report, verdict));
    const std::string cause = verdict.kept ? "kept" : verdict.cause;
    causes[cause] = causes.value(cause, 0) + 1;
  }
  json["counts"] = causes;
  json["search"] = search_json(report.search);
  json["other_choices"] = other_choices_json(report);
  json["scaling"] = nullptr;
  if (report.study) {
    json["scaling"] = {{"summary", report.study->summary}, {"points", Json::array()}};
    for (const ScalingPoint& point : report.study->points) json["scaling"]["points"].push_back(scaling_json(point));
  }
  for (const std::string& rule : PlanAdviceRegistry::instance().names()) {
    const auto advice = report.advice.find(rule);
    json[rule] = advice == report.advice.end() ? Json(nullptr) : advice->second->to_json(report.outcomes);
  }
  add_brief(report, json);
  json["notes"] = all_notes(report);
  return json;
}

std::string plan_text(const PlanReport& report, std::optional<std::size_t> shown) {
  std::string text = subject_text(report);
  text += report.until.empty() ? fmt::format("{} points, a job is {} epochs\n", report.outcomes.size(), report.epochs)
                               : fmt::format("{} points, a job lasts until {}, {} epochs at most\n",
                                             report.outcomes.size(), report.until, report.epochs);
  text += search_text(report.search) + gpu_tables_text(report);
  text += report.best() == nullptr ? "no point is within the limits\n" : points_text(report, shown);
  if (!report.until.empty()) text += ways_text(report);
  if (const PlanOutcome* best = report.best(); best != nullptr)
    text += memory_text(*best) + choice_costs_text(choice_costs(report.outcomes, *best));
  text += discards_text(report);
  for (const auto& [rule, advice] : report.advice) text += advice->text(report.outcomes);
  if (report.study) text += study_text(*report.study);
  text += turning_text(report);
  std::vector<std::string> notes = all_notes(report);
  std::erase_if(notes, [](const std::string& note) {
    return marks_prediction(note) && note.rfind("extrapolated beyond", 0) != 0;
  });
  if (!notes.empty()) text += fmt::format("\nnotes\n  {}\n", fmt::join(notes, "\n  "));
  return text;
}

}  // namespace strobe
