// The tables of the board: entries of one data set, task, target and machine, in the order of their times.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cli/submission/entry.hpp"

namespace strobe {

/// An entry that passed its checks.
struct BoardEntry {
  std::string folder;
  Sender sender;
  EnteredRun entered;
};

/// [{workload, task, until, division, times, machine, lines}]. A line is one configuration: `entry` (the folder),
/// `case_ids`, `seconds` to the target (geometric mean over seeds), `place`, `tied`, and `times_the_first` with its
/// 99 % interval. A place is one more than the number of lines that are surely sooner: by more than 5 %, and with an
/// interval that excludes equality. Lines of equal place are tied. Cost: one comparison for each pair of lines.
Json board_tables(const std::vector<BoardEntry>& entries);

}  // namespace strobe
