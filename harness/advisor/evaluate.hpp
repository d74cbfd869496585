// Simulates the points of a plan.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "harness/advisor/metric_job.hpp"
#include "harness/advisor/plan_points.hpp"
#include "harness/schedule/planned_case.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// A point after simulation. Times and bytes are valid if the point is `ok`.
struct PlanOutcome {
  PlanPoint point;
  std::string status = "ok";  // ok | out_of_memory | out_of_host_memory | cannot_divide | cannot_combine |
                              // cannot_extend | cannot_compare | not_reached | failed
  std::string reason;
  double epoch_seconds = 0;             // in the long run, like the phases
  std::optional<EpochBand> epoch_band;  // 90 %, where the cluster's predictions were compared with measurements
  double job_seconds = 0;               // epochs of the job x epoch_seconds, or time until the metric
  std::optional<std::int64_t> metric_updates, metric_epochs;  // if the job lasts until a metric
  std::optional<double> dollars;  // of the job: whole nodes for job_seconds; nothing if the cluster has no price
  double billed_seconds = 0;      // of whole nodes, the time that `dollars` pays for
  double start_up_seconds = 0;    // of job_seconds: before the first epoch
  std::optional<double> load_seconds =
      {};  // predicted, to read and prepare the graph; nothing if the rates are unknown
  std::string currency;
  std::uint64_t peak_bytes = 0;            // device memory of the rank that needs most
  std::uint64_t sent_bytes = 0;            // of all ranks in an epoch
  std::optional<double> mails_lost_share;  // for models of events, as in a row
  /// For kinds of training whose epochs are not passes: cells that an update trains (0: an adjuster chooses their
  /// number), and updates in an epoch of the plan.
  std::optional<double> update_cells;
  double updates = 0;
  PerPhase<double> phase_seconds{};  // of the slowest rank
  std::vector<std::string> notes;
  std::shared_ptr<const Row> row;  // of the simulated epochs, as `strobe run` writes it; null without a time
};

/// Simulates every point and returns the outcomes in the given order. Usually this takes two epochs; the first one also
/// sets up the optimiser, and the second counts. Points that differ only in the cluster share their plan, and all
/// points share the data in `cache`. A job trains for `epochs`, or with `metric` until a metric has a value. `threads`
/// points are simulated at a time; the outcomes do not depend on it. `progress` gets the number of finished points.
///
/// Refused points get a status:
/// - `cannot_divide`: the strategy cannot divide the workload among that many ranks;
/// - `cannot_combine`: settings of inputs, transfer and overlap do not go together with the rest;
/// - `out_of_host_memory`: the memory of a node has no room for the graph;
/// - `cannot_extend`: the cluster's file does not describe that many nodes;
/// - `cannot_compare`: an adjuster chooses the size of updates, but other points have a number of cells;
/// - `not_reached`: the metric never has the value.
/// Any other wrong request is thrown. Throws Interrupted when the user wants to stop.
std::vector<PlanOutcome> evaluate(const std::vector<PlanPoint>& points, std::int64_t epochs, int threads,
                                  const std::function<void(std::size_t)>& progress = {}, MetricJob* metric = nullptr,
                                  const DataCache& cache = {});

struct PlannedGroup;

/// One point, simulated on changed clusters. Its plan is made once if it does not depend on the cluster. `cache` must
/// outlive it.
class RepricedPoint {
 public:
  RepricedPoint(PlanPoint point, std::int64_t epochs, const DataCache& cache);
  ~RepricedPoint();
  /// The point's outcome on this cluster, as `evaluate` gives it. May be called from several threads.
  PlanOutcome on(const std::string& cluster) const;

 private:
  PlanPoint point_;
  std::int64_t epochs_;
  const DataCache& cache_;
  std::unique_ptr<const PlannedGroup> plan_;
};

/// The cost of a job in addition to its epochs.
struct JobCosts {
  double start_up_seconds = 0;  // before the first epoch: nodes boot, programs start, data are read; 0: load_seconds
  double billing_unit_seconds = 0;  // time is billed in whole units of this length; 0: exactly
};

/// The start-up time that the user gave, else the predicted time of reading and preparing.
double start_up_of(const JobCosts& costs, const PlanOutcome& outcome);

/// Adds these costs to the time and cost of every point that is `ok`.
void add_costs(const JobCosts& costs, std::vector<PlanOutcome>& outcomes);

/// Epochs that an amount pays for at the point's price, including start-up and billing unit. Nothing without a price; 0
/// if the amount does not pay for the first epoch.
std::optional<double> epochs_for(double amount, const PlanOutcome& outcome, const JobCosts& costs);

/// Plans the case. Adds warm-up epochs until all j batches of a memory are in training, because earlier epochs are
/// faster. Throws like make_plan.
std::shared_ptr<const PlannedCase> plan_settled(Case& c, const DataCache& cache = {});

/// The ratio of an epoch's cost in the long run to its cost in the case. It is the ratio of their updates of the
/// weights. It is 1 except for kinds of training whose epochs are not a whole number of updates. If epochs are not
/// passes, an epoch in the long run has enough updates to train as many cells as there are. If an adjuster chooses the
/// number of cells, it has one update.
double long_run_share(const SchedulePlan& plan, const Case& c);

/// The reason why a cluster cannot have as many nodes as its text requests; "" when it can.
std::string extension_refusal(const std::string& cluster);

}  // namespace strobe
