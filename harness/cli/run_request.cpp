#include "harness/cli/run_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/units.hpp"
#include "harness/cli/typed_settings.hpp"
#include "harness/cli/varied_values.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/json_text.hpp"

namespace strobe {
namespace {

constexpr const char* what_is_trained = "What is trained";
constexpr const char* where_it_runs = "Where it runs";
constexpr const char* how_it_runs = "How data and memory are handled";

/// Under which heading --help shows a scalar setting of a case.
std::string group_of_field(const std::string& field) {
  static const std::map<std::string, const char*> groups = {{"device", where_it_runs},
                                                            {"comm", where_it_runs},
                                                            {"cluster", where_it_runs},
                                                            {"numerics", where_it_runs},
                                                            {"ranks", where_it_runs},
                                                            {"threads", where_it_runs},
                                                            {"host_threads", where_it_runs},
                                                            {"kernels", where_it_runs},
                                                            {"timeout", where_it_runs},
                                                            {"inputs", how_it_runs},
                                                            {"transfer", how_it_runs},
                                                            {"transfer_format", how_it_runs},
                                                            {"nb", how_it_runs},
                                                            {"overlap", how_it_runs},
                                                            {"rerun_last", how_it_runs},
                                                            {"memory_limit_gib", how_it_runs}};
  const auto found = groups.find(field);
  return found == groups.end() ? what_is_trained : found->second;
}

void define_case_options(CommandOptions& options, RunRequest& request) {
  options.positional("suite", request.suite,
                     "suite: a file (JSON), or a name from `strobe list suites`; with --resume the directory of a run; "
                     "without it, the flags describe one case");
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
  options.repeated("--set", request.sets, "key.path=value for every case, as strategy.partitioner=hash or ranks=4",
                   "KEY=VALUE");
  options.repeated("--vary", request.varied,
                   "key.path=a,b,...: run each case once with every value, as ranks=1,2,4, seed=1..5 or "
                   "strategy=snapshot,vertex:partitioner=metis; a value may be JSON",
                   "KEY=VALUES");
  options.toggle("--strict", request.strict,
                 "refuse the whole request when a combination cannot be run, instead of giving it a row `skipped`");
  options.text("--filter", request.filter, "keep the cases whose id matches this expression; -EXPR drops them", "EXPR");
}

void define_directory_options(CommandOptions& options, RunRequest& request) {
  options.group("The run and its directory");
  options.text("--out", request.out, "run directory (default runs/NAME-UTCTIME)", "DIR");
  options.text("--rounds", request.rounds,
               "measure every case in so many processes of its own, all cases in turn: intervals then tell how one "
               "process differs from the next (default 1: all in this process)",
               "N");
  options.text("--launch", request.launch,
               "with --rounds: words before each process, as \"mpirun -n {ranks}\" for cases of several processes",
               "WORDS");
  options.text(
      "--time-limit", request.time_limit,
      "wall time that a case may train, as 90s, 15min or 2h: no epoch begins after it, the row has status timeout "
      "and its finished epochs, and the next case begins (default: none)",
      "TIME");
  options.toggle(
      "--resume", request.resume,
      "continue a run, that of --out, or with nothing but its directory (--resume DIR): finished cases are not "
      "run again");
  options.toggle("--retry-failed", request.retry_failed, "with --resume: run cases again whose row is not ok");
  options.toggle("--dry-run", request.dry_run, "print the plan of every case and run nothing");
  options.text(
      "--byte-matrix", request.byte_matrix,
      "with --dry-run: write the byte matrix of every exchange into this folder, for nccl-tests' alltoallv_perf",
      "DIR");
  options.toggle("--trace", request.trace, "write trace/CASE.json, to be opened in Perfetto");
  options.toggle("--json", request.json, "print the summary as JSON instead of a table");
}

/// What a run of one case can leave behind besides its row, and start from.
void define_output_options(CommandOptions& options, RunRequest& request) {
  options.group("Files of one case");
  options.text("--save-model", request.outputs.weights,
               "write the trained weights of the one case to this safetensors file", "FILE");
  options.text(
      "--dump-embeddings", request.outputs.embeddings,
      "write the embeddings that the trained weights of the one case give to this .npy file: [steps, vertices, "
      "features], or of models of events [events, 3, features] for source, destination and a negative",
      "FILE");
  options.text(
      "--dump-memory", request.outputs.memory,
      "models of events: write node memory, last update, mails, their time and event, as the last evaluation leaves "
      "them, to this safetensors file",
      "FILE");
  options.text(
      "--dump-ranks", request.outputs.ranks,
      "models of events: write where each judged event's destination stands among its candidates under the "
      "trained weights of the one case to this .csv file (event, part, source, destination, candidates, rank, then "
      "ids and names of both)",
      "FILE");
  options.text("--dump-samples", request.outputs.samples,
               "write the samples that the task of the one case drew, positives and negatives, to this .csv file",
               "FILE");
  options.text("--dump-placement", request.outputs.placement,
               "write who owns which cell under the strategy of the one case to this .csv file (step, vertex, rank, "
               "temporal_rank), in a dry run too",
               "FILE");
  options.text(
      "--dump-schedule", request.outputs.schedule,
      "models of events: write which rank trains on which events in which iteration, and when memory is read and "
      "written, to this .csv file (iteration, trainer, copy, sweep, first_event, last_event, negatives, "
      "operation), in a dry run too",
      "FILE");
}

void define_checkpoint_options(CommandOptions& options, RunRequest& request) {
  options.text("--checkpoint", request.outputs.checkpoint,
               "keep where training of the one case stands in this safetensors file: weights and optimiser state",
               "FILE");
  options.text("--checkpoint-every", request.checkpoint_every,
               "epochs from one checkpoint to the next (default: after the last)", "N");
  options.toggle("--checkpoint-on-signal,!--no-checkpoint-on-signal", request.outputs.checkpoint_on_signal,
                 "a signal (INT, TERM, HUP, USR1, USR2, XCPU) lets the epoch under way end and leaves a checkpoint, "
                 "where one is asked for; a second one ends the run at once (default: yes)");
  options.toggle("--resume-training", request.outputs.resume_training,
                 "go on from where the file of --checkpoint stands");
}

}  // namespace

void define_run_options(CommandOptions& options, RunRequest& request) {
  define_case_options(options, request);
  define_sweep_options(options, request);
  define_directory_options(options, request);
  define_output_options(options, request);
  define_checkpoint_options(options, request);
  options.example(
      "Flags go over the suite's cases, these over its defaults.\n"
      "Examples: strobe run quickstart --filter chess\n"
      "          strobe run --workload chess --strategy snapshot --ranks 4 --set model.window=7\n"
      "          strobe run --workload chess --vary strategy=snapshot,vertex:partitioner=metis --vary seed=1..5\n"
      "          strobe run --workload chess --strategy vertex --ranks 64 --device sim --cluster p5-h100\n"
      "          strobe run --workload chess --strategy snapshot --ranks 2 --trace --out runs/traced\n"
      "          strobe run --resume runs/traced\n"
      "          mpirun -n 4 strobe run --workload chess --strategy vertex --ranks 4 --comm mpi");
}

std::int64_t checkpoint_interval(const RunRequest& request) {
  if (request.checkpoint_every.empty()) return 0;
  const double epochs = number_from_text(request.checkpoint_every, "--checkpoint-every");
  if (epochs >= 1 && epochs <= 1e9 && epochs == std::floor(epochs)) return static_cast<std::int64_t>(epochs);
  throw InvalidRequest("--checkpoint-every",
                       "expected a whole number of epochs from 1, found " + request.checkpoint_every);
}

double time_limit_seconds(const RunRequest& request) {
  if (request.time_limit.empty()) return 0;
  const double seconds = parse_duration_seconds(request.time_limit, "--time-limit");
  if (seconds > 0) return seconds;
  throw InvalidRequest("--time-limit", "expected a time above 0, found " + request.time_limit);
}

namespace {

/// The settings once for every combination of the values of --vary, those of the last one varying fastest.
std::vector<std::vector<Setting>> varied_settings(const RunRequest& request) {
  std::vector<std::vector<Setting>> all = {typed_settings(request.plugins, request.scalars, request.sets)};
  for (const std::string& text : request.varied) {
    const auto [path, typed] = split_assignment(text, "--vary");
    const std::vector<std::string> values = varied_values(path, typed);
    if (all.size() * values.size() > most_cases) {
      throw InvalidRequest("--vary", fmt::format("more than {} cases; vary less in one run", most_cases));
    }
    std::vector<std::vector<Setting>> longer;
    for (const std::vector<Setting>& settings : all) {
      for (const std::string& value : values) {
        longer.push_back(settings);
        for (Setting& setting : settings_of_value(path, value)) longer.back().push_back(std::move(setting));
      }
    }
    if (longer.empty()) throw InvalidRequest("--vary", "no value is given for " + path);
    all = std::move(longer);
  }
  return all;
}

/// Adds the cases that `suite` does not have yet.
void add_cases(Suite& suite, Suite more) {
  suite.merged += more.merged;
  for (Case& c : more.cases) {
    const std::string id = case_id(c);
    if (suite.origins.emplace(id, more.origins[id]).second) {
      if (const auto refusal = more.impossible.find(id); refusal != more.impossible.end())
        suite.impossible.insert(*refusal);
      suite.cases.push_back(std::move(c));
    } else {
      ++suite.merged;
    }
  }
}

}  // namespace

Suite cases_of(const RunRequest& request) {
  const bool has_workload = request.plugins.count("workload") != 0 ||
                            std::any_of(request.varied.begin(), request.varied.end(),
                                        [](const std::string& text) { return text.starts_with("workload="); });
  if (request.suite.empty() && !has_workload) {
    throw InvalidRequest("", "run what? Give a suite file, a name from `strobe list suites`, or --workload NAME");
  }
  Suite suite;
  const ImpossibleCases impossible = request.strict ? ImpossibleCases::refused : ImpossibleCases::kept;
  for (const std::vector<Setting>& settings : varied_settings(request)) {
    Suite one = request.suite.empty() ? suite_from_settings(settings, impossible)
                                      : load_suite(request.suite, settings, CaseRuns::here, impossible);
    if (suite.cases.empty()) {
      suite = std::move(one);
    } else {
      add_cases(suite, std::move(one));
    }
  }
  if (suite.cases.size() > most_cases) {
    throw InvalidRequest("", fmt::format("{} cases, at most {} are planned in one run; vary less, or split the suite",
                                         suite.cases.size(), most_cases));
  }
  filter_cases(suite, request.filter);
  refuse_if_all_impossible(suite);
  return suite;
}

namespace {

/// Makes folder `path`, or `path`-2, -3, ...: the first that is not there, so that runs begun in one second, by other
/// processes too, keep apart. What cannot be made is left to whoever writes to it.
std::string new_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  constexpr int most = 1000;
  for (int number = 1; number <= most && !failed; ++number) {
    const std::string name = number == 1 ? path : fmt::format("{}-{}", path, number);
    if (fs::create_directory(name, failed)) return name;
  }
  return path;
}

}  // namespace

std::string output_folder(const RunRequest& request, const Suite& suite) {
  if (!request.out.empty()) return request.out;
  if (request.resume) throw InvalidRequest("--resume", "name the run to continue with --out");
  const std::time_t now = std::time(nullptr);  // calendar: part of a folder's name
  std::tm utc{};
  gmtime_r(&now, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
  return new_folder(fmt::format("runs/{}-{}", suite.name, stamp));
}

void check_cluster(const std::string& cluster, const std::string& option) {
  try {
    load_cluster(cluster);
  } catch (const InvalidRequest& error) {
    throw InvalidRequest(option, words_of_place(error, cluster_base(cluster)));
  }
}

}  // namespace strobe
