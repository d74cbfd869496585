#include "results/answer/conclusion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/errors.hpp"
#include "results/answer/answer.hpp"

namespace strobe {
std::string conclusion_of(const std::vector<LoadedRun>& runs) {
  std::vector<Row> rows;
  for (const LoadedRun& run : runs) rows.insert(rows.end(), run.summary.rows.begin(), run.summary.rows.end());
  const std::string field = rows.size() < 2 ? "" : natural_field(rows);
  if (field.empty()) return "";
  try {
    const Answers answers = answer(runs, field);
    std::string text;
    for (const Answer& one : answers.questions) {
      if (answers.questions.size() > 1) text += title_of(one) + ": ";
      text += fmt::format("{}\n", fmt::join(one.sentences, " "));
    }
    return text;
  } catch (const NotComparable&) {
    return "";
  }
}

std::string conclusion_of(const std::vector<std::string>& folders,
                          const std::function<bool(const std::string&)>& wanted) {
  try {
    std::vector<LoadedRun> runs;
    for (const std::string& folder : folders) {
      runs.push_back(load_run(folder));
      std::erase_if(runs.back().summary.rows, [&](const Row& row) { return !wanted(row.case_id); });
    }
    return conclusion_of(runs);
  } catch (const Error&) {  // the table has been printed; `verify` says what is wrong with the files
    return "";
  }
}

Json answers_of(const std::vector<std::string>& folders) {
  try {
    std::vector<LoadedRun> runs;
    std::vector<Row> rows;
    for (const std::string& folder : folders) {
      runs.push_back(load_run(folder));
      rows.insert(rows.end(), runs.back().summary.rows.begin(), runs.back().summary.rows.end());
    }
    const std::string field = rows.size() < 2 ? "" : natural_field(rows);
    if (!field.empty()) return answers_to_json(answer(runs, field, {.allow_different_host = true}));
  } catch (const Error&) {  // no two rows compare, or a file cannot be read, which the program that draws says
  }
  return {};
}

WidestInterval widest_interval(const std::string& folder) {
  const LoadedRun run = load_run(folder);
  const std::string field = run.summary.rows.size() < 2 ? "" : natural_field(run.summary.rows);
  WidestInterval widest;
  if (field.empty()) return widest;
  try {
    for (const Answer& one : answer({run}, field).questions) {
      for (const Contender& other : one.contenders) {
        if (!std::isfinite(other.slower.ratio)) continue;
        const ConfidenceInterval interval = other.slower.interval;
        const double share = std::isfinite(interval.low) ? std::sqrt(interval.high / interval.low) - 1 : INFINITY;
        if (widest.of.empty() || share > widest.share) widest = {share, other.value, one.contenders.front().value};
      }
    }
  } catch (const NotComparable&) {  // no two cases differ in this field alone
  }
  return widest;
}

std::string conclusion_of(const std::string& folder) {
  return conclusion_of(std::vector<std::string>{folder}, [](const std::string&) { return true; });
}

}  // namespace strobe
