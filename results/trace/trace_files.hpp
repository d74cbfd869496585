// Traces that were written, of this program or another run of it: several in one file, and where two differ.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// The trace in a file. Throws SystemError when it cannot be read, InvalidInput when Strobe did not write it.
Json read_trace(const std::string& path);

/// The traces of several files in one. Processes and flows are numbered again, so that no two clash. Processes are
/// named after their case and clock ("wall rank 0"), and those of one rank are listed below each other. Times stay;
/// every trace begins at its own first span. `otherData.merged` has that of each file.
Json merge_traces(const std::vector<std::string>& paths);

/// Blocking seconds of one kind of span, per epoch and rank.
struct TraceDifference {
  std::string where;  // ranges around it without epochs, and its name: "backward / layer 1 / spmm"
  std::string phase;
  double first = 0, second = 0;  // seconds
};

/// The differences in time between two traces, the largest first. Seconds are those of blocking spans inside epochs,
/// the mean over the ranks and epochs of a trace, so that traces of other lengths and rank counts compare. The first
/// entry is the whole epoch. Throws InvalidInput for a trace without epochs.
std::vector<TraceDifference> compare_traces(const Json& first, const Json& second);

/// A table of the `most` greatest differences, in milliseconds, and the sum of all others.
std::string difference_table(const std::vector<TraceDifference>& differences, std::size_t most);

}  // namespace strobe
