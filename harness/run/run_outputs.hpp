// The files beside rows: which a case can write, and writing them.
#pragma once

#include <string>
#include <vector>

#include "harness/schedule/planned_case.hpp"
#include "harness/training/training.hpp"

namespace strobe {

/// What training that left the finite numbers came to. Its times are as good as any; its numbers are not.
struct Divergence {
  std::string unwritten;  // files that would hold such weights, as part of a sentence

  void leave_out(const std::string& file) { unwritten += "; " + file + " was not written"; }
};

/// Refuses files that no case of this kind could write, and checkpoints that do not go together. Throws InvalidRequest.
void check_outputs(const Case& c, const ModelOutputs& outputs);

/// Refuses files that this kind of training has not. Throws InvalidRequest that names the flag.
void check_offered(const PlannedCase& plan, const ModelOutputs& outputs);

/// Writes the files that follow from the plan alone, as a dry run does. Throws SystemError.
void write_planned_outputs(const PlannedCase& plan, const ModelOutputs& outputs);

/// Writes what rank 0 hands back; weights that are no numbers stay out. Throws SystemError.
void write_outputs(const PlannedCase& plan, const RankOutcome& rank, const ModelOutputs& outputs,
                   Divergence& divergence);

}  // namespace strobe
