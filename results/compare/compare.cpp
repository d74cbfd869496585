// Source of the method: Hoefler and Belli SC'15 (medians with intervals, never a bare difference of means); a change
// counts only when its interval excludes 1 and it exceeds the threshold. The interval is valid for processes of one
// machine; across machines it would be precise and wrong, which is why host classes are compared first.
// Cost: O(cases x resamples x epochs).
#include "results/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "core/errors.hpp"
#include "results/answer/case_difference.hpp"
#include "results/answer/kind_facts.hpp"

namespace strobe {
namespace {

void refuse_different_work(const Row& base, const Row& changed) {
  for (const auto& [name, same] :
       {std::pair{"workload", base.workload == changed.workload}, std::pair{"model", base.model == changed.model}}) {
    if (!same) throw NotComparable(fmt::format("case {}: the {} of the two runs differs", base.case_id, name));
  }
}

std::string status_text(const Row& row) {
  return row.reason.empty() ? row.status : fmt::format("{} ({})", row.status, row.reason);
}

std::string in_capitals(std::string word) {
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

void compare_times(const LoadedRun& base, const Row& before, const LoadedRun& changed, const Row& after,
                   const CompareOptions& options, Comparison& result) {
  Trials old_side{{0, trial_of(base, before)}}, new_side{{0, trial_of(changed, after)}};
  for (auto& [round, seconds] : new_side.at(0).rounds)
    for (double& value : seconds) value *= options.planted_factor;
  keep_common({&old_side, &new_side});
  if (before.time_source == "wall") result.base_rounds = static_cast<int>(old_side.at(0).rounds.size());
  if (after.time_source == "wall") result.new_rounds = static_cast<int>(new_side.at(0).rounds.size());
  const TimeRatio found = compare_trials(old_side, new_side, options);
  result.base_seconds = level_of(old_side);
  result.new_seconds = level_of(new_side);
  result.ratio = found.ratio;
  result.ci95_low = found.interval95.low, result.ci95_high = found.interval95.high;
  result.ci99_low = found.interval.low, result.ci99_high = found.interval.high;
  result.verdict = in_capitals(verdict_name(found.verdict));
  result.note = found.note;
  result.fails = found.verdict == Verdict::slower;
}

void add_note(std::string& note, const std::string& more) {
  if (!more.empty()) note += (note.empty() ? "" : "; ") + more;
}

MachineState machine_of(const LoadedRun& run) {
  MachineState state;
  for (const Row& row : run.summary.rows)
    if (row.machine) state.add(*row.machine);
  return state;
}

/// A row that did not end ok, on one side or both. A combination that cannot run was never measured, so it cannot get
/// worse.
void tell_status(const Row& before, const Row& after, Comparison& result) {
  if (before.status == "ok" && after.status == "ok") {
    result.note = fmt::format("the row of {} has no epoch_seconds", before.epoch_seconds ? "new" : "base");
    return;
  }
  result.note = fmt::format("status {} before, {} now", status_text(before), status_text(after));
  if (after.status == "ok") {
    result.verdict = "NEW";
    return;
  }
  result.verdict = in_capitals(after.status);
  result.fails = after.status != "skipped" || before.status != "skipped";
}

bool is_verdict(const std::string& word) { return word == "FASTER" || word == "SLOWER" || word == "SAME"; }

const char* have(int count) { return count == 1 ? "has" : "have"; }

/// "2 SLOWER, 1 MISSING", in the order of the cases.
std::string failures_text(const std::vector<Comparison>& cases) {
  std::vector<std::pair<std::string, int>> counts;
  for (const Comparison& item : cases) {
    if (!item.fails) continue;
    auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& one) { return one.first == item.verdict; });
    if (found == counts.end()) found = counts.insert(counts.end(), {item.verdict, 0});
    ++found->second;
  }
  std::string text;
  for (const auto& [word, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  return text;
}

void judge(CompareReport& report, int min_verdicts) {
  int comparable = 0, verdicts = 0;
  for (const Comparison& item : report.cases) {
    verdicts += is_verdict(item.verdict) ? 1 : 0;
    comparable += is_verdict(item.verdict) || item.verdict == "UNSURE" ? 1 : 0;
  }
  const int wanted = min_verdicts == all_verdicts ? std::max(1, comparable) : min_verdicts;
  const std::string counts = fmt::format("{} of {} case{} that both runs measured {} a verdict", verdicts, comparable,
                                         comparable == 1 ? "" : "s", have(verdicts));
  if (const std::string failures = failures_text(report.cases); !failures.empty()) {
    report.outcome = GateOutcome::failed;
    report.outcome_text = "failed: " + failures + (comparable > 0 ? "; " + counts : "");
  } else if (verdicts < wanted) {
    report.outcome = GateOutcome::undecided;
    report.outcome_text = fmt::format(
        "not decided: {}, but at least {} must; measure both with strobe run --rounds 5 or more, or with strobe "
        "compare "
        "--rerun",
        counts, wanted);
  } else {
    report.outcome = GateOutcome::passed;
    report.outcome_text = fmt::format("passed: {}, and none is slower", counts);
    if (verdicts < comparable) report.outcome_text += "; --min-verdicts all asks for all of them";
  }
}

void close_report(CompareReport& report, const CompareOptions& options) {
  double logs = 0;
  int count = 0;
  for (const Comparison& item : report.cases) {
    if (std::isfinite(item.ratio) && item.ratio > 0) {
      logs += std::log(item.ratio);
      ++count;
    }
  }
  if (count > 0) report.geometric_mean_ratio = std::exp(logs / count);
  judge(report, options.min_verdicts);
}

}  // namespace

Comparison compare_rows(const LoadedRun& base, const Row& before, const LoadedRun& changed, const Row& after,
                        const CompareOptions& options) {
  Comparison result;
  result.case_id = before.case_id;
  result.verdict = "UNSURE";
  if (before.status != "ok" || after.status != "ok" || !before.epoch_seconds || !after.epoch_seconds) {
    tell_status(before, after, result);
    return result;
  }
  compare_times(base, before, changed, after, options, result);
  for (const std::string& fact : differing_facts({{"base", &before.facts}, {"new", &after.facts}}))
    add_note(result.note, fact);
  if (before.machine && after.machine) add_note(result.note, machine_difference(*before.machine, *after.machine));
  return result;
}

namespace {

/// A case that one run has and the other has not.
Comparison one_sided(const Row& row, const char* verdict, const std::vector<CaseOfRow>& others) {
  Comparison result;
  result.case_id = row.case_id;
  result.verdict = verdict;
  result.fails = result.verdict == "MISSING";
  result.note = nearest_text(row, others);
  return result;
}

Comparison compare_case(const LoadedRun& base, const Row& before, const LoadedRun& changed, const Row& after,
                        const CompareOptions& options) {
  refuse_different_work(before, after);
  const bool wall = before.time_source == "wall" || after.time_source == "wall";
  if (wall && !options.allow_different_host) refuse_different_hosts(base, changed);
  const std::string unknown_data = compare_data(base, before, changed);
  Comparison result = compare_rows(base, before, changed, after, options);
  add_note(result.note, unknown_data);
  return result;
}

[[noreturn]] void refuse_without_common_case(const LoadedRun& base, const LoadedRun& changed) {
  std::string why;
  if (!base.summary.rows.empty() && !changed.summary.rows.empty()) {
    const Row& first = base.summary.rows.front();
    why = fmt::format("; of {}, {} (--by KEY compares cases that differ in one field)", first.case_id,
                      nearest_text(first, cases_of(changed.summary.rows)));
  }
  throw NotComparable(fmt::format("{} and {} have no case in common{}", base.folder, changed.folder, why));
}

}  // namespace

CompareReport compare_runs(const std::string& base_path, const std::string& changed_path,
                           const CompareOptions& options) {
  if (!(options.threshold >= 0))
    throw InvalidRequest("--threshold", "the threshold must be a number that is not negative");
  const LoadedRun base = load_run(base_path), changed = load_run(changed_path);
  const std::vector<CaseOfRow> base_cases = cases_of(base.summary.rows), new_cases = cases_of(changed.summary.rows);
  CompareReport report;
  bool any_match = false;
  for (const Row& before : base.summary.rows) {
    const Row* after = changed.find(before.case_id);
    report.cases.push_back(after == nullptr ? one_sided(before, "MISSING", new_cases)
                                            : compare_case(base, before, changed, *after, options));
    any_match = any_match || after != nullptr;
  }
  for (const Row& after : changed.summary.rows)
    if (base.find(after.case_id) == nullptr) report.cases.push_back(one_sided(after, "NEW", base_cases));
  if (!any_match) refuse_without_common_case(base, changed);
  close_report(report, options);
  report.base_machine = machine_of(base);
  report.new_machine = machine_of(changed);
  return report;
}

}  // namespace strobe
