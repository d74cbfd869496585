// Public training programs that `strobe validate --programs` measures on this machine and predicts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/validation/judgement.hpp"
#include "harness/validation/pairs.hpp"

namespace strobe {

/// One program on one graph in one way, with its prediction.
struct ProgramRun {
  std::string name;  // PROGRAM/GRAPH/WAY, such as "t-gcn/small/ddp-2"
  bool held_out = false;
  ValidationPair pair;  // the measured side is a case of strategy `external`
  double drift = 1;     // time of a fixed kernel around this run over that around a typical run; above 1: slower
};

struct ProgramRuns {
  std::vector<ProgramRun> runs;
  std::vector<LeftOut> left_out;
};

/// How programs are started and predicted.
struct ProgramPlace {
  std::string folder;  // of the programs
  std::string python;  // interpreter
  std::string strobe;  // this program, which writes their graphs
  std::string cluster, software;
  std::function<bool(const std::string& module)> has_module =
      {};  // whether the interpreter has it; empty: all are there
};

/// The names that `chosen` means in a list of programs (bench/peers/programs/programs.json has its form): "all", or
/// names with commas between them. Throws InvalidRequest for an unknown name.
std::vector<std::string> chosen_programs(const Json& list, const std::string& chosen);

/// The runs of the chosen programs of a list. `filter` keeps the runs whose name matches, as `id_filter` does. Runs that the
/// cluster cannot simulate, and those of programs whose module `place` lacks, are left out. Throws InvalidRequest when
/// nothing is left or a name is unknown.
ProgramRuns program_runs(const Json& list, const std::string& chosen, const std::string& filter,
                         const ProgramPlace& place);

/// The metric of a program in which it states the seconds of a fixed kernel around each epoch.
inline constexpr const char* fixed_kernel_metric = "fixed_kernel_seconds";

/// Sets each run's drift from the seconds of the fixed kernel around its epochs, by the id of the run's case: the
/// median of a run over the median of the runs' medians. A run without any keeps 1.
void set_drifts(ProgramRuns& runs, const std::map<std::string, std::vector<double>>& kernel_seconds);

/// Errors of one half of the runs.
struct ProgramHalf {
  std::string name;       // held_out | visible
  ErrorSummary epoch;     // against the measured epoch
  ErrorSummary steady;    // against the measured epoch divided by the run's drift
  ErrorSummary roofline;  // of a plain roofline plus ring formulas, against the measured epoch
  Share ordered;          // pairs of ways of one program on one graph whose order is predicted right
};

/// Both halves of the judged runs, the held-out one first. `judgement` has the runs' cases in their order.
std::vector<ProgramHalf> program_halves(const ProgramRuns& runs, const Judgement& judgement);

/// The table of both halves, with the goals that the held-out one is judged by.
std::string program_halves_text(const std::vector<ProgramHalf>& halves);
Json program_halves_json(const ProgramRuns& runs, const std::vector<ProgramHalf>& halves);

}  // namespace strobe
