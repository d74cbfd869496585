#include "harness/training/make_plan.hpp"

#include <fmt/format.h>

#include "backends/wall_clock.hpp"
#include "core/system/process_memory.hpp"
#include "harness/training/planned_peak.hpp"

namespace strobe {
namespace {

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }

std::shared_ptr<const PlannedCase> planned(const Case& request, std::shared_ptr<const SchedulePlan> schedule,
                                           const std::string& note = "") {
  std::vector<std::string> notes = schedule->summary().notes;
  if (!note.empty()) notes.push_back(note);
  return std::make_shared<const PlannedCase>(PlannedCase{request, std::move(schedule), std::move(notes)});
}

/// Takes the first choice that fits.
std::shared_ptr<const PlannedCase> plan_within_memory(const Case& request, SchedulePlanner& planner) {
  std::uint64_t least = 0;
  std::int64_t choice_of_least = 0;
  bool any = false;
  for (const std::int64_t choice : planner.choices()) {
    std::shared_ptr<const SchedulePlan> schedule;
    try {
      schedule = planner.plan(choice);
    } catch (const InvalidRequest&) {
      if (!any) throw;
      break;  // the parts would have too few items for the strategy to divide
    }
    const PlannedPeak peak = planned_peak(*planned(request, schedule));
    if (peak.fits()) {
      return planned(request, schedule,
                     fmt::format("{}: planned peak {:.6f} GiB a rank", planner.chosen_text(choice), gib(peak.bytes)));
    }
    if (!any || peak.bytes < least) {
      least = peak.bytes;
      choice_of_least = choice;
    }
    any = true;
  }
  throw InvalidRequest("/memory_limit_gib",
                       fmt::format("no {} fits {} GiB a rank; the least is {:.6f} GiB, with {}", planner.choice_name(),
                                   request.memory_limit_gib, gib(least), planner.choice_text(choice_of_least)));
}

}  // namespace

std::shared_ptr<const PlannedCase> make_plan(const Case& request, PlanUse use, const DataCache& cache) {
  const double begin = wall_seconds();
  forget_process_memory();
  const std::unique_ptr<SchedulePlanner> planner = schedule_of(request).value.planner(request, use, cache);
  const auto plan = planner->leaves_open() ? plan_within_memory(request, *planner)
                                           : planned(request, planner->plan(planner->choices().front()));
  look_at_process_memory();
  PlannedCase timed = *plan;
  timed.load_seconds = wall_seconds() - begin;
  return std::make_shared<const PlannedCase>(std::move(timed));
}

}  // namespace strobe
