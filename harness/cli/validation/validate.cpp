// `strobe validate`: compares the simulator's predictions with measurements on this machine, with earlier measurements,
// or with values that papers printed.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/figure.hpp"
#include "harness/cli/validation/validate_programs.hpp"
#include "harness/cli/validation/validation_run.hpp"
#include "harness/measure/run_request.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"
#include "harness/process/signals.hpp"
#include "harness/process/world.hpp"
#include "harness/request/bundled_suite.hpp"
#include "harness/request/typed_settings.hpp"
#include "harness/validation/pledge.hpp"
#include "harness/validation/published_collectives.hpp"
#include "harness/validation/published_report.hpp"
#include "harness/validation/validation_report.hpp"
#include "results/run/environment.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

void check_world_of_validation(const Suite& suite, const World& world) {
  if (world.size <= 1) return;
  for (const Case& c : suite.cases) {
    if (!c.cluster.empty() || !in_one_process(c)) continue;
    throw InvalidRequest("SUITE", fmt::format("{} processes were started (says {}), but {} runs in one process; judge "
                                              "cases with comm mpi, or start one process",
                                              world.size, world.launcher, case_id(c)));
  }
}

void check_cluster_of(const ValidateCommand& command) {
  if (command.cluster.empty()) {
    throw InvalidRequest("--cluster",
                         "name this machine's cluster file, which strobe calibrate writes (--published compares with "
                         "papers instead)");
  }
  check_cluster(command.cluster, "--cluster");
}

/// A model that --set names without sizes gets those of its paper.
Suite suite_of(const ValidateCommand& command, CaseRuns runs) {
  std::vector<Setting> settings = set_settings(command.sets);
  const auto model =
      std::find_if(settings.begin(), settings.end(), [](const Setting& one) { return one.path == "model"; });
  if (model != settings.end()) {
    const std::string name = model->text;
    const std::size_t typed = settings.size();
    add_paper_sizes(settings);
    if (settings.size() > typed) narrate(fmt::format("model {}: sizes of the paper ({}:preset=paper)", name, name));
  }
  return load_suite(command.suite.empty() ? bundled_suite("validate") : suite_path(command.suite), settings, runs);
}

int validate_here(const ValidateCommand& command) {
  Suite suite = suite_of(command, CaseRuns::here);
  filter_cases(suite, command.filter);
  const World world = launched_world();
  const bool first = world.rank == 0;
  check_world_of_validation(suite, world);
  const PairSelection selection = select_pairs(suite, command.cluster);
  if (first) narrate_selection(selection, command.cluster, "of published numbers for other hardware");
  install_signal_handlers();
  suite.name = "validate-" + suite.name;
  std::unique_ptr<ValidationKeeper> keeper;
  if (first) keeper = std::make_unique<ValidationKeeper>(folder_of(command, suite), selection.pairs, environment());
  std::vector<MachineShare> machine;
  const auto note_machine = [&] {
    if (selection.calibrated) machine.push_back(machine_share(command.cluster, selection.pairs.front().measured));
  };
  note_machine();
  const std::vector<PairResult> results = run_pairs(selection, world, keeper.get());
  note_machine();
  if (!first) return 0;
  const ValidationReport report{suite.name,         command.cluster,      selection.calibrated,
                                selection.left_out, judge_pairs(results), machine};
  return finish(command, report, *keeper, validation_to_json(report));
}

/// The cases and rows of --measured.
EarlierCases earlier_cases(const ValidateCommand& command) {
  if (!holds_whole_cases(command.measured)) {
    return cases_of_csv(command.measured, suite_of(command, CaseRuns::elsewhere), command.filter);
  }
  for (const auto& [flag, given] : {std::pair{"SUITE", !command.suite.empty()}, {"--set", !command.sets.empty()}}) {
    if (given) {
      throw InvalidRequest(
          flag,
          fmt::format("{} is a run, whose rows state their cases; choose among them with --filter", command.measured));
    }
  }
  return cases_of_run(command.measured, command.filter);
}

World world_of_one() {
  const World world = launched_world();
  if (world.size <= 1) return world;
  throw InvalidRequest("--measured", fmt::format("runs nothing, so one process does it; {} were started (says {})",
                                                 world.size, world.launcher));
}

/// Judges pledged predictions. Neither runs nor simulates anything.
int validate_pledge(const ValidateCommand& command) {
  for (const auto& [flag, given] : {std::pair{"SUITE", !command.suite.empty()},
                                    {"--set", !command.sets.empty()},
                                    {"--filter", !command.filter.empty()},
                                    {"--terms", command.terms}}) {
    if (given) throw InvalidRequest(flag, "does not go with --pledge: a pledge is judged as a whole");
  }
  if (command.measured.empty())
    throw InvalidRequest("--pledge", "name the run that measured these cases with --measured RUN");
  world_of_one();
  const Pledge pledge = read_pledge(command.pledge);
  if (!holds_whole_cases(command.measured))
    throw InvalidRequest("--measured", command.measured +
                                           " lacks whole cases, which a pledge is compared with; name a "
                                           "run directory or its summary.json");
  const EarlierCases cases = cases_of_run(command.measured, "");
  PledgedResults found = match_pledge(pledge, command.cluster, cases);
  found.left_out.insert(found.left_out.end(), cases.left_out.begin(), cases.left_out.end());
  if (!command.out.empty()) make_output_folder("--out", command.out);
  const ValidationReport report{
      cases.suite.name,
      found.cluster,
      found.calibrated,
      found.left_out,
      judge_pairs(found.results),
      {},
      cases.origin,
      PledgeOrigin{command.pledge, pledge.date, pledge.program, pledge.sha256, pledge.points.size()}};
  const Json json = validation_to_json(report);
  if (!command.out.empty()) {
    write_file_atomically(command.out + "/validation.json", json.dump(2) + "\n");
    write_file_atomically(command.out + "/validation.csv", validation_csv(report.judgement));
  }
  return print_validation(command, report, json);
}

/// Judges measurements from a file, and runs only simulations.
int validate_earlier(const ValidateCommand& command) {
  const World world = world_of_one();
  EarlierCases cases = earlier_cases(command);
  PairSelection selection = select_pairs(cases.suite, command.cluster);
  selection.left_out.insert(selection.left_out.end(), cases.left_out.begin(), cases.left_out.end());
  narrate("measured elsewhere: " + cases.origin.what());
  narrate_selection(selection, command.cluster, "of published numbers");
  install_signal_handlers();
  cases.suite.name = "validate-" + cases.suite.name;
  const Json& known = cases.origin.environment;
  const Json here = known.is_null() ? Json{{"measured_elsewhere", cases.origin.path}} : known;
  ValidationKeeper keeper(folder_of(command, cases.suite), selection.pairs, here);
  std::vector<PairResult> results = earlier_results(selection.pairs, cases);
  Progress progress(results.size(), false);
  simulate_pairs(results, listener_of(progress, world, &keeper));
  const ValidationReport report{cases.suite.name,   command.cluster,      selection.calibrated,
                                selection.left_out, judge_pairs(results), {},
                                cases.origin};
  return finish(command, report, keeper, validation_to_json(report));
}

/// Compares predictions with public measurements of collectives.
int validate_collectives(const ValidateCommand& command) {
  if (!command.out.empty()) make_output_folder("--out", command.out);
  std::vector<CollectiveTable> tables = load_collective_tables();
  for (CollectiveTable& table : tables) predict(table);
  const Json json = collectives_to_json(tables);
  if (!command.out.empty()) write_file_atomically(command.out + "/collectives.json", json.dump(2) + "\n");
  print_data(command.json ? json.dump(2) + "\n" : shown_lines(collectives_text(tables)));
  return 0;
}

/// Compares predictions with one paper, or with all that have a description.
int validate_published(const ValidateCommand& command) {
  for (const auto& [flag, given] : {std::pair{"--cluster", !command.cluster.empty()},
                                    {"--measured", !command.measured.empty()},
                                    {"--pledge", !command.pledge.empty()},
                                    {"SUITE", !command.suite.empty()},
                                    {"--filter", !command.filter.empty()},
                                    {"--set", !command.sets.empty()},
                                    {"--figure", !command.figure.empty()}}) {
    if (given) throw InvalidRequest(flag, "does not go with --published, whose descriptions state the cases");
  }
  if (command.published == "collectives") return validate_collectives(command);
  std::vector<PublishedPaper> papers;
  for (const std::string& name : published_names()) {
    if (command.published == "all") papers.push_back(load_published(name));
  }
  if (papers.empty()) papers.push_back(load_published(command.published));
  if (!command.out.empty()) make_output_folder("--out", command.out);
  install_signal_handlers();
  for (PublishedPaper& paper : papers)
    predict(
        paper, [](const std::string& what) { narrate(what); }, command.terms);
  const Json json = published_to_json(papers);
  if (!command.out.empty()) {
    write_file_atomically(command.out + "/published.json", json.dump(2) + "\n");
    write_file_atomically(command.out + "/published.csv", published_csv(papers));
  }
  print_data(command.json ? json.dump(2) + "\n" : shown_lines(published_text(papers)));
  return 0;
}

int validate(const ValidateCommand& command) {
  for (const auto& [flag, given] :
       {std::pair{"--published", !command.published.empty()}, {"--pledge", !command.pledge.empty()}}) {
    if (given && !command.programs.empty())
      throw InvalidRequest("--programs", fmt::format("does not go with {}; leave one of them out", flag));
  }
  if (!command.software.empty() && command.programs.empty())
    throw InvalidRequest("--software", "says whose program --programs predicts; add --programs, or leave it out");
  if (!command.published.empty()) return validate_published(command);
  if (!command.figure.empty()) check_figure_path(command.figure);
  if (!command.pledge.empty()) return validate_pledge(command);
  if (!command.programs.empty()) check_programs(command);
  check_cluster_of(command);
  if (!command.programs.empty()) return validate_programs(command);
  return command.measured.empty() ? validate_here(command) : validate_earlier(command);
}

void define_programs(CommandOptions& options, ValidateCommand& command) {
  options.text("--programs", command.programs,
               "measure and predict public PyTorch programs in turn: names with commas between them, or all", "NAMES");
  options.text("--software", command.software,
               "with --programs: the profile that predicts them (default pytorch-eager)", "NAME|FILE");
}

CommandAction define_validate(CommandOptions& options) {
  const auto command = std::make_shared<ValidateCommand>();
  options.positional("suite", command->suite,
                     "suite of real cases to judge: a file, or a name from `strobe list suites` (default validate)");
  options.text("--cluster", command->cluster, "cluster file of this machine, as strobe calibrate writes it",
               "NAME|FILE");
  options.text("--measured", command->measured,
               "judge earlier measurements and run nothing: all cases of a run directory or its summary.json, or the "
               "suite's cases in a validation.csv",
               "RUN|FILE");
  options.text("--pledge", command->pledge,
               "with --measured: judge what strobe plan --pledge wrote into this file, and simulate nothing; --cluster "
               "chooses among its clusters",
               "FILE");
  options.text("--published", command->published,
               "compare with a paper's printed figures instead: its name, or all; collectives compares with public "
               "measurements of collectives (needs no cluster file and no suite)",
               "PAPER");
  define_programs(options, *command);
  options.toggle("--terms", command->terms,
                 "with --published: also predict with each term of the paper's software left out in turn");
  options.repeated("--set", command->sets, "key.path=value for every case, such as epochs=3", "KEY=VALUE");
  options.text("--filter", command->filter, "keep the cases whose id matches this expression; -EXPR drops them",
               "EXPR");
  options.text("--out", command->out,
               "folder of the report and of both runs' rows (default runs/validate-NAME-UTCTIME)", "DIR");
  options.text("--figure", command->figure, "draw predicted against measured as this .png or .svg (writes both)",
               "FILE");
  options.toggle("--json", command->json, "print the report as JSON");
  options.example(
      "Exits with 1 when a case failed or sent other bytes than predicted, and with 6 when there is no "
      "verdict.\n"
      "Examples: strobe validate --cluster this-machine.json\n"
      "          strobe validate --cluster this-machine.json --filter chess --set repeat=5\n"
      "          strobe validate --measured runs/rented-gpu --cluster p5-h100 --filter r1#\n"
      "          strobe validate --pledge before.json --measured runs/rented-gpu\n"
      "          strobe validate --programs t-gcn,dysat --cluster this-machine.json --software software.json\n"
      "          strobe validate --published esdg");
  return [command] { return validate(*command); };
}

const Register<CommandTag> validate_registered{
    {"validate",
     "predictions against measurements of this machine, earlier or published ones",
     "",
     {},
     define_validate,
     {}}};

}  // namespace
}  // namespace strobe
