#include "harness/cli/submission/board_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/or_null.hpp"
#include "results/answer/answer.hpp"
#include "results/answer/case_difference.hpp"

namespace strobe {
namespace {

/// One configuration of an entry.
struct BoardLine {
  const BoardEntry* entry = nullptr;
  Candidate candidate;
  double seconds = 0;
  int place = 1;
  TimeRatio later;  // than the first line of its table
};

/// Workload, task, target, division, kind of times, machine.
using TableKey = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

TableKey table_key(const BoardEntry& entry, const Row& row, const Json& json) {
  return {value_at(json, "workload"), value_at(json, "task"), json.value("until", std::string()),
          entry.sender.division,      row.time_source,        machine_of(entry.entered, row)};
}

std::map<TableKey, std::vector<BoardLine>> lines_of(const std::vector<BoardEntry>& entries) {
  std::map<TableKey, std::vector<BoardLine>> tables;
  for (const BoardEntry& entry : entries) {
    std::map<std::string, std::pair<TableKey, std::size_t>> places;  // by configuration
    for (const Row& row : entry.entered.run.summary.rows) {
      const Json json = case_json_of(row);
      Json configuration = json;
      configuration.erase("seed");
      const TableKey key = table_key(entry, row, json);
      std::vector<BoardLine>& lines = tables[key];
      const auto [place, is_new] = places.emplace(configuration.dump(), std::pair{key, lines.size()});
      if (is_new) lines.push_back({&entry, {}, 0, 1, {}});
      lines[place->second.second].candidate.rows.push_back({&entry.entered.run, &row, json});
    }
  }
  return tables;
}

/// Whether `later` surely takes longer than `sooner`. Sets `ratio` to its time as a multiple of the other's.
bool surely_later(const BoardLine& sooner, const BoardLine& later, TimeRatio& ratio) {
  AnswerOptions options;
  options.allow_different_host = true;  // a table has one class of machine
  Question question;
  question.candidates = {sooner.candidate, later.candidate};
  question.candidates[0].label = "sooner", question.candidates[1].label = "later";
  for (const Contender& one : answer(question, "strategy", options).contenders)
    if (one.value == "later") ratio = one.later;
  return ratio.verdict == Verdict::slower;
}

double seconds_to_target(const Candidate& candidate) {
  double sum = 0;
  for (const PlacedRow& one : candidate.rows) sum += std::log(one.row->until->seconds);
  return std::exp(sum / static_cast<double>(candidate.rows.size()));
}

void give_places(std::vector<BoardLine>& lines) {
  for (BoardLine& line : lines) line.seconds = seconds_to_target(line.candidate);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const BoardLine& a, const BoardLine& b) { return a.seconds < b.seconds; });
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t j = i + 1; j < lines.size(); ++j) {
      TimeRatio ratio;
      if (surely_later(lines[i], lines[j], ratio)) ++lines[j].place;
      if (i == 0) lines[j].later = ratio;
    }
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const BoardLine& a, const BoardLine& b) { return a.place < b.place; });
}

Json line_json(const BoardLine& line, const std::vector<BoardLine>& lines) {
  const auto same =
      std::count_if(lines.begin(), lines.end(), [&](const BoardLine& o) { return o.place == line.place; });
  Json ids = Json::array();
  for (const PlacedRow& one : line.candidate.rows) ids.push_back(one.row->case_id);
  return {{"entry", line.entry->folder},
          {"case_ids", ids},
          {"seconds", line.seconds},
          {"place", line.place},
          {"tied", same > 1},
          {"times_the_first",
           {{"ratio", or_null(line.later.ratio)},
            {"ci99_low", or_null(line.later.interval.low)},
            {"ci99_high", or_null(line.later.interval.high)}}}};
}

}  // namespace

Json board_tables(const std::vector<BoardEntry>& entries) {
  Json tables = Json::array();
  for (auto& [key, lines] : lines_of(entries)) {
    give_places(lines);
    Json table_lines = Json::array();
    for (const BoardLine& line : lines) table_lines.push_back(line_json(line, lines));
    const auto& [workload, task, until, division, source, machine] = key;
    const Row& row = *lines.front().candidate.rows.front().row;
    tables.push_back({{"data", row.workload.value("name", "")},
                      {"workload", workload},
                      {"task", task},
                      {"until", until},
                      {"division", division},
                      {"times", source == "virtual" ? "predicted" : "measured"},
                      {"machine", machine},
                      {"lines", table_lines}});
  }
  return tables;
}

}  // namespace strobe
