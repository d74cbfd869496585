#include "harness/training/make_plan.hpp"

#include <fmt/format.h>

#include <map>

#include "backends/wall_clock.hpp"
#include "core/system/process_memory.hpp"
#include "harness/training/first_fit.hpp"
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

/// The choices of a case that memory decides, planned one by one.
class ChoicesWithinMemory {
 public:
  ChoicesWithinMemory(const Case& request, PlanUse use, SchedulePlanner& planner, const NodeRanks& here,
                      const ShareHolders& together)
      : request_(request), use_(use), planner_(planner), here_(here), together_(together), all_(planner.choices()) {}

  /// Takes the first choice that fits.
  std::shared_ptr<const PlannedCase> first() {
    const auto found = first_fit(all_.size(), [this](std::size_t i) { return shortfall(i); });
    if (!found) refuse(request_, planner_, of_rank_, of_node_, limit_bytes_);
    return fitting_.at(*found);
  }

 private:
  enum Limit : std::uint8_t { none, of_host, of_device, of_division };

  Shortfall shortfall(std::size_t i) {
    std::shared_ptr<const SchedulePlan> schedule;
    try {
      together_.together([&] { schedule = planner_.plan(all_[i]); });
    } catch (const InvalidRequest&) {
      if (i == 0) throw;
      return {of_division, 0};  // the parts would have too few items for the strategy to divide
    }
    const std::shared_ptr<const PlannedCase> plan = planned(request_, schedule);
    const PlannedPeak peak = planned_peak(*plan);
    limit_bytes_ = peak.limit_bytes;
    const HostVerdict host = judge_host_memory(*plan, peak, use_, here_, 0);
    const std::string text = planner_.choice_text(all_[i]);
    if (!peak.fits()) {
      of_rank_.add(static_cast<double>(peak.bytes), fmt::format("{:.6f} GiB, with {}", gib(peak.bytes), text));
      return {of_device, static_cast<double>(peak.bytes)};
    }
    if (!host.reason.empty()) {
      of_node_.add(host.bytes, fmt::format("{}: {}", text, host.reason));
      return {of_host, host.bytes};
    }
    const std::string note = planner_.chosen_text(all_[i]);
    fitting_[i] = planned(request_, schedule, fmt::format("{}: planned peak {:.6f} GiB a rank", note, gib(peak.bytes)));
    return {none, 0};
  }

  const Case& request_;
  PlanUse use_;
  SchedulePlanner& planner_;
  const NodeRanks& here_;
  const ShareHolders& together_;
  const std::vector<std::int64_t> all_;
  Least of_rank_, of_node_;
  std::uint64_t limit_bytes_ = 0;
  std::map<std::size_t, std::shared_ptr<const PlannedCase>> fitting_;
};

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
    plan = ChoicesWithinMemory(request, use, *planner, here, together).first();
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
