// A case in a process of its own: `strobe run --resume FOLDER` of a plan that holds this case alone.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// How processes are started.
struct ProcessWish {
  std::string program;  // "" = this program
  std::string launch;   // words before it, as "mpirun -n {ranks}"; "" = none
};

/// Why `launch` cannot be words before a program; "" when it can.
std::string fault_of_launch(const std::string& launch);

/// What the process left.
struct ProcessOutcome {
  int status = 0;  // exit status, 128 + signal where one ended it
  Row row;         // `failed` with the process's last words where it left none
  std::vector<EpochSample> samples;
  std::string trace;  // the file in its folder; "" = none
};

/// Runs the case of `case_json` (as a plan holds it) in `folder`, which is emptied before. A signal that asks this
/// program to stop is handed on, and then throws Interrupted, as does one that ended the process.
ProcessOutcome run_in_process(const ProcessWish& wish, const Json& case_json, const std::string& case_id,
                              const Json& outputs, const std::string& folder);

}  // namespace strobe
