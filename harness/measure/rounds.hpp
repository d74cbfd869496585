// Fresh processes of all cases in turn, forwards and backwards (A B C, C B A, ...), so that a drift of the machine
// falls on all alike, and so that what a process is fast or slow by can be told from what a program is.
#pragma once

#include <string>
#include <vector>

#include "harness/measure/fresh_process.hpp"
#include "harness/process/narrate.hpp"
#include "results/row/machine_reading.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {

/// A case of a side, with what its rounds came to.
struct RoundCase {
  Json json;  // as the plan holds it
  std::string id;
  std::vector<RoundRecord> records;
  std::vector<EpochSample> samples;
  bool over = false;  // it has its row, or a round failed
};

/// One program and one run directory. `outputs` as a plan keeps them: a time limit, and a trace of the first round.
struct RoundSide {
  std::string label;  // before ids in progress; "" = none
  RunDirectory* directory = nullptr;
  ProcessWish process;
  Json outputs = Json::object();
  std::vector<RoundCase> cases;
};

/// Takes up what an earlier run left of the side's cases.
void take_left_rounds(RoundSide& side);

struct RoundPlan {
  int rounds = 1;
  std::string session;  // kept in the records: rounds of one number and session ran beside each other
};

/// Runs what is missing; each round is kept with its samples before the next begins, and rows follow. Where the first
/// process of all says that the request is wrong (status 2), throws InvalidRequest. Whether all cases are ok.
/// Throws Interrupted. Virtual time is the same in every process: such cases run once.
bool run_rounds(std::vector<RoundSide>& sides, const RoundPlan& plan);

/// A name for processes that take turns.
std::string new_session(const std::string& folder);

/// The number of --rounds. Throws InvalidRequest.
int number_of_rounds(const std::string& text);

}  // namespace strobe
