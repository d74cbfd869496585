// Which events each time step of a discrete-time graph holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Step t holds the events [first[t], last[t]), which lie in [begin[t], end[t]). All [T].
struct StepCut {
  std::vector<std::int64_t> first, last;
  std::vector<double> begin, end;
  std::vector<double> next_end;  // the end of the window after the step's last one; infinite where nothing states it
  /// Where the first window begins and ends, and where the last one and one more end, those included that were dropped.
  double from = 0, first_end = 0, until = 0, next_until = 0;
  std::int64_t steps() const { return static_cast<std::int64_t>(begin.size()); }
};

/// Cuts `events` as `windowing` says. The windows of a cumulative graph are its new events per step; edge life and
/// min_edges are left to `make_snapshots`. A step of several windows (lags) ends with its last. Windows end where the
/// next one begins. The last of slices or of numbers of events is closed, so it ends just after the last event. A
/// window of a number of events may end at an instant that continues in the next one; it then ends just after that
/// instant. Throws InvalidRequest for options that exclude each other, a window without length, a stride longer than
/// the window, more lags than windows, and more steps than memory could hold.
StepCut cut_steps(const EventGraph& events, const Windowing& windowing);

/// As `make_snapshots` of graph.hpp; `kept` becomes the cut of the steps that are left.
SnapshotGraph make_snapshots(const EventGraph& events, const Windowing& windowing, const std::string& orientation,
                             StepCut& kept);

}  // namespace strobe
