// The sentences that end a run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/run/loaded_run.hpp"

namespace strobe {

/// The answer to the question that the rows pose, one sentence a line: about the strategy if it varies, otherwise about
/// the only field that does. "" when there is no such question.
std::string conclusion_of(const std::vector<LoadedRun>& runs);

/// The same for the rows of some run directories whose case id `wanted` accepts; "" when their files cannot be read.
std::string conclusion_of(const std::vector<std::string>& folders,
                          const std::function<bool(const std::string&)>& wanted);
std::string conclusion_of(const std::string& folder);

/// The answer as JSON (answers_to_json), also of runs on several machines. Empty where the rows pose no question, no
/// two of them compare, or a file cannot be read.
Json answers_of(const std::vector<std::string>& folders);

/// The widest interval among the verdicts of the answer, to either side of its ratio, as a share.
struct WidestInterval {
  double share = 0;      // infinite where a ratio has no interval
  std::string of, than;  // the two that it compares; "" when nothing is compared
};
WidestInterval widest_interval(const std::string& folder);

}  // namespace strobe
