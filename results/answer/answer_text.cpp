// Answers as JSON and as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/or_null.hpp"
#include "core/units.hpp"
#include "results/answer/answer.hpp"
#include "results/answer/first_in_draws.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

Json known_or_null(double count) { return count > 0 ? Json(count) : Json(nullptr); }

Json ratio_json(const TimeRatio& times) {
  return {{"ratio", or_null(times.ratio)},
          {"ci99_low", or_null(times.interval.low)},
          {"ci99_high", or_null(times.interval.high)},
          {"band90_low", times.band ? Json(times.band->low) : Json(nullptr)},
          {"band90_high", times.band ? Json(times.band->high) : Json(nullptr)},
          {"draws", times.draws},
          {"verdict", times.verdict == Verdict::none ? Json(nullptr) : Json(verdict_name(times.verdict))},
          {"note", times.note}};
}

/// A number and its 95 % interval; null without a value.
Json level_json(double value, double half95) {
  if (!std::isfinite(value)) return nullptr;
  return {{"value", value}, {"ci95_low", or_null(value - half95)}, {"ci95_high", or_null(value + half95)}};
}

Json contender_json(const Contender& one) {
  const EpochWork& work = one.work;
  return {{"value", one.value},
          {"case_ids", one.case_ids},
          {"runs", one.runs},
          {"seeds", one.seeds},
          {"rounds", one.rounds},
          {"time_source", one.simulated ? "virtual" : "wall"},
          {"work",
           {{"cells", known_or_null(work.cells)},
            {"edges", known_or_null(work.edges)},
            {"events", known_or_null(work.events)},
            {"updates", known_or_null(work.updates)}}},
          {"epoch_seconds", or_null(one.seconds)},
          {"unit_seconds", or_null(one.unit_seconds)},
          {"times_the_fastest", ratio_json(one.slower)},
          {"until_seconds", or_null(one.until_seconds)},
          {"until_reached", one.until_reached},
          {"times_the_first", ratio_json(one.later)},
          {"metric", level_json(one.metric.mean, one.metric.half95)},
          {"metric_worse", level_json(one.metric.worse, one.metric.worse_half95)},
          {"draws_first", or_null(one.draws_first)},
          {"draws_until_first", or_null(one.draws_until_first)},
          {"facts", one.facts},
          {"note", one.note}};
}

std::string ratio_cell(bool first, const TimeRatio& times) {
  return first ? "1" : std::isfinite(times.ratio) ? fmt::format("{:.3f}", times.ratio) : "-";
}

std::string interval_cell(const TimeRatio& times) {
  if (times.band)
    return fmt::format("{:.3f} .. {:.3f} (90 % {})", times.band->low, times.band->high,
                       times.draws > 0 ? "of draws" : "bands");
  return std::isfinite(times.interval.low) ? fmt::format("{:.3f} .. {:.3f}", times.interval.low, times.interval.high)
                                           : "-";
}

std::string time_cell(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  return seconds < 1e-6 ? fmt::format("{:.3g} ns", seconds * 1e9) : format_seconds(seconds);
}

std::string note_of(const Contender& one) {
  std::string note = one.note;
  if (!one.slower.note.empty()) note += (note.empty() ? "" : "; ") + one.slower.note;
  return note;
}

std::vector<std::string> cells_of(const Answer& answer, const Contender& one, bool per_unit) {
  const bool first = &one == &answer.contenders.front() && std::isfinite(one.unit_seconds);
  std::vector<std::string> cells{one.value, time_cell(one.seconds)};
  if (per_unit) cells.push_back(time_cell(one.unit_seconds));
  cells.insert(cells.end(), {ratio_cell(first, one.slower), interval_cell(one.slower)});
  if (!answer.until.empty())
    cells.push_back(std::isfinite(one.until_seconds) ? format_seconds(one.until_seconds) : "not reached");
  if (!answer.metric.empty()) cells.push_back(metric_text(one.metric.mean, one.metric.half95));
  for (const auto& [draws, count] :
       {std::pair{answer.draws, one.draws_first}, {answer.until_draws, one.draws_until_first}})
    if (draws > 0) cells.push_back(std::isfinite(count) ? draws_text(count, draws) : "-");
  cells.push_back(note_of(one));
  return cells;
}

std::string table_of(const Answer& answer) {
  const bool per_unit = answer.unit != WorkUnit::epoch && answer.unit != WorkUnit::none;
  std::string titles = answer.field + "|epoch>";
  if (per_unit) titles += fmt::format("|per {}>", unit_name(answer.unit));
  titles += "|times the fastest>|99 % interval";
  if (!answer.until.empty()) titles += fmt::format("|to {}>", answer.until);
  if (!answer.metric.empty()) titles += fmt::format("|{}>", answer.metric);
  if (answer.draws > 0) titles += "|fastest";
  if (answer.until_draws > 0) titles += fmt::format("|first at {}", answer.until);
  TextTable table(titles + "|note");
  for (const Contender& one : answer.contenders) table.add(cells_of(answer, one, per_unit));
  return table.text();
}

/// Units and help of the keys under "facts" of contenders.
Json fact_table(const Answers& answers) {
  std::vector<const KindFacts*> all;
  for (const Answer& answer : answers.questions)
    for (const Contender& one : answer.contenders) all.push_back(&one.facts);
  Json table = Json::array();
  for (const FactField& field : stated_facts(all))
    table.push_back({{"key", field.key}, {"unit", field.unit}, {"help", field.help}});
  return table;
}

}  // namespace

std::string title_of(const Answer& answer) {
  std::vector<std::string> parts = answer.common;
  std::erase_if(parts, [](const std::string& part) {
    const std::string field = part.substr(0, part.find(' '));
    return field == "ranks" || field == "device" || field == "comm" || field == "cluster" || field == "numerics";
  });
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json answers_to_json(const Answers& answers) {
  Json questions = Json::array();
  for (const Answer& answer : answers.questions) {
    Json contenders = Json::array();
    for (const Contender& one : answer.contenders) contenders.push_back(contender_json(one));
    questions.push_back({{"common", answer.common},
                         {"title", title_of(answer)},
                         {"unit", answer.unit == WorkUnit::none ? Json(nullptr) : Json(unit_name(answer.unit))},
                         {"until", answer.until.empty() ? Json(nullptr) : Json(answer.until)},
                         {"metric", answer.metric.empty() ? Json(nullptr) : Json(answer.metric)},
                         {"draws", answer.draws},
                         {"until_draws", answer.until_draws},
                         {"contenders", contenders},
                         {"sentences", answer.sentences},
                         {"why", answer.why},
                         {"facts", answer.facts}});
  }
  Json alone = Json::array();
  for (const Unpaired& one : answers.alone) alone.push_back({{"case_id", one.case_id}, {"nearest", one.nearest}});
  return {{"by", answers.field}, {"questions", questions}, {"alone", alone}, {"facts", fact_table(answers)}};
}

std::string answers_text(const Answers& answers) {
  std::string text;
  for (const Answer& answer : answers.questions) {
    text += fmt::format("{}{}:\n{}{}\n", text.empty() ? "" : "\n", fmt::join(answer.common, ", "), table_of(answer),
                        fmt::join(answer.sentences, "\n"));
    if (!answer.why.empty()) text += answer.why + "\n";
    for (const std::string& fact : answer.facts) text += fact + ".\n";
  }
  for (const Unpaired& one : answers.alone)
    text += fmt::format("\n{} has no case to compare with: {}\n", one.case_id, one.nearest);
  return text;
}

}  // namespace strobe
