#include "harness/training/make_plan.hpp"

#include <fmt/format.h>

#include "backends/wall_clock.hpp"
#include "core/system/process_memory.hpp"
#include "harness/training/host_memory.hpp"
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

/// The rule of the request, with its target as a value.
std::optional<UntilRule> until_of(const Case& request, const SchedulePlanner& planner) {
  if (request.until.empty()) return std::nullopt;
  const UntilRule rule = parse_until(request.until);
  return resolve_until(request, rule.is_target() ? planner.levels(rule.series()) : ReferenceLevels());
}

/// The choice that takes the least, among those that do not fit.
struct Least {
  double bytes = 0;
  std::string words;
  void add(double more, const std::string& words_of) {
    if (words.empty() || more < bytes) bytes = more, words = words_of;
  }
};

[[noreturn]] void refuse(const Case& request, const SchedulePlanner& planner, const Least& of_rank,
                         const Least& of_node, std::uint64_t limit_bytes) {
  if (!of_node.words.empty())
    throw InvalidRequest(host_limit_place,
                         fmt::format("no {} fits; the least is {}", planner.choice_name(), of_node.words));
  if (request.memory_limit_gib > 0)
    throw InvalidRequest("/memory_limit_gib",
                         fmt::format("no {} fits {} GiB a rank; the least is {}", planner.choice_name(),
                                     request.memory_limit_gib, of_rank.words));
  throw InvalidRequest("/nb", fmt::format("no {} fits the {:.2f} GiB of a GPU of {}; the least is {}; take more ranks",
                                          planner.choice_name(), gib(limit_bytes), request.cluster, of_rank.words));
}

/// Takes the first choice that fits.
std::shared_ptr<const PlannedCase> plan_within_memory(const Case& request, PlanUse use, SchedulePlanner& planner,
                                                      const NodeRanks& here, const ShareHolders& together) {
  Least of_rank, of_node;
  std::uint64_t limit_bytes = 0;
  for (const std::int64_t choice : planner.choices()) {
    std::shared_ptr<const SchedulePlan> schedule;
    try {
      together.together([&] { schedule = planner.plan(choice); });
    } catch (const InvalidRequest&) {
      if (of_rank.words.empty() && of_node.words.empty()) throw;
      break;  // the parts would have too few items for the strategy to divide
    }
    const std::shared_ptr<const PlannedCase> plan = planned(request, schedule);
    const PlannedPeak peak = planned_peak(*plan);
    limit_bytes = peak.limit_bytes;
    const HostVerdict host = judge_host_memory(*plan, peak, use, here, 0);
    const std::string text = planner.choice_text(choice);
    if (!peak.fits()) {
      of_rank.add(static_cast<double>(peak.bytes), fmt::format("{:.6f} GiB, with {}", gib(peak.bytes), text));
    } else if (!host.reason.empty()) {
      of_node.add(host.bytes, fmt::format("{}: {}", text, host.reason));
    } else {
      return planned(request, schedule,
                     fmt::format("{}: planned peak {:.6f} GiB a rank", planner.chosen_text(choice), gib(peak.bytes)));
    }
  }
  refuse(request, planner, of_rank, of_node, limit_bytes);
}

}  // namespace

std::shared_ptr<const PlannedCase> make_plan_here(const Case& request, PlanUse use, const DataCache& cache,
                                                  const NodeRanks& here) {
  const double begin = wall_seconds();
  forget_process_memory();
  // Processes gather their bytes after they have planned, so they first hear whether all of them could.
  const bool gathers = request.host_memory_limit_gib > 0 || request.nb == "auto";
  const ShareHolders together = gathers ? planning_processes(request, use) : ShareHolders();
  std::unique_ptr<SchedulePlanner> planner;
  std::shared_ptr<const PlannedCase> plan;
  std::optional<UntilRule> until;
  together.together([&] {
    planner = schedule_of(request).value.planner(request, use, cache);
    until = until_of(request, *planner);
  });
  if (planner->leaves_open())
    plan = plan_within_memory(request, use, *planner, here, together);
  else
    together.together([&] { plan = planned(request, planner->plan(planner->choices().front())); });
  look_at_process_memory();
  PlannedCase timed = *plan;
  timed.load_seconds = wall_seconds() - begin;
  timed.until = until;
  if (const std::string note = until ? note_on_target(*until, request.until) : ""; !note.empty())
    timed.notes.push_back(note);
  return std::make_shared<const PlannedCase>(std::move(timed));
}

std::shared_ptr<const PlannedCase> make_plan(const Case& request, PlanUse use, const DataCache& cache) {
  return make_plan_here(request, use, cache, {});
}

}  // namespace strobe
