// Runs the pairs of a validation with progress on standard error, and writes the report to its folder.
#include "harness/cli/validation/validation_run.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "core/shown_text.hpp"
#include "core/units.hpp"
#include "harness/calibration/machine_rates.hpp"
#include "harness/cli/figure.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/output_path.hpp"

namespace strobe {
namespace {

constexpr std::size_t explained_cases = 5;

}  // namespace

PairListener listener_of(Progress& progress, const World& world, ValidationKeeper* keeper) {
  PairListener listener;
  listener.begin = [&progress](const std::string& what) { progress.begin(what); };
  listener.end = [&progress](const std::string& what, const CaseResult& result) {
    const double seconds = result.samples.empty() ? 0 : result.samples.back().epoch_seconds;
    progress.finish(what, seconds > 0 ? format_seconds(seconds) : "-", result.status, result.reason);
  };
  listener.keep = [&world, keeper](const PairResult& result) {
    if (keeper != nullptr) alone_in_world(world, [&] { keeper->keep(result); });
  };
  return listener;
}

std::vector<PairResult> run_pairs(const PairSelection& selection, const World& world, ValidationKeeper* keeper,
                                  const SeenRun& seen) {
  const bool first = world.rank == 0;
  std::size_t runs = selection.pairs.size();
  for (const ValidationPair& pair : selection.pairs) runs += static_cast<std::size_t>(pair.measured.repeat);
  Progress progress(runs, !first);
  PairListener listener = listener_of(progress, world, keeper);
  if (seen) {
    listener.end = [told = listener.end, &seen](const std::string& id, const CaseResult& result) {
      told(id, result);
      seen(id, result);
    };
  }
  return measure_pairs(selection.pairs, first, listener);
}

MachineShare machine_share(const std::string& cluster, const Case& any) {
  const bool any_size = CommunicatorRegistry::instance().find(any.comm, "/comm").value.world_size() == 0;
  const MachineRates now = machine_rates(any, any_size ? 1 : any.ranks);
  const GpuModel& then = load_cluster(cluster)->gpu;
  return {now.flops_fp32_per_second / then.flops_fp32_per_second,
          now.memory_bytes_per_second / then.memory_bytes_per_second};
}

void narrate_selection(const PairSelection& selection, const std::string& cluster, const std::string& errors) {
  if (!selection.calibrated) narrate(fmt::format("warning: {} is not calibrated; errors are {}", cluster, errors));
  narrate(fmt::format("judging {}; {} left out", counted(selection.pairs.size(), "case"), selection.left_out.size()));
}

std::string folder_of(const ValidateCommand& command, const Suite& suite) {
  RunRequest output;
  output.out = command.out;
  return output_folder(output, suite);
}

int print_validation(const ValidateCommand& command, const ValidationReport& report, const Json& json,
                     const std::string& more) {
  if (!command.figure.empty()) draw_figure("validation", json, command.figure);
  const std::string text = validation_text(report, explained_cases) + more;
  print_data(command.json ? json.dump(2) + "\n" : shown_lines(text));
  return validation_status(report);
}

int finish(const ValidateCommand& command, const ValidationReport& report, const ValidationKeeper& keeper,
           const Json& json, const std::string& more) {
  keeper.write(report.judgement, json);
  const int status = print_validation(command, report, json, more);
  narrate("kept in " + keeper.folder());
  return status;
}

}  // namespace strobe
