#include "harness/advisor/gpu_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/advisor/scaling.hpp"
#include "results/answer/case_difference.hpp"

namespace strobe {
namespace {

/// Positions of outcomes by their number of GPUs.
using Members = std::map<std::int64_t, std::vector<std::size_t>>;

/// Points of one cluster and one model.
struct Contest {
  const PlanPoint* first = nullptr;
  Members members;
};

std::vector<Contest> contests_of(const std::vector<PlanOutcome>& outcomes) {
  std::vector<Contest> contests;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const PlanPoint& point = outcomes[i].point;
    auto own = std::find_if(contests.begin(), contests.end(), [&](const Contest& one) {
      return one.first->cluster == point.cluster && one.first->request.model == point.request.model;
    });
    if (own == contests.end()) own = contests.insert(own, {&point, {}});
    own->members[point.request.ranks].push_back(i);
  }
  return contests;
}

GpuRow row_of(const std::vector<PlanOutcome>& outcomes, const std::vector<std::size_t>& members,
              const PlanLimits& limits, PlanGoal goal) {
  std::vector<PlanOutcome> own;
  for (const std::size_t i : members) own.push_back(outcomes[i]);
  const std::vector<PlanVerdict> verdicts = find_front(own, limits, goal);
  const PlanVerdict& first = verdicts.front();
  GpuRow row;
  row.ranks = own.front().point.request.ranks;
  row.nodes = own.front().point.nodes;
  if (first.kept)
    row.best = members[first.index];
  else
    row.refusal = fmt::format("{}: {}", first.cause, first.reason);
  return row;
}

/// Where an epoch is shortest, and what keeps more GPUs from making it shorter.
std::string why_it_stops(const std::vector<PlanOutcome>& outcomes, const std::vector<GpuRow>& rows,
                         const DataCache& cache) {
  std::vector<const PlanOutcome*> best;
  for (const GpuRow& row : rows) {
    if (row.best) best.push_back(&outcomes[*row.best]);
  }
  if (best.empty()) return "no number of GPUs has a point within the limits";
  if (best.size() == 1) return "only one number of GPUs has a point within the limits";
  const auto shortest = std::min_element(best.begin(), best.end(), [](const PlanOutcome* a, const PlanOutcome* b) {
    return a->epoch_seconds < b->epoch_seconds;
  });
  const std::int64_t ranks = (*shortest)->point.request.ranks;
  const bool last = shortest + 1 == best.end();
  const PlanOutcome *few = last ? *(shortest - 1) : *shortest, *many = last ? *shortest : *(shortest + 1);
  return fmt::format("an epoch is shortest on {} GPU{}{}: {}", ranks, ranks == 1 ? "" : "s",
                     last ? ", the most with a point" : "", step_between(few->point, many->point, cache));
}

GpuTable table_of(const std::vector<PlanOutcome>& outcomes, const Contest& contest, const PlanLimits& limits,
                  PlanGoal goal, const DataCache& cache) {
  GpuTable table;
  table.cluster = contest.first->cluster;
  table.model = value_at({{"model", contest.first->request.model}}, "model");
  const PlanOutcome* base = nullptr;
  for (const auto& [ranks, members] : contest.members) {
    table.rows.push_back(row_of(outcomes, members, limits, goal));
    if (!table.rows.back().best) continue;
    const PlanOutcome& own = outcomes[*table.rows.back().best];
    if (base == nullptr) base = &own;
    table.rows.back().efficiency = base->epoch_seconds * static_cast<double>(base->point.request.ranks) /
                                   (own.epoch_seconds * static_cast<double>(ranks));
  }
  if (base != nullptr)
    table.against = fmt::format("{} GPU{} ({})", base->point.request.ranks, base->point.request.ranks == 1 ? "" : "s",
                                base->point.request.strategy.at("name").get<std::string>());
  table.why = why_it_stops(outcomes, table.rows, cache);
  return table;
}

}  // namespace

std::vector<GpuTable> gpu_tables(const std::vector<PlanOutcome>& outcomes, const PlanLimits& limits, PlanGoal goal,
                                 const DataCache& cache) {
  std::vector<GpuTable> tables;
  for (const Contest& contest : contests_of(outcomes))
    tables.push_back(table_of(outcomes, contest, limits, goal, cache));
  return tables;
}

}  // namespace strobe
