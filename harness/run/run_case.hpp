// Runs a case: what the command line, the planner and tests call.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backends/lost_ranks.hpp"
#include "core/data_cache.hpp"
#include "core/errors.hpp"
#include "harness/run/finished_epochs.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/tell_epoch.hpp"

namespace strobe {

/// Runs one case for real or simulated. Out of memory, time-outs and failures of ranks come back as the result's
/// status; InvalidRequest, InvalidInput and Unavailable are thrown before anything is measured; Interrupted is thrown
/// through. With `trace` set, the spans of every rank of the last repetition are kept in it ([rank][span]); `outputs`
/// names files to write after the last epoch of the last repetition.
/// Cases that are run with one `cache` share their data; without one, a case shares nothing.
/// In an externally launched world every process calls this; only process rank 0 gets samples of all ranks.
CaseResult run_case(const Case& c, std::vector<std::vector<Span>>* trace = nullptr, const ModelOutputs& outputs = {},
                    const DataCache& cache = {});

/// What `--dry-run` prints for a case without running it: placements, exchanges with their byte matrices, planned
/// bytes per epoch by traffic, the schedule, the parameters.
Json plan_case(const Case& c);
Json describe(const PlannedCase& plan);

/// The user's wish to stop, with what the case had come to: its finished epochs, and status `interrupted`.
class InterruptedCase : public Interrupted {
 public:
  InterruptedCase(int signal, CaseResult result) : Interrupted(signal), result_(std::move(result)) {}
  const CaseResult& result() const { return result_; }

 private:
  CaseResult result_;
};

/// Ranks of other processes are gone, with what the case had come to: status `timeout`.
class LostRanksCase : public RanksLost {
 public:
  LostRanksCase(const RanksLost& lost, CaseResult result) : RanksLost(lost), result_(std::move(result)) {}
  const CaseResult& result() const { return result_; }

 private:
  CaseResult result_;
};

/// Runs a case that was planned, as run_case does. `c` may differ from the plan's own request in the cluster and in the
/// memory limit, on which plans do not depend (but for nb=auto). With a time limit, no epoch begins when the ranks were
/// started so many seconds of wall time ago: the result's status is `timeout`, with the samples of finished epochs, as
/// any result has whose case something ended. `keep_epochs` gets the samples of epochs that all ranks have finished,
/// every second (finished_epochs.hpp), outside of measured time, in the first process; `tell` hears of each epoch on
/// rank 0, likewise. Throws InterruptedCase on a stop
/// signal, and LostRanksCase where ranks in other processes are gone.
CaseResult run_planned(const std::shared_ptr<const PlannedCase>& plan, const Case& c,
                       std::vector<std::vector<Span>>* trace = nullptr, const ModelOutputs& outputs = {},
                       double time_limit_seconds = 0, const KeepEpochs& keep_epochs = {}, const TellEpoch& tell = {});

}  // namespace strobe
