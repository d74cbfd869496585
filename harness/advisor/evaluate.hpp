// What the simulator says of each point of a plan.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "harness/advisor/metric_job.hpp"
#include "harness/advisor/plan_points.hpp"
#include "harness/schedule/planned_case.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// A point after simulation. Times and bytes are those of a point that is `ok`.
struct PlanOutcome {
  PlanPoint point;
  std::string status = "ok";  // ok | out_of_memory | cannot_divide | cannot_combine | cannot_extend | cannot_compare
                              // | not_reached | failed
  std::string reason;
  double epoch_seconds = 0;             // in the long run, as are phases
  std::optional<EpochBand> epoch_band;  // 90 %, where the cluster's predictions were held against measurements
  double job_seconds = 0;               // epochs of the job x epoch_seconds, or until the metric
  std::optional<std::int64_t> metric_updates, metric_epochs;  // of a job that lasts until a metric
  std::optional<double> dollars;  // of the job: whole nodes for job_seconds; nothing where the cluster has no price
  double billed_seconds = 0;      // of whole nodes, that `dollars` are for
  double start_up_seconds = 0;    // of job_seconds: before the first epoch
  std::string currency;
  std::uint64_t peak_bytes = 0;            // device memory of the rank that needs most
  std::uint64_t sent_bytes = 0;            // of all ranks in an epoch
  std::optional<double> mails_lost_share;  // of models of events, as in a row
  /// Of kinds of training whose epochs are no passes: cells that an update trains (0: as many as an adjuster chooses),
  /// and updates of an epoch of the plan.
  std::optional<double> update_cells;
  double updates = 0;
  std::array<double, phase_count> phase_seconds{};  // of the slowest rank
  std::vector<std::string> notes;
};

/// Simulates every point, as a rule one epoch behind a first one, which also sets the optimiser up, in the order given;
/// points that differ in the cluster only share their plan. `epochs` is what a job trains, `threads` how many points
/// are simulated at a time; the outcome does not depend on it. `progress` is told how many points are done. A strategy
/// that cannot divide the workload among so many ranks becomes `cannot_divide`, settings of inputs, transfer and
/// overlap that do not go together with the rest `cannot_combine`, a cluster whose file does not say what
/// more nodes need `cannot_extend`, and updates of sizes that an adjuster chooses `cannot_compare` where others have a
/// number of cells; any other wrong request is thrown. With `metric` a job lasts until a metric has a
/// value instead; where it never has, the point is `not_reached`.
/// Points share the data in `cache`. Throws Interrupted when the user wants to stop.
std::vector<PlanOutcome> evaluate(const std::vector<PlanPoint>& points, std::int64_t epochs, int threads,
                                  const std::function<void(std::size_t)>& progress = {}, MetricJob* metric = nullptr,
                                  const DataCache& cache = {});

/// What a job costs beside its epochs.
struct JobCosts {
  double start_up_seconds = 0;      // before the first epoch: nodes boot, programs start, data are read
  double billing_unit_seconds = 0;  // time is billed in whole ones of it; 0: as it is
};

/// Adds them to the time and cost of every point that is `ok`.
void add_costs(const JobCosts& costs, std::vector<PlanOutcome>& outcomes);

/// Epochs that an amount pays for at the point's price, start-up and billing unit included; nothing without a price, 0
/// where not even the first is paid.
std::optional<double> epochs_for(double amount, const PlanOutcome& outcome, const JobCosts& costs);

/// Plans the case, which gets as many warm-up epochs as it takes until all j batches of a memory are in training: what
/// lies before is faster. Throws as make_plan does.
std::shared_ptr<const PlannedCase> plan_settled(Case& c, const DataCache& cache = {});

/// Updates of the weights in an epoch in the long run, over those in an epoch of the case, of which there are few: 1
/// but for kinds of training whose epochs are no whole number of updates. Where epochs are no passes at all, an epoch
/// in the long run is as many updates as train as many cells as there are, or one update where an adjuster chooses how
/// many that is. What an epoch costs is to be multiplied by it.
double long_run_share(const SchedulePlan& plan, const Case& c);

/// Why a cluster cannot have as many nodes as its text asks for, "" when it can.
std::string extension_refusal(const std::string& cluster);

}  // namespace strobe
