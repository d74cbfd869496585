// Runs the points of a plan through the simulator.
// Returns one outcome per point, in order. Invariant: outcomes depend on the points only, neither on threads nor on the
// order of work. Cost: one plan per combination of everything but the cluster, two simulated epochs per point.
#include "harness/advisor/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/parallel.hpp"
#include "harness/advisor/host_refusal.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/host_memory.hpp"
#include "harness/training/load_time.hpp"
#include "harness/training/make_plan.hpp"
#include "results/row/row.hpp"
#include "workloads/shape/shape_graph.hpp"

namespace strobe {
namespace {

/// Positions of points that share one plan.
using Groups = std::vector<std::vector<std::size_t>>;

/// The case without its cluster, if its plan does not depend on the cluster. Groups of ranks for models of events
/// depend on nodes and their hosts. So do processes that make batches during training.
std::string plan_key(const Case& c) {
  Case elsewhere = c;
  if (trains_full_batch(c)) elsewhere.cluster.clear();
  return case_to_json(elsewhere).dump();
}

/// Groups in the order of their largest rank count, so that the longest work begins first.
Groups groups_of(const std::vector<PlanPoint>& points) {
  std::map<std::string, std::vector<std::size_t>> by_plan;
  for (std::size_t i = 0; i < points.size(); ++i) by_plan[plan_key(points[i].request)].push_back(i);
  Groups groups;
  for (auto& [key, members] : by_plan) groups.push_back(std::move(members));
  std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
    return points[a.front()].request.ranks > points[b.front()].request.ranks;
  });
  return groups;
}

/// The status of a point whose plan is refused. Either the workload cannot be divided into that many ranks, blocks or
/// parts, or the settings do not go together. Returns "" when the request itself is wrong.
std::string status_of_refusal(const InvalidRequest& error) {
  for (const std::string where : {"/ranks", "/nb", "/strategy"}) {
    if (error.where() == where || error.where().rfind(where + "/", 0) == 0) return "cannot_divide";
  }
  for (const char* where : {"/inputs", "/transfer", "/overlap"}) {
    if (error.where() == where) return "cannot_combine";
  }
  return "";
}

std::int64_t measured_updates(const SchedulePlan& plan, const Case& c) {
  return plan.updates_through(c.warmup + c.epochs) - plan.updates_through(c.warmup);
}

/// Cells that an update trains if epochs are not passes; 0 if an adjuster chooses their number.
double cells_of_update(const SchedulePlan& plan, const Case& c) {
  return plan.summary().items.count * static_cast<double>(c.epochs) / static_cast<double>(measured_updates(plan, c));
}

/// Updates that together train as many cells as there are; 1 if the number of cells per update is unknown.
double updates_of_pass(const SchedulePlan& plan, const Case& c) {
  const double cells = cells_of_update(plan, c);
  return cells > 0 ? plan.describe().at("schedule").at("cells_of_all").get<double>() / cells : 1;
}

void take_result(const PlannedCase& plan, const CaseResult& result, std::int64_t epochs, PlanOutcome& outcome) {
  const Case& c = outcome.point.request;
  outcome.notes = result.notes;
  if (result.status != "ok") {
    outcome.status = result.status == "out_of_memory" ? result.status : "failed";
    outcome.reason = result.reason;
    return;
  }
  outcome.row = std::make_shared<const Row>(summarise(case_to_json(c), outcome.point.id, result));
  const Row& row = *outcome.row;
  const double share = long_run_share(*plan.schedule, c);
  outcome.epoch_seconds = share * row.epoch_seconds->median;
  outcome.epoch_band = row.epoch_seconds_band90;
  if (outcome.epoch_band) outcome.epoch_band->low *= share, outcome.epoch_band->high *= share;
  if (outcome.epoch_band) outcome.notes.push_back("90 % band: " + outcome.epoch_band->source);
  if (!outcome.epoch_band && !load_cluster(c.cluster)->epoch_bands.empty()) {
    outcome.notes.push_back("no 90 % band: " + row.absent.at("/epoch_seconds_band90"));
  }
  outcome.job_seconds = outcome.epoch_seconds * static_cast<double>(epochs);
  outcome.billed_seconds = outcome.job_seconds;
  if (result.dollars_per_second > 0) outcome.dollars = outcome.job_seconds * result.dollars_per_second;
  outcome.currency = result.currency;
  outcome.peak_bytes = *std::max_element(row.peak_bytes->device.begin(), row.peak_bytes->device.end());
  outcome.sent_bytes = row.sent_bytes->back();
  if (!schedule_of(c).value.passes) {
    outcome.sent_bytes = static_cast<std::uint64_t>(share * static_cast<double>(row.sent_bytes->back()));
    outcome.update_cells = cells_of_update(*plan.schedule, c);
    outcome.updates = updates_of_pass(*plan.schedule, c);
    outcome.notes.emplace_back(*outcome.update_cells > 0
                                   ? "an epoch of hybrid batches trains as many cells as the graph has; some may be "
                                     "drawn twice and others never"
                                   : "in this plan an epoch is one update; an adjuster chooses the size of its batch");
  }
  if (const auto lost = row.facts.find("mails_lost_share"); lost != row.facts.end())
    outcome.mails_lost_share = lost->second.get<double>();
  outcome.phase_seconds = *row.phase_seconds;
  for (double& seconds : outcome.phase_seconds) seconds *= share;
}

/// Makes the point's job last until the metric has its value.
void take_metric(const PlannedCase& plan, MetricJob& metric, double dollars_per_second, const DataCache& cache,
                 PlanOutcome& outcome) {
  const MetricReach reach = metric.reach(plan, outcome.point.request, cache);
  if (!reach.reached) {
    outcome.status = reach.refusal.empty() ? "not_reached" : "failed";
    outcome.reason = reach.refusal.empty()
                         ? fmt::format("{} was not reached in {} epochs", metric.until(), reach.epochs)
                         : reach.refusal;
    return;
  }
  Row row = *outcome.row;
  row.settings["until"] = metric.until();
  outcome.metric_updates = reach.updates;
  outcome.metric_epochs = reach.epochs;
  outcome.job_seconds = reach.seconds.value_or(static_cast<double>(reach.epochs) * outcome.epoch_seconds);
  outcome.billed_seconds = outcome.job_seconds;
  row.until = UntilOutcome{true, reach.updates, outcome.job_seconds};
  if (row.time_draws) {
    std::vector<double>& seconds = row.time_draws->until_seconds.emplace(row.time_draws->epoch_seconds);
    for (double& drawn : seconds) drawn *= outcome.job_seconds / row.epoch_seconds->median;
    row.absent.erase("/time_draws/until_seconds");
  }
  outcome.row = std::make_shared<const Row>(std::move(row));
  if (dollars_per_second > 0) outcome.dollars = outcome.job_seconds * dollars_per_second;
}

}  // namespace

/// The plan of a group, or the reason why there is none.
struct PlannedGroup {
  std::shared_ptr<const PlannedCase> plan;
  std::string status, refusal;
  std::optional<LoadWork> load = {};
  GraphBytes graph = {};  // host memory of a process; nothing for kinds of training that read other data
};

namespace {

PlannedGroup plan_group(Case c, const DataCache& cache) {
  try {
    PlannedGroup group{plan_settled(c, cache), "", ""};
    if (!trains_full_batch(c)) return group;
    const ModelChoice choice = choose_model(c);
    const DataPlan data = load_data(c, choice, cache);
    group.graph = graph_bytes(data, choice);
    group.load = load_work(c, data);
    return group;
  } catch (const InvalidRequest& error) {
    const std::string status = status_of_refusal(error);
    if (status.empty()) throw;
    return {nullptr, status, error.message()};
  }
}

/// A point whose hosts have no room for the graph, before it is simulated.
bool refused_by_hosts(const PlannedGroup& group, PlanOutcome& outcome) {
  if (group.plan == nullptr || outcome.point.request.host_memory_limit_gib > 0) return false;
  outcome.reason = host_refusal(group.graph, outcome.point, *load_cluster(outcome.point.request.cluster));
  if (outcome.reason.empty()) return false;
  outcome.status = "out_of_host_memory";
  return true;
}

/// The plan on the point's cluster, with what it takes of a node's memory under a limit. Null when that is too much.
std::shared_ptr<const PlannedCase> within_limit(const PlannedGroup& group, PlanOutcome& outcome) {
  if (outcome.point.request.host_memory_limit_gib <= 0) return group.plan;
  const auto plan = std::make_shared<PlannedCase>(*group.plan);
  plan->request.cluster = outcome.point.request.cluster;
  try {
    const TrainingMemory memory = check_host_memory(*plan, {}, 0);
    plan->host_bytes = memory.bytes;
    if (memory.reads_again) plan->notes.push_back(memory.note);
    return plan;
  } catch (const InvalidRequest& refused) {
    outcome.status = "out_of_host_memory";
    outcome.reason = refused.message();
    return nullptr;
  }
}

void simulate(const PlannedGroup& group, std::int64_t epochs, MetricJob* metric, const DataCache& cache,
              PlanOutcome& outcome) {
  if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
  const std::string refusal = extension_refusal(outcome.point.request.cluster);
  if (!refusal.empty()) {
    outcome.status = "cannot_extend";
    outcome.reason = refusal;
  } else if (refused_by_hosts(group, outcome)) {
    return;
  } else if (group.plan != nullptr) {
    outcome.point.request.warmup = group.plan->request.warmup;
    const std::shared_ptr<const PlannedCase> plan = within_limit(group, outcome);
    if (plan == nullptr) return;
    const CaseResult result = run_planned(plan, outcome.point.request);
    take_result(*group.plan, result, epochs, outcome);
    if (group.load) outcome.load_seconds = load_seconds(*group.load, load_cluster(outcome.point.request.cluster)->host);
    if (metric != nullptr && outcome.status == "ok")
      take_metric(*group.plan, *metric, result.dollars_per_second, cache, outcome);
  } else {
    outcome.status = group.status;
    outcome.reason = group.refusal;
  }
}

/// The time of one update does not compare with the time of enough updates to train all cells.
void set_apart_chosen_sizes(std::vector<PlanOutcome>& outcomes) {
  const auto known = [](const PlanOutcome& outcome) { return outcome.update_cells && *outcome.update_cells > 0; };
  if (std::none_of(outcomes.begin(), outcomes.end(), known)) return;
  for (PlanOutcome& outcome : outcomes) {
    if (outcome.status != "ok" || !outcome.update_cells || known(outcome)) continue;
    outcome.status = "cannot_compare";
    outcome.reason =
        "its adjuster chooses the sizes of batches, so the cells of an update are not known before training; plan it "
        "with --until, or alone";
  }
}

/// Libraries that partition graphs are not thread-safe. Counting a shape needs none of them.
bool plans_one_at_a_time(const Case& c) { return !is_shape_workload(c.workload.at("name").get<std::string>()); }

/// Whether points of several plans are simulated in parallel. Each plan of snapshots holds the matrices of a graph, so
/// only one is kept at a time. Only its points on several clusters run in parallel. Plans of events share their graph.
bool simulates_beside_each_other(const Case& c) { return !plans_one_at_a_time(c) || family_of(c.model) == "events"; }

}  // namespace

RepricedPoint::RepricedPoint(PlanPoint point, std::int64_t epochs, const DataCache& cache)
    : point_(std::move(point)), epochs_(epochs), cache_(cache) {
  point_.request.draws = 0;  // changed clusters are asked for their described times
  if (trains_full_batch(point_.request)) plan_ = std::make_unique<PlannedGroup>(plan_group(point_.request, cache_));
}

RepricedPoint::~RepricedPoint() = default;

PlanOutcome RepricedPoint::on(const std::string& cluster) const {
  static std::mutex planning;  // libraries that partition graphs are not thread-safe
  PlanOutcome outcome;
  outcome.point = point_;
  outcome.point.request.cluster = cluster;
  const auto plan_here = [&] {
    const std::lock_guard lock(planning);
    return plan_group(outcome.point.request, cache_);
  };
  simulate(plan_ != nullptr ? *plan_ : plan_here(), epochs_, nullptr, cache_, outcome);
  return outcome;
}

double start_up_of(const JobCosts& costs, const PlanOutcome& outcome) {
  return costs.start_up_seconds > 0 ? costs.start_up_seconds : outcome.load_seconds.value_or(0);
}

void add_costs(const JobCosts& costs, std::vector<PlanOutcome>& outcomes) {
  for (PlanOutcome& outcome : outcomes) {
    if (outcome.status != "ok") continue;
    const double rate = outcome.dollars ? *outcome.dollars / outcome.billed_seconds : 0;
    outcome.start_up_seconds = start_up_of(costs, outcome);
    outcome.job_seconds += outcome.start_up_seconds;
    outcome.billed_seconds = outcome.job_seconds;
    const double unit = costs.billing_unit_seconds;
    if (unit > 0) outcome.billed_seconds = unit * std::ceil(outcome.job_seconds / unit);
    if (outcome.dollars) outcome.dollars = rate * outcome.billed_seconds;
  }
}

std::optional<double> epochs_for(double amount, const PlanOutcome& outcome, const JobCosts& costs) {
  if (!outcome.dollars || !(outcome.billed_seconds > 0) || !(outcome.epoch_seconds > 0)) return std::nullopt;
  double paid = amount / (*outcome.dollars / outcome.billed_seconds);
  if (costs.billing_unit_seconds > 0) paid = costs.billing_unit_seconds * std::floor(paid / costs.billing_unit_seconds);
  return std::max(0.0, std::floor((paid - start_up_of(costs, outcome)) / outcome.epoch_seconds));
}

double long_run_share(const SchedulePlan& plan, const Case& c) {
  constexpr std::int64_t many = 1000;
  const std::int64_t measured = measured_updates(plan, c);
  // an epoch that ends with an averaging has `interval` updates
  if (!schedule_of(c).value.passes)
    return updates_of_pass(plan, c) * static_cast<double>(c.epochs) / static_cast<double>(measured);
  return static_cast<double>(plan.updates_through(many) * c.epochs) / static_cast<double>(many * measured);
}

std::shared_ptr<const PlannedCase> plan_settled(Case& c, const DataCache& cache) {
  std::shared_ptr<const PlannedCase> plan = make_plan(c, PlanUse::run, cache);
  const std::int64_t begun = plan->schedule->summary().settling_updates;
  std::int64_t warmup = c.warmup;
  while (plan->schedule->updates_through(warmup) < begun) ++warmup;
  if (warmup == c.warmup) return plan;
  c.warmup = warmup;
  return make_plan(c, PlanUse::run, cache);
}

std::string extension_refusal(const std::string& cluster) {
  try {
    load_cluster(cluster);
    return "";
  } catch (const InvalidRequest& error) {
    return fmt::format("the cluster file of {} does not describe that many nodes: {}", cluster_base(cluster),
                       error.what());
  }
}

std::vector<PlanOutcome> evaluate(const std::vector<PlanPoint>& points, std::int64_t epochs, int threads,
                                  const std::function<void(std::size_t)>& progress, MetricJob* metric,
                                  const DataCache& cache) {
  std::vector<PlanOutcome> outcomes(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) outcomes[i].point = points[i];
  const Groups groups = groups_of(points);
  std::mutex mutex;
  std::size_t done = 0;
  const auto one_done = [&] {
    const std::lock_guard lock(mutex);
    if (progress) progress(++done);
  };
  Workers workers(std::max(1, threads));
  std::mutex planning;
  const bool one_plan_at_a_time = !points.empty() && plans_one_at_a_time(points.front().request);
  const auto evaluate_group = [&](const std::vector<std::size_t>& members, const auto& for_each) {
    const PlannedGroup group = [&] {
      const auto lock = one_plan_at_a_time ? std::unique_lock(planning) : std::unique_lock<std::mutex>();
      return plan_group(points[members.front()].request, cache);
    }();
    for_each(static_cast<std::int64_t>(members.size()), [&](std::int64_t i) {
      simulate(group, epochs, metric, cache, outcomes[members[i]]);
      one_done();
    });
  };
  const bool beside = std::all_of(points.begin(), points.end(),
                                  [](const PlanPoint& point) { return simulates_beside_each_other(point.request); });
  if (beside) {
    workers.run(static_cast<std::int64_t>(groups.size()), [&](std::int64_t g) {
      evaluate_group(groups[g], [](std::int64_t count, const auto& task) {
        for (std::int64_t i = 0; i < count; ++i) task(i);
      });
    });
  } else {
    for (const auto& members : groups)
      evaluate_group(members, [&](std::int64_t count, const auto& task) { workers.run(count, task); });
  }
  if (metric == nullptr) set_apart_chosen_sizes(outcomes);
  return outcomes;
}

}  // namespace strobe
