// The text and JSON of a comparison.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/or_null.hpp"
#include "core/units.hpp"
#include "results/compare/compare.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

const char* outcome_name(GateOutcome outcome) {
  switch (outcome) {
    case GateOutcome::passed:
      return "passed";
    case GateOutcome::failed:
      return "failed";
    case GateOutcome::undecided:
      break;
  }
  return "not decided";
}

int false_verdicts(const SelfCheck& check) {
  int sum = 0;
  for (const char* verdict : {"FASTER", "SLOWER"})
    if (const auto found = check.verdicts.find(verdict); found != check.verdicts.end()) sum += found->second;
  return sum;
}

}  // namespace

Json compare_to_json(const CompareReport& report) {
  Json cases = Json::array();
  for (const Comparison& item : report.cases) {
    cases.push_back({{"case_id", item.case_id},
                     {"verdict", item.verdict},
                     {"base_seconds", or_null(item.base_seconds)},
                     {"new_seconds", or_null(item.new_seconds)},
                     {"ratio", or_null(item.ratio)},
                     {"ci95_low", or_null(item.ci95_low)},
                     {"ci95_high", or_null(item.ci95_high)},
                     {"ci99_low", or_null(item.ci99_low)},
                     {"ci99_high", or_null(item.ci99_high)},
                     {"base_rounds", item.base_rounds},
                     {"new_rounds", item.new_rounds},
                     {"note", item.note}});
  }
  return {{"cases", cases},
          {"geometric_mean_ratio", or_null(report.geometric_mean_ratio)},
          {"base_machine", machine_to_json(report.base_machine)},
          {"new_machine", machine_to_json(report.new_machine)},
          {"regression", report.outcome == GateOutcome::failed},
          {"outcome", outcome_name(report.outcome)},
          {"outcome_text", report.outcome_text}};
}

std::string compare_table(const CompareReport& report) {
  TextTable table("case|verdict|base>|new>|new/base>|99 % interval|note");
  for (const Comparison& item : report.cases) {
    const bool has_ratio = std::isfinite(item.ratio), has_interval = std::isfinite(item.ci99_low);
    table.add({item.case_id, item.verdict, has_ratio ? format_seconds(item.base_seconds) : "-",
               has_ratio ? format_seconds(item.new_seconds) : "-", has_ratio ? fmt::format("{:.3f}", item.ratio) : "-",
               has_interval ? fmt::format("{:.3f} .. {:.3f}", item.ci99_low, item.ci99_high) : "-", item.note});
  }
  std::string text = table.text();
  if (std::isfinite(report.geometric_mean_ratio)) {
    text += fmt::format("geometric mean of new/base: {:.3f}\n", report.geometric_mean_ratio);
  }
  for (const auto& [side, state] : {std::pair{"base", &report.base_machine}, {"new", &report.new_machine}})
    for (const std::string& note : machine_notes(*state, "rounds")) text += fmt::format("{}: {}\n", side, note);
  return text + report.outcome_text + "\n";
}

SelfCheck self_check(const std::string& base, const std::string& changed, CompareOptions options) {
  SelfCheck check;
  for (const Comparison& item : compare_runs(base, changed, options).cases) {
    if (!std::isfinite(item.ci99_low)) continue;
    ++check.judged;
    ++check.verdicts[item.verdict];
    check.widths.push_back(100 * (std::sqrt(item.ci99_high / item.ci99_low) - 1));
  }
  std::sort(check.widths.begin(), check.widths.end());
  options.planted_factor = planted_factor;
  for (const Comparison& item : compare_runs(base, changed, options).cases)
    if (std::isfinite(item.ci99_low) && item.verdict == "SLOWER") ++check.found_planted;
  return check;
}

Json self_check_to_json(const SelfCheck& check) {
  return {{"judged", check.judged},
          {"verdicts", check.verdicts},
          {"false_verdicts", false_verdicts(check)},
          {"half_widths_percent", check.widths},
          {"planted_percent", 10},
          {"planted_found", check.found_planted}};
}

std::string self_check_text(const SelfCheck& check) {
  if (check.judged == 0) return "no case has an interval: nothing can be said of this machine\n";
  std::string counts;
  for (const auto& [verdict, count] : check.verdicts)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, verdict);
  const auto at = [&](double share) {
    return check.widths[static_cast<std::size_t>(share * static_cast<double>(check.widths.size() - 1))];
  };
  return fmt::format(
      "the same program twice: {} verdicts ({}), {} of them false\n"
      "99 % intervals reach to either side: {:.2g} % in the narrowest case, {:.2g} % in the middle one, {:.2g} % in "
      "the "
      "widest\n"
      "the new side's times made 10 % longer: {} of {} called SLOWER\n",
      check.judged, counts, false_verdicts(check), check.widths.front(), at(0.5), check.widths.back(),
      check.found_planted, check.judged);
}

}  // namespace strobe
