// Runs a case in a process of its own: `strobe run --resume FOLDER`, with a plan that holds this case alone.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "results/row/row.hpp"

namespace strobe {

/// How to start processes.
struct ProcessRequest {
  std::string program;  // "" = this program
  std::string launch;   // words before the program, such as "mpirun -n {ranks}"; "" = none
};

/// Why `launch` is not a list of words before a program; "" when it is one.
std::string fault_of_launch(const std::string& launch);

/// The results of the process.
struct ProcessOutcome {
  int status = 0;  // exit status; 128 + signal if a signal ended the process
  Row row;         // `failed` with the process's last message if it wrote no row
  std::vector<EpochSample> samples;
  std::string trace;  // the file in its folder; "" = none
};

/// Runs the case of `case_json` (in the form of a plan) in `folder`, after emptying the folder. A signal that asks this
/// program to stop is passed on to the process. Throws Interrupted after such a signal, and when a signal ended the
/// process.
ProcessOutcome run_in_process(const ProcessRequest& request, const Json& case_json, const std::string& case_id,
                              const Json& outputs, const std::string& folder);

}  // namespace strobe
