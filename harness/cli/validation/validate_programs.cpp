// Starts the programs of bench/peers/programs as cases of strategy `external`, in turn with their predictions.
#include "harness/cli/validation/validate_programs.hpp"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/system/program_files.hpp"
#include "harness/process/python.hpp"
#include "harness/process/signals.hpp"
#include "harness/validation/programs/programs.hpp"
#include "results/run/environment.hpp"

namespace strobe {
namespace {

std::string folder_of_programs() {
  const std::string folder = program_folder(STROBE_PUBLISHED_DIR) + "/../../bench/peers/programs";
  if (!std::filesystem::exists(folder))
    throw Unavailable("the programs lie in bench/peers/programs of Strobe's source tree; run strobe from its build");
  return std::filesystem::canonical(folder).string();
}

Json list_of_programs() { return Json::parse(words_in(folder_of_programs() + "/programs.json")); }

ProgramPlace place_of_programs(const ValidateCommand& command) {
  const std::string modules = "torch torch_geometric torch_geometric_temporal", python = find_python(modules);
  if (python.empty())
    throw Unavailable(
        "the programs need Python with torch, torch_geometric and torch_geometric_temporal (pip install; for the last "
        "add --no-deps); $STROBE_PYTHON chooses the interpreter");
  return {folder_of_programs(),
          python,
          std::filesystem::read_symlink("/proc/self/exe").string(),
          command.cluster,
          command.software.empty() ? "pytorch-eager" : command.software,
          [modules, python](const std::string& module) { return find_python(modules + " " + module) == python; }};
}

void check_alone(const ValidateCommand& command) {
  for (const auto& [flag, given] : {std::pair{"--measured", !command.measured.empty()},
                                    {"SUITE", !command.suite.empty()},
                                    {"--set", !command.sets.empty()}}) {
    if (given) throw InvalidRequest(flag, "does not go with --programs, whose list states the cases; leave it out");
  }
  if (launched_world().size > 1)
    throw InvalidRequest("--programs", "programs start their own processes; start strobe without a launcher");
}

}  // namespace

void check_programs(const ValidateCommand& command) {
  check_alone(command);
  chosen_programs(list_of_programs(), command.programs);
}

int validate_programs(const ValidateCommand& command) {
  const ProgramPlace place = place_of_programs(command);
  ProgramRuns programs = program_runs(list_of_programs(), command.programs, command.filter, place);
  PairSelection selection;
  selection.left_out = programs.left_out;
  selection.calibrated = load_cluster(command.cluster)->calibrated;
  for (const ProgramRun& run : programs.runs) selection.pairs.push_back(run.pair);
  narrate_selection(selection, command.cluster, "of published numbers for other hardware");
  install_signal_handlers();
  Suite named;
  named.name = "validate-programs";
  ValidationKeeper keeper(folder_of(command, named), selection.pairs, environment());
  std::vector<MachineShare> machine;
  const auto note_machine = [&] {
    if (selection.calibrated) machine.push_back(machine_share(command.cluster, selection.pairs.front().measured));
  };
  note_machine();
  std::map<std::string, std::vector<double>> kernels;
  const std::vector<PairResult> results =
      run_pairs(selection, launched_world(), &keeper, [&](const std::string& id, const CaseResult& result) {
        const auto found = result.metrics.find(fixed_kernel_metric);
        if (found == result.metrics.end()) return;
        kernels[id].insert(kernels[id].end(), found->second.per_epoch.begin(), found->second.per_epoch.end());
      });
  note_machine();
  set_drifts(programs, kernels);
  const ValidationReport report{named.name,         command.cluster,      selection.calibrated,
                                selection.left_out, judge_pairs(results), machine};
  const std::vector<ProgramHalf> halves = program_halves(programs, report.judgement);
  Json json = validation_to_json(report);
  json["programs"] = program_halves_json(programs, halves);
  return finish(command, report, keeper, json, "\n" + program_halves_text(halves));
}

}  // namespace strobe
