// `strobe validate`: how far the simulator's predictions are from what this machine measures, or from what papers
// printed.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "core/errors.hpp"
#include "core/units.hpp"
#include "harness/calibration/machine_rates.hpp"
#include "harness/cli/bundled_suite.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/figure.hpp"
#include "harness/cli/narrate.hpp"
#include "harness/cli/run_request.hpp"
#include "harness/cli/signals.hpp"
#include "harness/cli/typed_settings.hpp"
#include "harness/cli/world.hpp"
#include "harness/validation/published_report.hpp"
#include "harness/validation/validation_report.hpp"
#include "results/environment.hpp"
#include "results/files.hpp"
#include "results/run_directory.hpp"

namespace strobe {
namespace {

constexpr std::size_t explained_cases = 5;

struct ValidateCommand {
  std::string suite, cluster, out, filter, figure, published;
  std::vector<std::string> sets;
  bool json = false;
};

/// A folder that cannot be written to is found before hours are spent.
void prepare_folder(const std::string& folder) {
  try {
    make_folder(folder);
    check_writable(folder);
  } catch (const SystemError& error) {
    throw InvalidRequest("--out", error.what());
  }
}

/// Two run directories in one folder, one of measured and one of predicted rows, and the report beside them.
class Keeper {
 public:
  Keeper(const std::string& folder, const std::vector<ValidationPair>& pairs) : folder_(folder) {
    std::vector<Case> measured, simulated;
    for (const ValidationPair& pair : pairs) {
      measured.push_back(pair.measured);
      simulated.push_back(pair.simulated);
    }
    prepare_folder(folder);
    const Json here = environment();
    measured_ = std::make_unique<RunDirectory>(folder + "/measured", plan_json(measured), here, false);
    predicted_ = std::make_unique<RunDirectory>(folder + "/predicted", plan_json(simulated), here, false);
  }

  void keep(const PairResult& result) {
    add(*measured_, result.pair.measured, result.measured);
    add(*predicted_, result.pair.simulated, result.simulated);
  }

  void write(const ValidationReport& report, const Json& json) const {
    write_file_atomically(folder_ + "/validation.json", json.dump(2) + "\n");
    write_file_atomically(folder_ + "/validation.csv", validation_csv(report.judgement));
  }

 private:
  static void add(RunDirectory& directory, const Case& c, const CaseResult& result) {
    const std::string id = case_id(c);
    directory.append_samples(id, result.samples);
    directory.add_row(summarise(case_to_json(c), id, result));
  }

  std::string folder_;
  std::unique_ptr<RunDirectory> measured_, predicted_;
};

void check_world_of_validation(const Suite& suite, const World& world) {
  if (world.size <= 1) return;
  for (const Case& c : suite.cases) {
    if (c.comm != "local") continue;
    throw InvalidRequest("SUITE", fmt::format("{} processes were started (says {}), but {} runs in one process; judge "
                                              "cases with comm mpi, or start one process",
                                              world.size, world.launcher, case_id(c)));
  }
}

std::vector<PairResult> run_pairs(const PairSelection& selection, bool first, Keeper* keeper) {
  std::size_t runs = selection.pairs.size();
  for (const ValidationPair& pair : selection.pairs) runs += static_cast<std::size_t>(pair.measured.repeat);
  Progress progress(runs, !first);
  PairListener listener;
  listener.begin = [&](const std::string& what) { progress.begin(what); };
  listener.end = [&](const std::string& what, const CaseResult& result) {
    const double seconds = result.samples.empty() ? 0 : result.samples.back().epoch_seconds;
    progress.finish(what, seconds > 0 ? format_seconds(seconds) : "-", result.status, result.reason);
  };
  listener.keep = [&](const PairResult& result) {
    if (keeper != nullptr) keeper->keep(result);
  };
  return measure_pairs(selection.pairs, first, listener);
}

/// The machine's ceilings, measured as `strobe calibrate` does, beside those of the cluster file. All processes of a
/// world must call it.
MachineShare machine_share(const std::string& cluster, const Case& any) {
  const bool any_size = CommunicatorRegistry::instance().find(any.comm, "/comm").value.world_size() == 0;
  const MachineRates now = machine_rates(any, any_size ? 1 : any.ranks);
  const GpuModel& then = load_cluster(cluster)->gpu;
  return {now.flops_fp32_per_second / then.flops_fp32_per_second,
          now.memory_bytes_per_second / then.memory_bytes_per_second};
}

void check_cluster_of(const ValidateCommand& command) {
  if (command.cluster.empty()) {
    throw InvalidRequest("--cluster",
                         "validate against what? The cluster file of this machine that strobe calibrate "
                         "writes (--published compares with papers instead)");
  }
  check_cluster(command.cluster, "--cluster");
}

int validate_here(const ValidateCommand& command) {
  check_cluster_of(command);
  Suite suite = load_suite(suite_path(command.suite.empty() ? "validate" : command.suite), set_settings(command.sets));
  filter_cases(suite, command.filter);
  const World world = launched_world();
  const bool first = world.rank == 0;
  check_world_of_validation(suite, world);
  const PairSelection selection = select_pairs(suite, command.cluster);
  if (first && !selection.calibrated) {
    narrate(fmt::format("warning: {} is not calibrated; errors are of published numbers for other hardware",
                        command.cluster));
  }
  if (first) {
    narrate(fmt::format("judging {}; {} left out", counted(selection.pairs.size(), "case"), selection.left_out.size()));
  }
  install_signal_handlers();
  RunRequest output;
  output.out = command.out;
  suite.name = "validate-" + suite.name;
  const std::string folder = first ? output_folder(output, suite) : "";
  const auto keeper = first ? std::make_unique<Keeper>(folder, selection.pairs) : nullptr;
  std::vector<MachineShare> machine;
  const auto note_machine = [&] {
    if (selection.calibrated) machine.push_back(machine_share(command.cluster, selection.pairs.front().measured));
  };
  note_machine();
  const std::vector<PairResult> results = run_pairs(selection, first, keeper.get());
  note_machine();
  if (!first) return 0;
  const ValidationReport report{suite.name,         command.cluster,      selection.calibrated,
                                selection.left_out, judge_pairs(results), machine};
  const Json json = validation_to_json(report);
  keeper->write(report, json);
  if (!command.figure.empty()) draw_figure("validation", json, command.figure);
  print_data(command.json ? json.dump(2) + "\n" : validation_text(report, explained_cases));
  narrate("kept in " + folder);
  const Judgement& found = report.judgement;
  return found.bytes_wrong > 0 || found.failed > 0 || found.judged == 0 ? 1 : 0;
}

/// One paper or, as "all", every one with a description.
int validate_published(const ValidateCommand& command) {
  for (const auto& [flag, given] : {std::pair{"--cluster", !command.cluster.empty()},
                                    {"SUITE", !command.suite.empty()},
                                    {"--filter", !command.filter.empty()},
                                    {"--set", !command.sets.empty()},
                                    {"--figure", !command.figure.empty()}}) {
    if (given) throw InvalidRequest(flag, "does not go with --published, whose descriptions state the cases");
  }
  std::vector<PublishedPaper> papers;
  for (const std::string& name : published_names()) {
    if (command.published == "all") papers.push_back(load_published(name));
  }
  if (papers.empty()) papers.push_back(load_published(command.published));
  if (!command.out.empty()) prepare_folder(command.out);
  install_signal_handlers();
  for (PublishedPaper& paper : papers) predict(paper, [](const std::string& what) { narrate(what); });
  const Json json = published_to_json(papers);
  if (!command.out.empty()) {
    write_file_atomically(command.out + "/published.json", json.dump(2) + "\n");
    write_file_atomically(command.out + "/published.csv", published_csv(papers));
  }
  print_data(command.json ? json.dump(2) + "\n" : published_text(papers));
  return 0;
}

int validate(const ValidateCommand& command) {
  if (!command.published.empty()) return validate_published(command);
  if (!command.figure.empty()) check_figure_path(command.figure);
  return validate_here(command);
}

CommandAction define_validate(CommandOptions& options) {
  const auto command = std::make_shared<ValidateCommand>();
  options.positional("suite", command->suite,
                     "suite of real cases to judge: a file, or a bundled name (default validate)");
  options.text("--cluster", command->cluster, "cluster file of this machine, as strobe calibrate writes it");
  options.text("--published", command->published,
               "compare with what a paper printed instead: its name, or all (no cluster file and no suite)");
  options.repeated("--set", command->sets, "key.path=value for every case, as epochs=3");
  options.text("--filter", command->filter, "keep the cases whose id matches this expression; -EXPR drops them");
  options.text("--out", command->out,
               "folder of the report and of both runs' rows (default runs/validate-NAME-UTCTIME)");
  options.text("--figure", command->figure, "draw predicted against measured as this .png or .svg (writes both)");
  options.toggle("--json", command->json, "print the report as JSON");
  options.example(
      "Exits with 1 when a case failed or sent other bytes than predicted.\n"
      "Examples: strobe validate --cluster this-machine.json\n"
      "          strobe validate --cluster this-machine.json --filter chess --set repeat=5\n"
      "          strobe validate --published esdg");
  return [command] { return validate(*command); };
}

const Register<CommandTag> validate_registered{
    {"validate",
     "predictions against measurements of this machine, or against published ones",
     "",
     {},
     define_validate,
     {}}};

}  // namespace
}  // namespace strobe
