// `strobe compare --rerun` and `--self-check`: measures both sides again, with processes in turn.
#pragma once

#include <string>
#include <utility>

namespace strobe {

struct RerunRequest {
  std::string base, changed;                  // run directories with the plans to run; "" = the bundled suite
  std::string base_program, changed_program;  // "" = this program
  std::string rounds, filter, out, launch;    // as typed
};

/// Measures both sides in rounds (A B, B A, ...) and returns the folders of their rows. Throws InvalidRequest before
/// anything is measured, and Interrupted.
std::pair<std::string, std::string> rerun(const RerunRequest& request);

}  // namespace strobe
