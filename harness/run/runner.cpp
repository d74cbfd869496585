// Runs one case: plans it, starts the ranks, gathers what they measured, and checks it against the plan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "backends/software.hpp"
#include "core/system/process_memory.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/request/kernel_threads.hpp"
#include "harness/request/output_files.hpp"
#include "harness/run/case_facts.hpp"
#include "harness/run/concurrency.hpp"
#include "harness/run/drawn_times.hpp"
#include "harness/run/fusion_profile.hpp"
#include "harness/run/gather.hpp"
#include "harness/run/launch_request.hpp"
#include "harness/run/run_case.hpp"
#include "harness/run/run_outputs.hpp"
#include "harness/run/target_facts.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/host_memory.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/planned_peak.hpp"
#include "harness/training/training.hpp"

namespace strobe {
namespace {

/// Every epoch must send the planned bytes: exactly, or at most as many where the plan is an upper bound.
void check_planned_bytes(const PlannedCase& plan, CaseResult& result) {
  std::map<std::pair<int, int>, PerTraffic<std::uint64_t>> sent;
  for (const EpochSample& sample : result.samples) {
    auto& epoch = sent[{sample.repetition, sample.epoch}];
    for (std::size_t i = 0; i < epoch.size(); ++i) epoch[i] += sample.sent_bytes[i];
  }
  for (const auto& [key, bytes] : sent) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const ByteBudget budget = plan.schedule->budget(key.second);
      if (budget.allows(i, bytes[i])) continue;
      result.status = "failed";
      result.reason = fmt::format("check failed: {} bytes of {} traffic were sent in epoch {}, but {}{} were planned",
                                  bytes[i], traffic_names[i], key.second,
                                  budget.promise[i] == Promise::at_most ? "at most " : "", budget.bytes[i]);
      return;
    }
  }
}

/// Fills in losses and metrics, or the reason why the task has none.
void fill_values(const PlannedCase& plan, const RankOutcome& outcome, CaseResult& result) {
  const std::string reason = plan.request.numerics == "none" ? "numerics is none: shapes only, no values" : "";
  result.loss = {outcome.loss, reason};
  const MetricNames& metrics = plan.schedule->summary().metrics;
  for (const std::string& name : metrics.names) {
    const auto values = outcome.metrics.find(name);
    const auto absent = metrics.absent.find(name);
    const std::string why = reason.empty() && absent != metrics.absent.end() ? absent->second : reason;
    result.metrics[name] =
        values == outcome.metrics.end() || !why.empty() ? Series{{}, why} : Series{values->second, ""};
  }
  if (!reason.empty()) return;
  result.metric_samples = metrics.samples;
  result.metric_best_rule = best_rules(metrics, outcome.metrics);
  result.metric_best_possible = metrics.levels.best_possible;
  for (std::string& remark : plan.schedule->remarks(outcome.metrics)) result.notes.push_back(std::move(remark));
  if (outcome.equal_outputs)
    result.notes.push_back("all test scores are equal: the model does not tell the samples apart");
}

/// A row that promises the sequential run's losses must say when rounding may break the promise.
void note_rounding(const RankOutcome& rank, CaseResult& result) {
  if (rank.dead_start) {
    result.notes.push_back(
        "all initial gradients are rounding noise: losses of other strategies and rank counts may differ; another "
        "seed or workload.feature_scale=standardise may help");
    return;
  }
  if (rank.rounding == 0) return;
  result.notes.push_back(
      fmt::format("rounding may move the losses of other strategies and rank counts by about {:.0e}", rank.rounding));
}

/// Adds the facts that the schedule states about its training.
void take_facts(const Facts& facts, CaseResult& result) {
  result.facts = facts;
  result.notes.insert(result.notes.end(), facts.notes.begin(), facts.notes.end());
  result.approximations.insert(result.approximations.end(), facts.approximations.begin(), facts.approximations.end());
}

/// One entry per rank. A rank writes its own; for ranks in other processes, each process has their samples.
using Outcomes = std::vector<RankOutcome>;

void collect(const PlannedCase& plan, Outcomes& outcomes, CaseResult& result, std::vector<std::vector<Span>>* trace) {
  keep_slowest_draws(outcomes);
  for (RankOutcome& rank : outcomes) {
    result.samples.insert(result.samples.end(), rank.samples.begin(), rank.samples.end());
    if (trace != nullptr) trace->push_back(std::move(rank.last_spans));
  }
  if (result.time_source == "wall")
    for (const RankOutcome& rank : outcomes) result.load_seconds = std::max(result.load_seconds, rank.load_seconds);
  fill_values(plan, outcomes.front(), result);
  note_rounding(outcomes.front(), result);
  take_facts(plan.schedule->facts(result.samples), result);
  add_target_facts(plan, result.facts);
  if (!outcomes.front().evaluation_bytes.empty())
    result.facts.values["evaluation_bytes"] = outcomes.front().evaluation_bytes;
}

/// Keeps the epochs that all ranks had finished when the case was cut short.
void keep_finished(const PlannedCase& plan, std::int64_t epochs_before, Outcomes& outcomes, CaseResult& result) {
  if (outcomes.empty()) return;
  std::size_t finished = outcomes.front().samples.size();
  for (const RankOutcome& rank : outcomes) finished = std::min(finished, rank.samples.size());
  for (RankOutcome& rank : outcomes) rank.samples.resize(finished);
  RankOutcome& first = outcomes.front();
  first.loss.resize(std::min(first.loss.size(), static_cast<std::size_t>(epochs_before) + finished));
  for (auto& [name, values] : first.metrics) values.resize(first.loss.size(), std::nan(""));  // not evaluated any more
  collect(plan, outcomes, result, nullptr);
}

/// The result of a case that `reason` ended.
CaseResult cut_short(const PlannedCase& plan, const TrainingState& start, Outcomes& outcomes, CaseResult result,
                     const char* status, const std::exception& reason) {
  keep_finished(plan, start.epoch, outcomes, result);
  result.status = status;
  result.reason = reason.what();
  return result;
}

/// A case that diverged has failed, but keeps its samples.
void check_finite(const RankOutcome& rank, const Divergence& divergence, CaseResult& result) {
  if (result.status != "ok") return;
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto first = std::find_if_not(rank.loss.begin(), rank.loss.end(), finite);
  if (first == rank.loss.end() && divergence.unwritten.empty() && rank.finite_weights) return;
  result.status = "failed";
  result.reason = fmt::format("training diverged at epoch {} (counted from 0, with warm-up): {} no longer finite{}",
                              first == rank.loss.end() ? rank.loss.size() - 1 : first - rank.loss.begin(),
                              first == rank.loss.end() ? "its weights are" : "its loss is", divergence.unwritten);
}

/// A case that a time limit or a signal ended between two epochs keeps its finished epochs, which are valid.
void check_gate(const Case& c, const StopCheck& gate, std::int64_t epochs_before, const ModelOutputs& outputs,
                const RankOutcome& rank, CaseResult& result) {
  if (!gate.closed() || result.status != "ok") return;
  const bool limit = gate.signal() == 0;
  const auto epochs_done = epochs_before + static_cast<std::int64_t>(rank.samples.size());
  result.status = limit ? "timeout" : "interrupted";
  result.reason = fmt::format("{} after {} of {}{} epochs",
                              limit ? fmt::format("the time limit of {:.6g} s was reached", gate.limit_seconds())
                                    : std::string(Interrupted(gate.signal()).what()),
                              epochs_done, c.repeat > 1 ? fmt::format("{} times ", c.repeat) : "", c.warmup + c.epochs);
  for (const AskedFile& file : asked_files(outputs))
    if (file.path != outputs.checkpoint) result.reason += "; " + file.path + " was not written";
  if (!outputs.checkpoint.empty() && epochs_done > 0) result.reason += "; the checkpoint has the last of them";
}

/// Fills in the result of ranks that finished training.
void collect_and_check(const PlannedCase& plan, Outcomes& outcomes, std::vector<std::vector<Span>>* trace,
                       std::int64_t epochs_before, const Divergence& divergence, CaseResult& result) {
  collect(plan, outcomes, result, trace);
  check_planned_bytes(plan, result);
  fill_until(plan, outcomes.front(), epochs_before, result);
  check_finite(outcomes.front(), divergence, result);
}

/// `keep_epochs` may be empty. Only the first process calls it.
void launch_ranks(const PlannedCase& plan, const LaunchRequest& request, Outcomes& outcomes,
                  const RankRequest& requests, const KeepEpochs& keep_epochs) {
  LaunchRequest launch = request;
  spare_process_memory(plan.request.host_memory_limit_gib > 0);
  look_at_process_memory();
  launch.helpers = plan.schedule->helpers();
  const auto& comm = CommunicatorRegistry::instance().find(plan.request.comm, "/comm").value;
  outcomes.resize(launch.ranks);
  for (RankOutcome& rank : outcomes) rank.load_seconds = plan.load_seconds;
  FinishedEpochs finished(outcomes.size(), keep_epochs);
  RankRequest shared = requests;
  shared.own_process = launch.device.cluster == nullptr && (comm.world_size() > 0 || launch.ranks == 1);
  if (comm.world_size() == 0) {
    if (keep_epochs)
      shared.measured = [&](Communicator& communicator) { finished.add(outcomes[communicator.rank()].samples.back()); };
    comm.launch(launch, [&](Device& device, Communicator& communicator) {
      train_rank(plan, device, communicator, shared, outcomes[device.rank()]);
    });
    return;
  }
  shared.measured = [&](Communicator& communicator) {
    share_last_sample(communicator, outcomes);
    if (!keep_epochs || comm.process_rank() != 0) return;
    for (const RankOutcome& rank : outcomes) finished.add(rank.samples.back());
  };
  comm.launch(launch, [&](Device& device, Communicator& communicator) {
    train_rank(plan, device, communicator, shared, outcomes[device.rank()]);
    complete_outcomes(communicator, outcomes);
  });
}

/// Ranks that share cores slow each other down only while they compute at the same moment; a waiting rank frees its
/// core. A simulated epoch of the same program shows how many compute at once. The result is at least
/// min(ranks, cores), because calibration fitted operations with that many ranks at work.
double rehearsed_concurrency(const PlannedCase& plan, const LaunchRequest& launch) {
  const Cluster* cluster = launch.device.cluster.get();
  if (cluster == nullptr || launch.ranks == 1) return 0;
  if (cluster->calibration == nullptr || cluster->calibration->shared_cores() == 0) return 0;
  Outcomes outcomes;
  RankRequest requests;
  requests.spans = true;
  requests.epochs = 1;
  launch_ranks(plan, launch, outcomes, requests, {});
  std::vector<std::vector<Span>> spans;
  for (RankOutcome& rank : outcomes) spans.push_back(std::move(rank.last_spans));
  const double cores = cluster->calibration->shared_cores();
  return std::max(mean_computing_ranks(spans), std::min<double>(launch.ranks, cores));
}

/// Loads the checkpoint that training resumes from.
TrainingState start_of(const PlannedCase& plan, const Case& c, const ModelOutputs& outputs) {
  TrainingState start = load_checkpoint(outputs.checkpoint, c, plan.schedule->summary().parameters);
  plan.schedule->check_start(start);
  if (!outputs.resume_over) refuse_over(c, plan.until, start, outputs.checkpoint);
  return start;
}

/// A continued case that was already over has no epochs of its own.
void note_untimed(const PlannedCase& plan, const Case& c, const ModelOutputs& outputs, const TrainingState& start,
                  CaseResult& result) {
  if (outputs.resume_training && is_over(c, plan.until, start))
    result.untimed = "its epochs were measured by a run that ended";
}

/// Writes the original ids of vertices to a file next to the checkpoint, if the plan has such a list.
void write_ids_beside(const PlannedCase& plan, const std::string& checkpoint) {
  for (const OutputFile& file : plan.schedule->outputs())
    if (file.name == ids_beside_checkpoint) file.write(checkpoint, {});
}

/// All processes must call this.
void add_planned_memory(const PlannedCase& plan, const ModelOutputs& outputs, CaseResult& result) {
  const auto& comm = CommunicatorRegistry::instance().find(plan.request.comm, "/comm").value;
  if (!outputs.planned_memory || (comm.process_rank() != 0 && !plan.schedule->only_rank())) return;
  result.planned_memory = planned_peak(plan).parts;
}

RankRequest rank_request(const PlannedCase& plan, bool spans, const ModelOutputs& outputs, const TrainingState& start,
                         Divergence& divergence) {
  RankRequest requests;
  requests.spans = spans;
  requests.weights = !outputs.weights.empty();
  requests.outputs = files_of_training(outputs);
  if (outputs.resume_training) requests.start = &start;
  if (outputs.checkpoint.empty()) return requests;
  requests.checkpoint_every = outputs.checkpoint_every;
  requests.checkpoint = [&plan, &divergence, path = outputs.checkpoint, digests = digests_of_data(plan.request),
                         listed = false](const TrainingState& state) mutable {
    if (is_finite(state)) {
      save_checkpoint(path, plan.request, plan.schedule->summary().parameters, state, digests);
      if (!std::exchange(listed, true)) write_ids_beside(plan, path);
    } else if (divergence.unwritten.empty())
      divergence.leave_out(fmt::format("the checkpoint {} after epoch {} and later", path, state.epoch - 1));
  };
  return requests;
}

void set_failure(const std::exception& error, CaseResult& result) {
  const bool host_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  const bool memory = host_memory || dynamic_cast<const OutOfMemory*>(&error) != nullptr;
  const bool late = dynamic_cast<const CollectiveTimeout*>(&error) != nullptr;
  result.status = memory ? "out_of_memory" : late ? "timeout" : "failed";
  result.reason = host_memory ? "the host's memory is exhausted" : error.what();
}

/// Must be called in a handler. Rethrows errors that end the whole run; records others in `result`.
void take_failure(CaseResult& result) {
  try {
    throw;
  } catch (const RanksLost&) {
    throw;
  } catch (const InvalidRequest&) {
    throw;
  } catch (const Unavailable&) {
    throw;
  } catch (const std::exception& error) {
    set_failure(error, result);
  }
}

/// Returns `plan`, or the checked plan that its profiling epoch led to. Null when that epoch failed; `result` has the
/// reason.
std::shared_ptr<const PlannedCase> profiled(std::shared_ptr<const PlannedCase> plan, const LaunchRequest& launch,
                                            const CheckMeasured& check, CaseResult& result) {
  std::shared_ptr<const PlannedCase> measured;
  try {
    measured = with_measured_fusion(plan, launch);
  } catch (const Interrupted& stop) {
    result = empty_result(*plan, launch);
    result.status = "interrupted";
    result.reason = stop.what();
    throw InterruptedCase(stop.signal(), std::move(result));
  } catch (...) {
    result = empty_result(*plan, launch);
    take_failure(result);
    result.reason = "in the epoch of fusion_memory=measured, which walks chunks one by one: " + result.reason;
    return nullptr;
  }
  if (measured == plan || !check) return measured;
  plan.reset();  // the check counts what the measured plan holds
  return check(measured);
}

/// Training that another program carries out.
CaseResult run_outside(const PlannedCase& plan, const LaunchRequest& launch, const OutsideRequest& request) {
  CaseResult result = empty_result(plan, launch);
  try {
    plan.schedule->train_outside(request, result);
  } catch (const Interrupted& stop) {
    throw InterruptedCase(stop.signal(), std::move(result));
  } catch (...) {
    take_failure(result);
  }
  return result;
}

}  // namespace

LaunchRequest launch_request(const Case& c, double host_bytes) {
  LaunchRequest request;
  request.ranks = static_cast<int>(c.ranks);
  request.timeout_seconds = c.timeout;
  request.make_device = DeviceRegistry::instance().find(c.device, "/device").value;
  request.device.values = c.numerics != "none";
  request.device.precision = c.precision == "fp64" ? ElementType::f64 : ElementType::f32;
  const auto& comm = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
  const std::vector<std::int64_t> threads = kernel_threads(c);
  const std::size_t own = comm.process_rank();
  request.device.threads = static_cast<int>(threads[own < threads.size() ? own : 0]);
  request.device.host_threads = static_cast<int>(c.host_threads);
  request.device.kernel_variant = c.kernels;
  request.device.memory_limit_bytes = static_cast<std::uint64_t>(c.memory_limit_gib * 1024.0 * 1024.0 * 1024.0);
  if (!c.cluster.empty()) request.device.cluster = with_page_cache(c, load_cluster(c.cluster, c.software), host_bytes);
  return request;
}

CaseResult run_case(const Case& c, std::vector<std::vector<Span>>* trace, const ModelOutputs& outputs,
                    const DataCache& cache) {
  check_outputs(c, outputs);
  return run_planned(make_plan(c, PlanUse::run, cache), c, trace, outputs);
}

CaseResult run_planned(std::shared_ptr<const PlannedCase> planned, const Case& c, std::vector<std::vector<Span>>* trace,
                       const ModelOutputs& outputs, double time_limit_seconds, const KeepEpochs& keep_epochs,
                       const TellEpoch& tell, const CheckMeasured& check) {
  check_offered(*planned, outputs);
  LaunchRequest launch = launch_request(c, planned->host_bytes);
  CaseResult result;
  if (planned->schedule->is_outside()) return run_outside(*planned, launch, {time_limit_seconds, keep_epochs, tell});
  const std::shared_ptr<const PlannedCase> plan = profiled(std::move(planned), launch, check, result);
  if (plan == nullptr) return result;
  result = empty_result(*plan, launch);
  const TrainingState start = outputs.resume_training ? start_of(*plan, c, outputs) : TrainingState();
  Outcomes outcomes;
  Divergence divergence;
  const auto& comm = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
  const bool may_close = time_limit_seconds > 0 || !outputs.checkpoint.empty();  // a signal ends it with a checkpoint
  StopCheck gate(time_limit_seconds, may_close && comm.world_size() > 0);
  try {
    launch.device.computing_ranks = rehearsed_concurrency(*plan, launch);
    add_draws(c, launch, result);
    RankRequest requests = rank_request(*plan, trace != nullptr, outputs, start, divergence);
    requests.gate = &gate, requests.tell = tell;
    launch_ranks(*plan, launch, outcomes, requests, keep_epochs);
    add_planned_memory(*plan, outputs, result);
    if (comm.process_rank() == 0 && !gate.closed()) write_outputs(*plan, outcomes.front(), outputs, divergence);
    collect_and_check(*plan, outcomes, trace, start.epoch, divergence, result);
    note_untimed(*plan, c, outputs, start, result);
    check_gate(c, gate, start.epoch, outputs, outcomes.front(), result);
    if (gate.signal() != 0) throw InterruptedCase(gate.signal(), result);
  } catch (const InterruptedCase&) {
    throw;
  } catch (const Interrupted& stop) {
    throw InterruptedCase(stop.signal(), cut_short(*plan, start, outcomes, result, "interrupted", stop));
  } catch (const RanksLost& lost) {
    throw LostRanksCase(lost, cut_short(*plan, start, outcomes, result, "timeout", lost));
  } catch (...) {
    take_failure(result);
  }
  if (result.status != "ok" && result.samples.empty()) keep_finished(*plan, start.epoch, outcomes, result);
  return result;
}

}  // namespace strobe
