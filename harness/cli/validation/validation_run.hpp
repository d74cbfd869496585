// Code that all ways of `strobe validate` share: its options, the runs of pairs, and the writing of the report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/cli/validation/validation_keeper.hpp"
#include "harness/measure/run_request.hpp"
#include "harness/process/narrate.hpp"
#include "harness/process/world.hpp"
#include "harness/validation/measure_pairs.hpp"
#include "harness/validation/validation_report.hpp"

namespace strobe {

struct ValidateCommand {
  std::string suite, cluster, out, filter, figure, published, measured, pledge, programs, software;
  std::vector<std::string> sets;
  bool json = false, terms = false;
};

/// Reports every run and keeps its rows. `keeper` is null in all processes except the first.
PairListener listener_of(Progress& progress, const World& world, ValidationKeeper* keeper);

/// Is called after each run with the case's id and its result.
using SeenRun = std::function<void(const std::string& id, const CaseResult& result)>;

/// Measures and simulates the pairs. All processes of `world` must call this.
std::vector<PairResult> run_pairs(const PairSelection& selection, const World& world, ValidationKeeper* keeper,
                                  const SeenRun& seen = {});

/// The machine's ceilings as `strobe calibrate` measures them, divided by those of the cluster file. All processes of a
/// world must call it.
MachineShare machine_share(const std::string& cluster, const Case& any);

/// Says how many cases are judged, and what `errors` are when the cluster is not calibrated.
void narrate_selection(const PairSelection& selection, const std::string& cluster, const std::string& errors);

/// The folder of --out, or a new one that is named after `suite`.
std::string folder_of(const ValidateCommand& command, const Suite& suite);

/// Draws and prints the report, with `more` after its text. Returns the exit status.
int print_validation(const ValidateCommand& command, const ValidationReport& report, const Json& json,
                     const std::string& more = "");

/// Writes and prints the report. `json` is the report, and more. Returns the exit status.
int finish(const ValidateCommand& command, const ValidationReport& report, const ValidationKeeper& keeper,
           const Json& json, const std::string& more = "");

}  // namespace strobe
