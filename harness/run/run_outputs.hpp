// Checks and writes the files that a case can write in addition to its row.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/schedule/planned_case.hpp"
#include "harness/training/training.hpp"

namespace strobe {

/// Training whose weights or losses became infinite or NaN. Its times are still valid.
struct Divergence {
  std::string unwritten;  // names the files that were therefore not written, as part of a sentence

  void leave_out(const std::string& file) { unwritten += "; " + file + " was not written"; }
};

/// Refuses files that no case of this kind could write, and checkpoint flags that contradict each other. Throws
/// InvalidRequest.
void check_outputs(const Case& c, const ModelOutputs& outputs);

/// Refuses files that this kind of training does not offer. Throws InvalidRequest that names the flag.
void check_offered(const PlannedCase& plan, const ModelOutputs& outputs);

/// The names of the asked files that need the trained weights, in contrast to those that follow from the plan.
std::set<std::string> files_of_training(const ModelOutputs& outputs);

/// Writes the files that need only the plan, for a dry run. Throws SystemError.
void write_planned_outputs(const PlannedCase& plan, const ModelOutputs& outputs);

/// Writes the weights and files of rank 0. Weights that are not finite are not written, but noted in `divergence`.
/// Throws SystemError.
void write_outputs(const PlannedCase& plan, const RankOutcome& rank, const ModelOutputs& outputs,
                   Divergence& divergence);

}  // namespace strobe
