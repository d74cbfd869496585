// Splits simulated epochs by cause.
// For each node count, returns the mean over ranks of blocking spans. Time outside spans is `other`. The difference
// from the slowest rank's epoch is waiting, so the parts add up to the epoch. Cost: five simulated epochs.
#include "harness/advisor/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/units.hpp"
#include "harness/advisor/evaluate.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {
namespace {

/// Smaller shares cannot speed up operations that take less than this times the launch time.
constexpr double launch_slack = 1.01;

/// Each rank's sample of the one measured epoch, by rank.
std::vector<EpochSample> measured(const CaseResult& result) {
  std::vector<EpochSample> samples;
  for (const EpochSample& sample : result.samples) {
    if (!sample.warmup) samples.push_back(sample);
  }
  return samples;
}

/// Adds one rank's spans in its epoch, divided by `ranks`.
void add_spans(const std::vector<Span>& spans, double launch_seconds, double ranks, ScalingPoint& point) {
  for (const Span& span : spans) {
    if (!span.blocking) continue;
    const double seconds = (span.end_seconds - span.begin_seconds) / ranks;
    if (span.phase == Phase::compute) {
      point.compute_seconds += seconds;
      const bool launch_bound = span.end_seconds - span.begin_seconds <= launch_seconds * launch_slack;
      if (launch_bound) point.launch_bound_seconds += seconds;
    } else if (span.phase == Phase::communicate) {
      point.communicate_seconds[span.traffic] += seconds;
    } else if (span.phase == Phase::transfer) {
      point.transfer_seconds += seconds;
    } else if (span.phase == Phase::wait) {
      point.wait_seconds += seconds;
    }
  }
}

double known_seconds(const ScalingPoint& point) {
  double sum = point.compute_seconds + point.transfer_seconds + point.wait_seconds;
  for (const double seconds : point.communicate_seconds) sum += seconds;
  return sum;
}

void split(const std::vector<EpochSample>& samples, const std::vector<std::vector<Span>>& spans, double launch_seconds,
           ScalingPoint& point) {
  double slowest = 0, busy = 0, busiest = 0, mean = 0;
  const double ranks = samples.size();
  for (const EpochSample& sample : samples) {
    slowest = std::max(slowest, sample.epoch_seconds);
    mean += sample.epoch_seconds / ranks;
    busy += sample.busy_seconds / ranks;
    busiest = std::max(busiest, sample.busy_seconds);
  }
  point.epoch_seconds = slowest;
  point.max_over_mean_busy = busy > 0 ? busiest / busy : 1;
  for (const std::vector<Span>& rank : spans) add_spans(rank, launch_seconds, ranks, point);
  // Within a rank's epoch, time outside blocking spans is host time. After it, the rank waits for the slowest.
  point.other_seconds = std::max(0.0, mean - known_seconds(point));
  point.wait_seconds += std::max(0.0, slowest - mean);
}

void multiply(double share, ScalingPoint& point) {
  for (double* seconds : {&point.epoch_seconds, &point.compute_seconds, &point.launch_bound_seconds,
                          &point.transfer_seconds, &point.wait_seconds, &point.other_seconds})
    *seconds *= share;
  for (double& seconds : point.communicate_seconds) seconds *= share;
}

/// Keeps only spans of the measured epoch. Others set up the rank, warm it up or evaluate.
void keep_epoch(const std::vector<EpochSample>& samples, std::vector<std::vector<Span>>& spans) {
  for (const EpochSample& sample : samples) {
    const double slack = 1e-9 * sample.epoch_seconds;  // rounding of begin + length
    const double begin = sample.begin_seconds - slack, end = begin + sample.epoch_seconds + 2 * slack;
    std::erase_if(spans[sample.rank],
                  [&](const Span& span) { return span.begin_seconds < begin || span.end_seconds > end; });
  }
}

ScalingPoint simulate(const PlanPoint& best, int nodes, const DataCache& cache) {
  ScalingPoint point;
  const auto described = load_cluster(best.cluster);
  Case c = best.request;
  const std::int64_t per_node = c.ranks / best.nodes;
  point.nodes = nodes;
  point.ranks = c.ranks = per_node * nodes;
  const bool larger = nodes > described->nodes;
  point.extrapolated = larger || described->beyond_sources(point.ranks);
  c.cluster = larger ? change_cluster(best.cluster, "nodes", std::to_string(nodes)) : best.cluster;
  point.reason = extension_refusal(c.cluster);
  if (!point.reason.empty()) {
    point.status = "cannot_extend";
    return point;
  }
  try {
    std::vector<std::vector<Span>> spans;
    const std::shared_ptr<const PlannedCase> plan = plan_settled(c, cache);
    const CaseResult result = run_planned(plan, c, &spans);
    point.status = result.status;
    point.reason = result.reason;
    if (result.status != "ok") return point;
    const std::vector<EpochSample> samples = measured(result);
    keep_epoch(samples, spans);
    split(samples, spans, described->gpu.launch_seconds, point);
    multiply(long_run_share(*plan->schedule, c), point);
  } catch (const InvalidRequest& error) {
    point.status = "cannot_divide";
    point.reason = error.message();
  }
  return point;
}

/// The part of an epoch that most exceeds an even split when going from few ranks to many.
std::string limiting_part(const ScalingPoint& few, const ScalingPoint& many) {
  const double ratio = static_cast<double>(few.ranks) / static_cast<double>(many.ranks);
  std::vector<std::pair<double, std::string>> excess;
  const auto add = [&](double before, double after, const std::string& name) {
    excess.emplace_back(after - before * ratio,
                        fmt::format("{} ({} to {})", name, format_seconds(before), format_seconds(after)));
  };
  add(few.compute_seconds - few.launch_bound_seconds, many.compute_seconds - many.launch_bound_seconds, "compute");
  add(few.launch_bound_seconds, many.launch_bound_seconds, "operations that take no longer than their launch");
  add(few.transfer_seconds, many.transfer_seconds, "host-to-device copies");
  add(few.wait_seconds, many.wait_seconds, "waiting for slower ranks");
  add(few.other_seconds, many.other_seconds, "host time");
  for (std::size_t i = 0; i < traffic_count; ++i) {
    add(few.communicate_seconds[i], many.communicate_seconds[i],
        "exposed " + std::string(traffic_names[i]) + " communication");
  }
  return std::max_element(excess.begin(), excess.end())->second;
}

std::string step_text(const ScalingPoint& few, const ScalingPoint& many) {
  const std::string step = fmt::format("from {} to {} ranks", few.ranks, many.ranks);
  if (many.status != "ok") return fmt::format("{} it stops: {}", step, many.reason);
  const double gain = few.epoch_seconds / many.epoch_seconds;
  return fmt::format("{} an epoch takes {} instead of {} ({:.2f} x as fast); what scales least is {}", step,
                     format_seconds(many.epoch_seconds), format_seconds(few.epoch_seconds), gain,
                     limiting_part(few, many));
}

std::string summarise_study(const std::vector<ScalingPoint>& points, int best_nodes) {
  const auto at_best = std::find_if(points.begin(), points.end(),
                                    [best_nodes](const ScalingPoint& point) { return point.nodes == best_nodes; });
  const auto next = at_best + 1;
  return next == points.end() ? "no larger number of nodes was studied" : step_text(*at_best, *next);
}

}  // namespace

ScalingStudy study_scaling(const PlanPoint& best, const DataCache& cache) {
  std::set<int> counts;
  for (const int nodes : {best.nodes / 4, best.nodes / 2, best.nodes}) counts.insert(std::max(1, nodes));
  const auto& strategy =
      StrategyRegistry::instance().find(best.request.strategy.at("name").get<std::string>(), "/strategy");
  const bool alone = !strategy.value.distinct(best.request.strategy, 2 * best.request.ranks);
  for (const int factor : {2, 4}) {
    if (!alone) counts.insert(best.nodes * factor);
  }
  ScalingStudy study;
  for (const int nodes : counts) study.points.push_back(simulate(best, nodes, cache));
  const auto base = std::find_if(study.points.begin(), study.points.end(),
                                 [](const ScalingPoint& point) { return point.status == "ok"; });
  for (ScalingPoint& point : study.points) {
    if (point.status != "ok") continue;
    point.efficiency = base->epoch_seconds * static_cast<double>(base->ranks) /
                       (point.epoch_seconds * static_cast<double>(point.ranks));
  }
  study.summary = alone ? "one rank runs sequentially: nothing is divided" : summarise_study(study.points, best.nodes);
  return study;
}

std::string step_between(const PlanPoint& few, const PlanPoint& many, const DataCache& cache) {
  return step_text(simulate(few, few.nodes, cache), simulate(many, many.nodes, cache));
}

}  // namespace strobe
