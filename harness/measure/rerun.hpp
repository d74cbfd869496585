// `strobe compare --rerun` and `--self-check`: both sides measured anew, their processes in turn.
#pragma once

#include <string>
#include <utility>

namespace strobe {

struct RerunRequest {
  std::string base, changed;                  // run directories whose plans say what to run; "" = the bundled suite
  std::string base_program, changed_program;  // "" = this program
  std::string rounds, filter, out, launch;    // as typed
};

/// Measures both sides in rounds (A B, B A, ...) and returns the folders of their rows. Throws InvalidRequest for what
/// is wrong with the request before anything is measured, and Interrupted.
std::pair<std::string, std::string> rerun(const RerunRequest& request);

}  // namespace strobe
