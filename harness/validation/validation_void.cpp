// Decides when a validation allows no verdict. Returns the reasons in words, ceilings first, and the exit status. Cost:
// O(cases).
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/validation/report_cells.hpp"
#include "harness/validation/validation_report.hpp"

namespace strobe {
namespace {

constexpr double most_drift = 0.05, most_spread = 0.20;

std::size_t wide_cases(const Judgement& judgement) {
  std::size_t wide = 0;
  for (const CaseJudgement& one : judgement.cases) {
    if (!one.judged) continue;
    const EpochSeconds& epoch = *one.measured.epoch_seconds;  // its interval is NaN with few epochs
    wide += std::isfinite(epoch.ci95_high) && epoch.ci95_high - epoch.ci95_low > most_spread * epoch.median;
  }
  return wide;
}

/// Why nothing shows that the run began after its pledge; "" when something does.
std::string not_after_pledge(const ValidationReport& report) {
  if (!report.pledge || !report.elsewhere) return "";
  const std::string begun = report.elsewhere->began();
  if (begun.empty())
    return "the run does not say when it began (date_utc in env.json), so it may be older than the pledge";
  if (begun >= report.pledge->date) return "";
  return fmt::format("the run began {}, before the pledge of {}", begun, report.pledge->date);
}

}  // namespace

std::vector<std::string> void_reasons(const ValidationReport& report) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < report.machine.size(); ++i) {
    const char* const when = i == 0 ? "before" : "after";
    for (const auto& [what, share] :
         {std::pair{"products", report.machine[i].flops}, {"copies", report.machine[i].memory}}) {
      if (std::abs(share - 1) <= most_drift) continue;
      reasons.push_back(fmt::format("{} ran at {:.2f} of the cluster file's rate {} the cases", what, share, when));
    }
  }
  const std::size_t wide = wide_cases(report.judgement);
  // A cluster that is not calibrated describes other hardware. A quieter machine would not make its errors meaningful.
  if (report.calibrated && wide > 0 && 2 * wide >= report.judgement.judged) {
    reasons.push_back(fmt::format("the 95 % interval of the epochs of {} of {} cases is wider than {} of their median",
                                  wide, report.judgement.judged, percent(most_spread)));
  }
  if (const std::string why = not_after_pledge(report); !why.empty()) reasons.push_back(why);
  return reasons;
}

int validation_status(const ValidationReport& report) {
  const Judgement& found = report.judgement;
  if (found.bytes_wrong > 0 || found.failed > 0 || found.judged == 0) return 1;
  constexpr int void_status = 6;
  return void_reasons(report).empty() ? 0 : void_status;
}

}  // namespace strobe
