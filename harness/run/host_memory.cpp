#include "harness/run/host_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/system/process_memory.hpp"
#include "core/units.hpp"
#include "harness/hybrid_batches/graph_bytes.hpp"
#include "harness/process/narrate.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/training/host_room.hpp"
#include "harness/training/planned_peak.hpp"

namespace strobe {
namespace {

constexpr const char* limit_place = "/host_memory_limit_gib";

double limit_bytes(const Case& c) { return c.host_memory_limit_gib * 1024 * 1024 * 1024; }

double sum_of(const PerMemoryPart<std::uint64_t>& parts) {
  return static_cast<double>(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}));
}

/// Mean peak of the node's ranks; 0 when their devices have memory of their own.
double rank_bytes(const PlannedCase& plan, const NodeRanks& here) {
  if (!is_on_host(plan.request.device)) return 0;
  const std::vector<PerMemoryPart<std::uint64_t>> peaks = planned_peak(plan).parts;
  double sum = 0;
  for (const Rank rank : here.ranks) sum += sum_of(peaks.at(rank));
  if (!here.ranks.empty()) return sum / static_cast<double>(here.ranks.size());
  for (const auto& peak : peaks) sum += sum_of(peak);
  return sum / static_cast<double>(peaks.size());
}

/// Checks planning after it is over: the most memory of this process, as measured, with others that hold `held`.
void check_planning(const PlannedCase& plan, const NodeRanks& here, double held) {
  const double most = static_cast<double>(most_process_memory()), limit = limit_bytes(plan.request);
  const double bytes = most + static_cast<double>(here.processes - 1) * held;
  if (here.program_bytes <= 0 || bytes <= limit) return;
  const HostRoom room = host_room({most - held, held, 0, 0}, plan.request.ranks, here.nodes, limit);
  throw InvalidRequest(limit_place,
                       fmt::format("planning took {} of a node's memory, and the limit is {}; {}", format_bytes(bytes),
                                   format_bytes(limit), enough_nodes(room, plan.request.ranks)));
}

}  // namespace

NodeRanks ranks_of_node(const Ranks& ranks) {
  NodeRanks here;
  here.program_bytes = static_cast<double>(process_memory_bytes());
  if (!ranks.several()) return here;
  const std::vector<std::string>& hosts = ranks.hosts();
  const std::string own = host_name();
  here.nodes = static_cast<std::int64_t>(std::set<std::string>(hosts.begin(), hosts.end()).size());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (hosts[rank] == own) here.ranks.push_back(static_cast<Rank>(rank));
  here.processes = std::max<std::int64_t>(1, static_cast<std::int64_t>(here.ranks.size()));
  return here;
}

bool any_limits_host(const std::vector<Case>& cases) {
  return std::any_of(cases.begin(), cases.end(), [](const Case& c) { return c.host_memory_limit_gib > 0; });
}

void check_room_to_read(const Case& request) {
  if (request.host_memory_limit_gib <= 0 || family_of(request.model) != "snapshots") return;
  if (schedule_of(request).name == "external") return;  // the other program reads its own data
  const auto counts = foreseen_counts(request.workload);
  if (!counts) return;
  const ModelChoice choice = choose_model(request);
  const double raw = graph_bytes(*counts, choice.equations->preparation(), choice.fp64).raw;
  if (raw <= limit_bytes(request)) return;
  throw InvalidRequest(limit_place,
                       fmt::format("the graph takes at least {} while it is made or read, and the limit is {}; more "
                                   "nodes do not help",
                                   format_bytes(raw), format_bytes(limit_bytes(request))));
}

void check_host_memory(const PlannedCase& plan, const NodeRanks& here) {
  const double limit = limit_bytes(plan.request);
  if (limit <= 0 || plan.schedule->is_outside()) return;
  const double held = sum_of(plan.schedule->host_parts());
  check_planning(plan, here, here.program_bytes + held);
  const double rank = rank_bytes(plan, here);
  const std::int64_t ranks = plan.request.ranks,
                     together = here.ranks.empty() ? ranks : static_cast<std::int64_t>(here.ranks.size());
  const double bytes =
      static_cast<double>(here.processes) * (here.program_bytes + held) + static_cast<double>(together) * rank;
  if (bytes <= limit) return;
  const HostRoom room = host_room({0, here.program_bytes + held, rank, 0}, ranks, here.nodes, limit);
  throw InvalidRequest(
      limit_place, fmt::format("training takes {} of a node's memory ({} for each of {}, {} held by its plan and {} of "
                               "program for each of {}), and the limit is {}; {}, or take more blocks (nb)",
                               format_bytes(bytes), format_bytes(rank), counted(together, "rank"), format_bytes(held),
                               format_bytes(here.program_bytes), counted(here.processes, "process"),
                               format_bytes(limit), enough_nodes(room, ranks)));
}

}  // namespace strobe
