// Runs all cases in fresh processes in turn, forwards and backwards (A B C, C B A, ...). So a drift of the machine
// affects all cases alike, and variation between processes can be separated from differences between programs.
#pragma once

#include <string>
#include <vector>

#include "harness/measure/fresh_process.hpp"
#include "harness/process/narrate.hpp"
#include "results/row/machine_reading.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {

/// A case of one side, with the results of its rounds.
struct RoundCase {
  Json json;  // in the form of a plan
  std::string id;
  std::vector<RoundRecord> records;
  std::vector<EpochSample> samples;
  bool over = false;  // it has its row, or a round failed
};

/// One program and one run directory. `outputs` in the form of a plan: a time limit, and a trace of the first round.
struct RoundSide {
  std::string label;  // prefix for ids in progress messages; "" = none
  RunDirectory* directory = nullptr;
  ProcessRequest process;
  Json outputs = Json::object();
  std::vector<RoundCase> cases;
};

/// Continues with the rounds that an earlier run finished for the side's cases.
void take_left_rounds(RoundSide& side);

struct RoundPlan {
  int rounds = 1;
  std::string session;  // kept in the records: rounds with the same number and session ran next to each other
};

/// Runs the missing rounds. Each round is saved with its samples before the next begins; then its row is updated.
/// Returns whether all cases are ok. Cases in virtual time run once, because that time is the same in every process.
/// Throws InvalidRequest when the very first process reports a wrong request (status 2). Throws Interrupted.
bool run_rounds(std::vector<RoundSide>& sides, const RoundPlan& plan);

/// A new name for a group of processes that run in turn.
std::string new_session(const std::string& folder);

/// The number given by --rounds. Throws InvalidRequest.
int number_of_rounds(const std::string& text);

}  // namespace strobe
