// The report for people: tables of cases and of groups, means with the baseline's, goals, and the parts that explain
// the largest errors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/units.hpp"
#include "harness/validation/report_cells.hpp"
#include "harness/validation/validation_report.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

std::string tau_text(const std::optional<double>& tau) { return tau ? fmt::format("{:.2f}", *tau) : "-"; }

/// Phases that any judged case spends time in.
std::vector<std::size_t> phases_in_use(const Judgement& judgement) {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < phase_count; ++i) {
    const bool any = std::any_of(judgement.cases.begin(), judgement.cases.end(), [i](const CaseJudgement& one) {
      return one.judged && one.measured.phase_seconds &&
             ((*one.measured.phase_seconds)[i] > 0 || (*one.predicted.phase_seconds)[i] > 0);
    });
    if (any) used.push_back(i);
  }
  return used;
}

std::string verdict_of(const CaseJudgement& one) {
  if (one.judged) return one.bytes_differ.empty() ? "" : "bytes differ: " + one.bytes_differ;
  const auto side = [](const char* name, const Row& row) {
    return fmt::format("{} {}{}", name, row.status, row.reason.empty() ? "" : ": " + row.reason);
  };
  return side("measured", one.measured) + "; " + side("predicted", one.predicted);
}

std::string cases_table(const Judgement& judgement) {
  const std::vector<std::size_t> phases = phases_in_use(judgement);
  std::vector<TextTable::Column> columns = {{"group", false},    {"strategy", false}, {"measured", true},
                                            {"predicted", true}, {"error", true},     {"baseline", true}};
  for (const std::size_t i : phases) columns.push_back({std::string(phase_names[i]), true});
  for (const char* title : {"bytes", "memory"}) columns.push_back({title, true});
  columns.push_back({"in band", false});
  columns.push_back({"", false});
  TextTable table(columns);
  for (const CaseJudgement& one : judgement.cases) {
    std::vector<std::string> cells = {one.group, one.strategy};
    const auto add = [&](const std::string& text) { cells.push_back(one.judged ? text : "-"); };
    add(format_seconds(one.measured_seconds)), add(format_seconds(one.predicted_seconds));
    add(signed_percent(one.error)), add(signed_percent(one.baseline_error));
    for (const std::size_t i : phases) add(signed_percent(one.phase_error[i]));
    add(!one.bytes_equal ? "-" : *one.bytes_equal ? "0 %" : "differ"), add(signed_percent(one.memory_error));
    add(!one.within_band ? "-" : *one.within_band ? "yes" : "no");
    cells.push_back(verdict_of(one));
    table.add(cells);
  }
  return table.text();
}

std::string groups_table(const Judgement& judgement, bool is_void) {
  if (judgement.groups.empty()) return "no workload and model has two strategies to choose from\n";
  TextTable table("group|strategies>|tau-b>|fastest|picked||loss>|baseline tau-b>|baseline picks|loss>");
  for (const GroupJudgement& g : judgement.groups) {
    const std::string verdict = is_void         ? "void"
                                : !g.right      ? "wrong"
                                : g.by_interval ? "right, within the interval"
                                                : "right";
    table.add({g.group, std::to_string(g.strategies), tau_text(g.tau), g.best, g.picked, verdict, percent(g.loss),
               tau_text(g.baseline_tau), g.baseline_picked, percent(g.baseline_loss)});
  }
  return table.text() +
         "(a pick whose measured epoch lies within the 95 % interval of the fastest one's, and costs 5 % at most, "
         "counts "
         "as right)\n";
}

std::string overall_table(const Judgement& judgement) {
  TextTable table("over cases|mean>|max>|bias>|tau-b>|top strategy>");
  const auto add = [&table](const std::string& name, const ErrorSummary& errors, const std::string& tau,
                            const std::string& picks) {
    table.add(
        {name, percent(errors.mean_absolute), percent(errors.max_absolute), signed_percent(errors.bias), tau, picks});
  };
  add("epoch, strobe", judgement.epoch, tau_text(judgement.tau), share_text(judgement.picks));
  add("epoch, plain roofline plus ring", judgement.baseline, tau_text(judgement.baseline_tau),
      share_text(judgement.baseline_picks));
  for (const std::size_t i : phases_in_use(judgement)) {
    add(fmt::format("  {}, of the epoch", phase_names[i]), judgement.phases[i], "", "");
  }
  add("peak memory", judgement.memory, "", "");
  return table.text();
}

std::string goals_text(const Judgement& judgement, bool is_void) {
  TextTable table("goal|found|");
  for (const Goal& goal : judgement.goals)
    table.add({goal.what, goal.found, is_void ? "void" : goal.reached ? "reached" : "not reached"});
  return table.text();
}

std::string explanation(const CaseJudgement& one) {
  std::string text = fmt::format("  {}: {} ({} predicted, {} measured)\n", one.id, signed_percent(one.error),
                                 format_seconds(one.predicted_seconds), format_seconds(one.measured_seconds));
  for (const PartDifference& part : one.parts) {
    text += fmt::format("    {:<40} {:>9} predicted, {:>9} measured, {} of the epoch\n", part.part,
                        format_seconds(part.predicted_seconds), format_seconds(part.measured_seconds),
                        signed_percent(part.difference() / one.measured_seconds));
  }
  return text;
}

std::string left_out_text(const std::vector<LeftOut>& left_out) {
  std::string text;
  for (const auto& [cause, words] : {std::pair{"calibration", "used for calibration, so not judged"},
                                     {"cannot_run", "the cluster cannot simulate them"},
                                     {"not_measured", "the file has no measurement of them"},
                                     {"not_in_suite", "which the file has and the suite has not"},
                                     {"not_pledged", "measured, but not pledged"},
                                     {"other_cluster", "pledged for other clusters"}}) {
    std::vector<std::string> lines;
    for (const LeftOut& one : left_out) {
      if (one.cause == cause) lines.push_back(fmt::format("  {}: {}", one.id, one.reason));
    }
    if (!lines.empty()) text += fmt::format("\n{} left out, {}\n{}\n", lines.size(), words, fmt::join(lines, "\n"));
  }
  return text;
}

/// The pledge, and whether the run began later.
std::string pledge_lines(const ValidationReport& report) {
  const PledgeOrigin& pledge = *report.pledge;
  const std::string began = report.elsewhere ? report.elsewhere->began() : "";
  const auto missing = std::count_if(report.left_out.begin(), report.left_out.end(),
                                     [](const LeftOut& one) { return one.cause == "not_measured"; });
  return fmt::format("pledged: {}, {}, {}, SHA-256 {}\n{} points pledged, {} without a measurement; the run began {}\n",
                     pledge.path, pledge.date, pledge.program, pledge.sha256, pledge.points, missing,
                     began.empty()          ? "at a time that it does not say"
                     : began >= pledge.date ? began + ", after the pledge"
                                            : began + ", BEFORE the pledge");
}

/// Compares the machine's speed with the one in the cluster file. No prediction can account for the difference.
std::string machine_text(const std::vector<MachineShare>& machine) {
  if (machine.size() != 2) return "";
  return fmt::format(
      "this machine, as a share of what the cluster file says: products {:.2f} before and {:.2f} after, "
      "copies {:.2f} and {:.2f}\n",
      machine[0].flops, machine[1].flops, machine[0].memory, machine[1].memory);
}

}  // namespace

std::string signed_percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:+.1f} %", 100 * fraction) : std::string("-");
}

std::vector<const CaseJudgement*> largest_errors(const Judgement& judgement, std::size_t most) {
  std::vector<const CaseJudgement*> worst;
  for (const CaseJudgement& one : judgement.cases) {
    if (one.judged) worst.push_back(&one);
  }
  std::stable_sort(worst.begin(), worst.end(), [](const CaseJudgement* a, const CaseJudgement* b) {
    return std::abs(a->error) > std::abs(b->error);
  });
  if (worst.size() > most) worst.resize(most);
  return worst;
}

std::string validation_text(const ValidationReport& report, std::size_t explained) {
  const Judgement& judgement = report.judgement;
  std::string text = fmt::format("{} on {} ({}): {} cases, {} judged, {} failed\n\n", report.suite, report.cluster,
                                 report.calibrated ? "calibrated" : "NOT calibrated", judgement.cases.size(),
                                 judgement.judged, judgement.failed);
  const std::vector<std::string> reasons = void_reasons(report);
  if (report.elsewhere) text.insert(text.size() - 1, "measured elsewhere: " + report.elsewhere->what() + "\n");
  if (report.pledge) text.insert(text.size() - 1, pledge_lines(report));
  if (!reasons.empty()) {
    text += fmt::format("VOID, figures without verdicts: {}\n\n", fmt::join(reasons, "; "));
  }
  text += cases_table(judgement) + "(errors of phases are shares of the measured epoch)\n\n" +
          groups_table(judgement, !reasons.empty());
  text += "\n" + overall_table(judgement);
  if (judgement.judged == 0 || judgement.memory.count > 0) {
    text += fmt::format("predicted peak memory is below the measured one in {} of {} cases\n", judgement.below_peak,
                        judgement.memory.count);
  }
  text += machine_text(report.machine) + "\n" + goals_text(judgement, !reasons.empty());
  const auto worst = largest_errors(judgement, explained);
  if (!worst.empty()) {
    text += report.elsewhere ? "\nlargest errors (rows keep no operations that would explain them)\n"
                             : "\nlargest errors explained (means over ranks and epochs)\n";
  }
  for (const CaseJudgement* one : worst) text += explanation(*one);
  return text + left_out_text(report.left_out);
}

}  // namespace strobe
