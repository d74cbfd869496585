// `strobe run`: expands the request into cases, runs them one after another, and writes each row when its case ends.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "backends/device.hpp"
#include "core/shown_text.hpp"
#include "core/system/interrupt.hpp"
#include "core/units.hpp"
#include "harness/cli/described/planned_cases.hpp"
#include "harness/cli/prices.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/measure/kept_request.hpp"
#include "harness/measure/run_checks.hpp"
#include "harness/measure/run_ranks.hpp"
#include "harness/measure/run_request.hpp"
#include "harness/measure/run_rounds.hpp"
#include "harness/measure/tuning/tuned_run.hpp"
#include "harness/process/failure.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/node_data.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/signals.hpp"
#include "harness/request/output_files.hpp"
#include "harness/run/kept_plans.hpp"
#include "harness/run/plan_digest.hpp"
#include "harness/run/run_case.hpp"
#include "harness/run/run_outputs.hpp"
#include "harness/run/target_facts.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/host_memory.hpp"
#include "results/row/rounds.hpp"
#include "results/run/environment.hpp"
#include "results/run/files.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

/// Runs the cases of a suite. Only the first process has a run directory and prints.
class Sweep {
 public:
  Sweep(const RunRequest& request, const Suite& suite, const Ranks& ranks, KeptPlans& plans)
      : request_(request), suite_(suite), ranks_(ranks), plans_(plans), progress_(suite.cases.size(), !ranks.first()) {
    // Every process must skip the same cases, but only the first one can read the run directory.
    const std::string finished = ranks.first_does([&] {
      const std::string folder = output_folder(request, suite);
      open(folder);  // first, because another run may add rows until then
      return finished_in(request_, folder).dump();
    });
    const Json known = Json::parse(finished);
    for (const auto& [id, status] : known.items()) {
      finished_.insert(id);
      all_ok_ = all_ok_ && (status == "ok" || suite_.impossible.count(id) != 0);
    }
  }

  /// Returns 0 when every case is ok, otherwise 1.
  int run() {
    for (const Case& c : suite_.cases) {
      const std::string id = case_id(c);
      if (finished_.count(id) != 0) {
        log(progress_.finish(id, "-", "kept", unwritten()));
        continue;
      }
      if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
      progress_.begin(id);
      if (const auto refusal = suite_.impossible.find(id); refusal != suite_.impossible.end())
        skip(c, id, refusal->second.message());
      else
        run_one(c, id);
    }
    return all_ok_ ? 0 : 1;
  }

  const RunDirectory* directory() const { return directory_ ? &*directory_ : nullptr; }

 private:
  /// A note on requested files that a kept case does not write, for its line; "" when there are none.
  std::string unwritten() const {
    std::string flags;
    for (const AskedFile& file : asked_files(request_.outputs)) flags += (flags.empty() ? "" : ", ") + file.flag;
    if (request_.trace) flags += std::string(flags.empty() ? "" : ", ") + "--trace";
    return flags.empty() ? ""
                         : flags +
                               " wrote no file, because the case already has a finished row; choose another --out to "
                               "run it again";
  }

  void open(const std::string& folder) {
    std::vector<std::string> files{request_.suite};
    for (const AskedFile& file : asked_files(request_.outputs)) files.push_back(file.path);
    refuse_foreign_folder("--out", folder, files);
    make_output_folder("--out", folder);
    Json about = environment();
    if (ranks_.several()) about["hosts"] = ranks_.hosts();
    const Json digests = data_digests(suite_.cases);
    try {
      directory_.emplace(folder, plan_json(suite_.cases), about, request_.resume, digests, request_.retry_failed,
                         kept_outputs(request_));
    } catch (const SystemError& error) {  // nothing is measured yet, so the user can choose another folder
      throw InvalidRequest("--out", error.what());
    }
    narrate(fmt::format("{} into {}", counted(suite_.cases.size(), "case"), folder));
  }

  void skip(const Case& c, const std::string& id, const std::string& reason) {
    if (directory_) alone_in_world(ranks_.world(), [&] { keep_ended(c, id, skipped_case(c, reason)); });
  }

  void run_one(const Case& c, const std::string& id) {
    std::vector<std::vector<Span>> spans;
    CaseResult result;
    if (directory_) machine_ = {}, watch_.look();
    try {
      result = measure(c, id, request_.trace ? &spans : nullptr);
    } catch (const InterruptedCase& stop) {
      keep_ended(c, id, stop.result());
      throw;
    } catch (const LostRanksCase& lost) {
      keep_ended(c, id, lost.result());
      throw;
    } catch (const Interrupted& stop) {
      result.status = "interrupted";
      result.reason = stop.what();
      keep_ended(c, id, result);
      throw;
    }
    measured_ = true;
    all_ok_ = all_ok_ && result.status == "ok";
    if (directory_) alone_in_world(ranks_.world(), [&] { keep(c, id, result, spans); });
  }

  void keep_ended(const Case& c, const std::string& id, const CaseResult& result) {
    if (!directory_) return;
    keep_row(c, id, result);
    log(progress_.finish(id, "-", result.status, result.reason));
  }

  Row keep_row(const Case& c, const std::string& id, const CaseResult& result) {
    Row row = summarise(case_to_json(c), id, result);
    state_tuning(request_.tuned.value(id, Json()), row);
    machine_.add(watch_.look());
    if (row.time_source == "wall" && row.epoch_seconds) note_machine(row, machine_, "samples");
    directory_->append_samples(id, result.samples);
    directory_->add_row(row);
    return row;
  }

  void keep(const Case& c, const std::string& id, const CaseResult& result,
            const std::vector<std::vector<Span>>& spans) {
    // Before the row, because a case with a row is not run again, and so not traced again.
    if (request_.trace && result.status == "ok") directory_->write_trace(id, spans, result.time_source);
    const Row row = keep_row(c, id, result);
    all_ok_ = all_ok_ && row.status == "ok";
    const std::string time = row.epoch_seconds ? format_seconds(row.epoch_seconds->median) : "-";
    log(progress_.finish(id, time, row.status, row.reason));
  }

  void log(const std::string& line) {
    if (directory_)
      alone_in_world(ranks_.world(), [&] { append_durably(directory_->log_path(), line, Links::replaced); });
  }

  /// A signal ends partitioning at once, because all rows so far are on disk. If the plan was not kept, its graph may
  /// have been read again, and the file may have changed. So ranks compare their plans again.
  std::shared_ptr<const PlannedCase> plan(const Case& c) const {
    std::shared_ptr<const PlannedCase> planned;
    std::string digest;
    const auto prepare = [&] {
      const SignalsEndAtOnce scope;
      planned = plans_.take(c);
      if (ranks_.several()) digest = plan_digest(*planned);
      return digest;
    };
    ranks_.agree(prepare, [&] {
      Suite one;
      one.cases = {c};
      return account_of(request_, one, {digest});
    });
    return planned;
  }

  /// Warns before training about metrics that the case cannot have, each reason once.
  void warn(const PlannedCase& planned, const std::string& id) const {
    if (ranks_.world().rank != 0 || planned.request.numerics == "none") return;
    std::set<std::string> reported;
    const MetricNames metrics = planned.schedule->summary().metrics;
    for (const auto& [metric, reason] : metrics.absent) {
      if (reported.insert(reason).second) narrate(fmt::format("warning: {}: {}", id, reason));
    }
  }

  /// Writes samples during training, in case the run is killed. A full disk does not end training here: the end of the
  /// case writes the missing samples, or reports the error.
  void write_early(const std::string& id, const std::vector<EpochSample>& samples) {
    if (!outside_) machine_.add(watch_.look());
    try {
      directory_->append_epochs(id, samples);
    } catch (const SystemError&) {
    }
  }

  /// Completes a case that was trained, but killed before its row was written. Its losses are in the checkpoint; its
  /// times are read from the samples on disk.
  void take_left_samples(const std::string& id, CaseResult& result) const {
    result.samples = directory_->left_samples(id);
    std::set<int> epochs;
    for (const EpochSample& sample : result.samples) epochs.insert(sample.epoch);
    result.notes.push_back(
        fmt::format("an earlier run trained this case and ended before it wrote the row; it left the times of {}",
                    counted(epochs.size(), "epoch")));
  }

  /// A wrong request ends the run if nothing was measured before. Later it becomes a row, to keep the other rows.
  CaseResult measure(const Case& c, const std::string& id, std::vector<std::vector<Span>>* spans) {
    CaseResult result;
    KeepEpochs keep_epochs;
    if (directory_) keep_epochs = [&](const auto& samples) { write_early(id, samples); };
    const TellEpoch tell = [&](int repetition, std::int64_t epochs, double loss) {
      const std::int64_t each = c.warmup + c.epochs;
      progress_.epoch(id, repetition * each + epochs, c.repeat * each, loss);
    };
    try {
      return with_place(suite_, c, [&] {
        std::shared_ptr<const PlannedCase> planned = plan(c);
        const ModelOutputs& outputs = request_.outputs;
        outside_ = planned->schedule->is_outside();
        warn(*planned, id);
        const SignalsEndEpochs scope(!outputs.checkpoint.empty() && outputs.checkpoint_on_signal);
        result = run_planned(std::move(planned), c, spans, outputs, request_.limit_seconds, keep_epochs, tell,
                             [&](const auto& measured) { return plans_.checked(measured); });
        if (!result.untimed.empty() && directory_) take_left_samples(id, result);
        return result;
      });
    } catch (const Interrupted&) {
      throw;
    } catch (const RanksLost&) {
      throw;
    } catch (const Unavailable& error) {
      if (!measured_) throw;
      result.status = "skipped";
      result.reason = error.what();
    } catch (const std::bad_alloc&) {
      result.status = "out_of_memory";
      result.reason = "the host's memory is exhausted";
    } catch (const std::exception& error) {
      const bool wrong_request = dynamic_cast<const InvalidRequest*>(&error) != nullptr ||
                                 dynamic_cast<const InvalidInput*>(&error) != nullptr;
      if (wrong_request && !measured_) throw;
      result.status = "failed";
      result.reason = error.what();
    }
    return result;
  }

  const RunRequest& request_;
  const Suite& suite_;
  const Ranks& ranks_;
  KeptPlans& plans_;
  Progress progress_;
  std::optional<RunDirectory> directory_;
  MachineWatch watch_;
  MachineState machine_;  // during the current case, sampled between epochs
  std::set<std::string> finished_;
  bool measured_ = false;
  bool outside_ = false;  // whether another program trains, whose time counts as Strobe's own only when it has ended
  bool all_ok_ = true;
};

/// Prints the prices of the rows' dollars with their age, because old prices mislead.
void narrate_prices(const Suite& suite) {
  std::set<std::string> reported;
  for (const Case& c : suite.cases) {
    if (c.cluster.empty() || !reported.insert(c.cluster).second) continue;
    const std::shared_ptr<const Cluster> cluster = load_cluster(c.cluster);
    if (cluster->price_per_node_hour > 0) narrate(fmt::format("price of {}: {}", c.cluster, price_text(*cluster)));
  }
}

/// An error during training ends all ranks with the same status. Only the first one prints it.
int sweep_all(const RunRequest& request, const Suite& suite, const Ranks& ranks, KeptPlans& plans, bool prints) {
  try {
    Sweep sweep(request, suite, ranks, plans);
    const int status = sweep.run();
    if (ranks.first()) narrate_prices(suite);
    if (const RunDirectory* directory = sweep.directory(); directory != nullptr && prints)
      print_data(request.json ? read_text_file(directory->file("summary.json"))
                              : shown_lines(table_on_terminal(*directory)));
    return status;
  } catch (const RanksLost& lost) {
    if (lost.speaks()) throw;
    throw AlreadyReported(status_of(lost));
  } catch (const std::exception& error) {
    if (ranks.first()) throw;
    throw AlreadyReported(status_of(error));
  }
}

/// Whether the suite's only case has its row already, as the first process finds in the run directory.
bool row_is_kept(const RunRequest& request, const Suite& suite, const Ranks& ranks) {
  return ranks.first_does([&]() -> std::string {
    if (suite.cases.size() != 1 || request.out.empty()) return "";
    return finished_in(request, request.out).contains(case_id(suite.cases.front())) ? "kept" : "";
  }) == "kept";
}

int run_suite(RunRequest& request, Suite& suite, const World& world, bool prints) {
  if (asks_for_rounds(request)) return run_in_rounds(request, suite, world);
  const Ranks ranks = ranks_of(suite, world);
  NodeRanks here = ranks_of_node(ranks);
  here.files = files_of_training(request.outputs);
  KeptPlans plans(node_store_of(ranks, least_host_limit(suite.cases), any_lies_by_node(suite.cases)), std::move(here));
  check_all(request, suite, ranks, plans, row_is_kept(request, suite, ranks));
  plans.forget_data();
  install_signal_handlers();  // before this a signal ends the program at once, because there is nothing to keep
  return sweep_all(request, suite, ranks, plans, prints);
}

void narrate_flags(const RunRequest& request, const Suite& suite) {
  if (suite.merged > 0)
    narrate(fmt::format("left out {} that the given flags make equal to others", counted(suite.merged, "case")));
  if (request.scalars.count("draws") == 0) return;
  const auto without =
      std::count_if(suite.cases.begin(), suite.cases.end(), [](const Case& c) { return c.draws == 0; });
  if (without > 0 && static_cast<std::size_t>(without) < suite.cases.size())
    narrate(fmt::format("{} measured and without draws",
                        without == 1 ? "1 case is" : fmt::format("{} cases are", without)));
}

int run(RunRequest& request) {
  auto [suite, world] = cases_and_world(request);
  if (world.rank == 0) narrate_flags(request, suite);
  if (request.dry_run) {
    check_outputs(request.outputs, suite);
    if (!request.byte_matrix.empty()) make_output_folder("--byte-matrix", request.byte_matrix);
    if (!asks_for_tuning(request)) return dry_run(request, suite, world);
    Suite trials = trials_to_show(request, suite);
    return dry_run(request, trials, world);
  }
  if (!asks_for_tuning(request)) return run_suite(request, suite, world, true);
  return run_tuned(request, suite, world, [&world = world](RunRequest& one, Suite& cases, bool prints) {
    return run_suite(one, cases, world, prints);
  });
}

CommandAction define_run(CommandOptions& options) {
  const auto request = std::make_shared<RunRequest>();
  define_run_options(options, *request);
  return [request] { return run(*request); };
}

const Register<CommandTag> run_registered{
    {"run",
     "train the cases of a suite, or one case, for real or simulated, and measure them",
     "",
     {},
     define_run,
     {}}};

}  // namespace
}  // namespace strobe
