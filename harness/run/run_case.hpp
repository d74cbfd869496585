// Runs a case. The command line, the planner and tests call this.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backends/lost_ranks.hpp"
#include "core/data_cache.hpp"
#include "core/errors.hpp"
#include "harness/run/finished_epochs.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/planned_peak.hpp"
#include "harness/training/tell_epoch.hpp"

namespace strobe {

/// Runs one case, real or simulated. The result's status reports out of memory, time-outs and failures of ranks.
/// InvalidRequest, InvalidInput and Unavailable are thrown before anything is measured. Interrupted passes through.
/// `trace` gets the spans of every rank in the last repetition, [rank][span].
/// `outputs` names files to write after the last epoch of the last repetition.
/// Cases that run with one `cache` share their data; without one, a case shares nothing.
/// In an externally launched world every process calls this; only process rank 0 gets samples of all ranks.
CaseResult run_case(const Case& c, std::vector<std::vector<Span>>* trace = nullptr, const ModelOutputs& outputs = {},
                    const DataCache& cache = {});

/// Plans a case without running it, for `--dry-run`. The JSON has placements, exchanges with their byte matrices,
/// planned bytes per epoch by traffic, the schedule and the parameters.
Json plan_case(const Case& c);
Json describe(const PlannedCase& plan);
/// The planned memory of each rank by part, and the sums.
Json describe_memory(const PlannedPeak& planned);

/// The user asked to stop. Carries the case's result so far: its finished epochs, and status `interrupted`.
class InterruptedCase : public Interrupted {
 public:
  InterruptedCase(int signal, CaseResult result) : Interrupted(signal), result_(std::move(result)) {}
  const CaseResult& result() const { return result_; }

 private:
  CaseResult result_;
};

/// Ranks of other processes are gone. Carries the case's result so far: its finished epochs, and status `timeout`.
class LostRanksCase : public RanksLost {
 public:
  LostRanksCase(const RanksLost& lost, CaseResult result) : RanksLost(lost), result_(std::move(result)) {}
  const CaseResult& result() const { return result_; }

 private:
  CaseResult result_;
};

/// Checks the plan that a profiling epoch led to (fusion_memory=measured), and returns it with what it found. Throws to
/// refuse it, before training.
using CheckMeasured =
    std::function<std::shared_ptr<const PlannedCase>(const std::shared_ptr<const PlannedCase>& measured)>;

/// Runs a planned case as run_case does. `c` may differ from the plan's own request in the cluster and the memory
/// limit, because plans do not depend on them (except with nb=auto). With a time limit, no epoch begins once
/// `time_limit_seconds` of wall time have passed since the ranks started. The result then has status `timeout` and,
/// like every case that was cut short, the samples of its finished epochs. `keep_epochs` gets the samples of epochs
/// that all ranks have finished, every second (finished_epochs.hpp), in the first process. `tell` is called after each
/// epoch on rank 0. Both run outside of measured time. Without `check` a measured plan is taken as it is. Throws
/// InterruptedCase on a stop signal, and LostRanksCase when ranks in other processes are gone.
CaseResult run_planned(std::shared_ptr<const PlannedCase> plan, const Case& c,
                       std::vector<std::vector<Span>>* trace = nullptr, const ModelOutputs& outputs = {},
                       double time_limit_seconds = 0, const KeepEpochs& keep_epochs = {}, const TellEpoch& tell = {},
                       const CheckMeasured& check = {});

}  // namespace strobe
