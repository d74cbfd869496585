// Measures functions of a C++ program in turn, as `strobe run --rounds` does with processes: a drift of the machine
// then falls on all of them equally, and the spread between rounds gives the interval.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/row/sample.hpp"

namespace strobe {

/// A function with its settings. They may have "workload" (a name), "ranks" (1) and "seed" (1); all other keys tell
/// cases apart, as options of the strategy `name`.
struct MeasuredFunction {
  std::string name;
  Json settings = Json::object();
};

/// Calls measure(i, round) for each function i in each round; the order turns round after each. The result has the
/// samples of one round, with `epoch` counted from 0. Keeps every round at once in the new run directory `folder`. A
/// function that throws gives a failed row with its text, and is not called again.
/// Throws InvalidRequest("--out") for a folder that has a run already, Error for no function, two that are alike, or no
/// round, and SystemError when the folder cannot be written to.
void measure_in_turn(const std::string& folder, const std::vector<MeasuredFunction>& functions, int rounds,
                     const std::function<CaseResult(std::size_t, int)>& measure);

}  // namespace strobe
