#include "harness/cli/run_options.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "harness/request/case.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/output_files.hpp"

namespace strobe {
namespace {

constexpr const char* what_is_trained = "What is trained";
constexpr const char* where_it_runs = "Where it runs";
constexpr const char* how_it_runs = "How data and memory are handled";

/// The heading in --help of a scalar setting of a case.
std::string group_of_field(const std::string& field) {
  static const std::map<std::string, const char*> groups = {
      {"device", where_it_runs},        {"comm", where_it_runs},
      {"cluster", where_it_runs},       {"numerics", where_it_runs},
      {"draws", where_it_runs},         {"ranks", where_it_runs},
      {"threads", where_it_runs},       {"host_threads", where_it_runs},
      {"kernels", where_it_runs},       {"timeout", where_it_runs},
      {"inputs", how_it_runs},          {"transfer", how_it_runs},
      {"transfer_format", how_it_runs}, {"nb", how_it_runs},
      {"overlap", how_it_runs},         {"rerun_last", how_it_runs},
      {"memory_limit_gib", how_it_runs}};
  const auto found = groups.find(field);
  return found == groups.end() ? what_is_trained : found->second;
}

void define_case_options(CommandOptions& options, RunRequest& request) {
  options.positional("suite", request.suite,
                     "suite: a file (JSON), or a name from `strobe list suites`; with --resume the directory of a run; "
                     "without a suite, the flags describe one case");
  options.group(what_is_trained);
  for (const CaseSlot& slot : case_slots()) {
    const std::string name = slot.name;
    std::string help = "name, or NAME:key=value,...; see `strobe list`";
    if (!slot.default_plugin.empty()) help += fmt::format(" (default {})", slot.default_plugin);
    if (name == "workload") help = "data set, generator (NAME:key=value,...) or file";
    options.named("--" + name, request.plugins, name, help, "NAME");
  }
  options.fields(case_fields(), request.scalars, group_of_field);
}

void define_sweep_options(CommandOptions& options, RunRequest& request) {
  options.group("Several cases");
  options.repeated("--set", request.sets, "key.path=value for every case, such as strategy.partitioner=hash or ranks=4",
                   "KEY=VALUE");
  options.repeated("--vary", request.varied,
                   "key.path=a,b,...: run each case once with every value, such as ranks=1,2,4, seed=1..5 or "
                   "strategy=snapshot,vertex:partitioner=metis; a value may be JSON",
                   "KEY=VALUES");
  options.toggle("--strict", request.strict,
                 "refuse the whole request when a combination cannot be run, instead of giving it a row `skipped`");
  options.text("--tune", request.tune,
               "first try N settings of the model and the optimizer for each family of cases, drawn at random, and run "
               "the cases with the best by a validation metric: 20, or 20:metric=auc",
               "N");
  options.text("--filter", request.filter, "keep the cases whose id matches this expression; -EXPR drops them", "EXPR");
}

void define_directory_options(CommandOptions& options, RunRequest& request) {
  options.group("The run and its directory");
  options.text("--out", request.out, "run directory (default runs/NAME-UTCTIME)", "DIR");
  options.text("--rounds", request.rounds,
               "rounds: each measures every case once, in a new process; intervals then show how much processes differ "
               "(default 1: all in this process)",
               "N");
  options.text("--until-interval", request.until_interval,
               "measure rounds, at least 5, until the 99 % interval of every ratio to the fastest case reaches at most "
               "this share to either side, such as 3%",
               "SHARE");
  options.text("--launch", request.launch,
               "with --rounds: words before each process, such as \"mpirun -n {ranks}\" for cases of several processes",
               "WORDS");
  options.text(
      "--time-limit", request.time_limit,
      "wall time that a case may train, such as 90s, 15min or 2h: no epoch begins after it, the row has status timeout "
      "and its finished epochs, and the next case begins (default: none)",
      "TIME");
  options.toggle("--resume", request.resume,
                 "continue the run of --out, or of a directory alone (--resume DIR); finished cases are not run again");
  options.toggle("--retry-failed", request.retry_failed, "with --resume: run cases again whose row is not ok");
  options.toggle("--dry-run", request.dry_run, "print the plan of every case and run nothing");
  options.text(
      "--byte-matrix", request.byte_matrix,
      "with --dry-run: write the byte matrix of every exchange into this folder, for nccl-tests' alltoallv_perf",
      "DIR");
  options.toggle(
      "--planned-memory", request.outputs.planned_memory,
      "also plan the memory of every rank by part, for its row or its dry run; takes as long as simulating two "
      "epochs, or with batches of events one for each rank");
  options.toggle("--trace", request.trace, "write trace/CASE.json, to be opened in Perfetto");
  options.toggle("--json", request.json, "print the summary as JSON instead of a table");
}

/// Options for the files that a run of one case can write in addition to its row.
void define_output_options(CommandOptions& options, RunRequest& request) {
  options.group("Files of one case");
  options.text("--save-model", request.outputs.weights,
               "write the trained weights of the one case to this safetensors file", "FILE");
  for (const auto& [name, entry] : OutputFileRegistry::instance().entries())
    options.text(output_flag(name), request.outputs.files[name], entry.description, "FILE");
}

void define_checkpoint_options(CommandOptions& options, RunRequest& request) {
  options.text("--checkpoint", request.outputs.checkpoint,
               "keep the training state of the one case in this safetensors file: weights and optimiser state", "FILE");
  options.text("--checkpoint-every", request.checkpoint_every,
               "epochs from one checkpoint to the next (default: after the last)", "N");
  options.toggle("--checkpoint-on-signal,!--no-checkpoint-on-signal", request.outputs.checkpoint_on_signal,
                 "a signal (INT, TERM, HUP, USR1, USR2, XCPU) lets the current epoch end and then writes the file of "
                 "--checkpoint; a second signal ends the run at once (default: yes)");
  options.toggle("--resume-training", request.outputs.resume_training,
                 "continue training from the file of --checkpoint");
}

}  // namespace

void define_run_options(CommandOptions& options, RunRequest& request) {
  define_case_options(options, request);
  define_sweep_options(options, request);
  define_directory_options(options, request);
  define_output_options(options, request);
  define_checkpoint_options(options, request);
  options.example(
      "Flags override the suite's cases, and cases override the suite's defaults.\n"
      "Examples: strobe run quickstart --filter chess\n"
      "          strobe run --workload chess --strategy snapshot --ranks 4 --set model.window=7\n"
      "          strobe run --workload chess --vary strategy=snapshot,vertex:partitioner=metis --vary seed=1..5\n"
      "          strobe run --workload chess --strategy vertex --ranks 64 --device sim --cluster p5-h100\n"
      "          strobe run --workload chess --strategy snapshot --ranks 2 --trace --out runs/traced\n"
      "          strobe run --resume runs/traced\n"
      "          mpirun -n 4 strobe run --workload chess --strategy vertex --ranks 4 --comm mpi");
}

}  // namespace strobe
