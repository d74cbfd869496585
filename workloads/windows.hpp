// Which events each time step of a discrete-time graph holds.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph.hpp"

namespace strobe {

/// Step t holds the events [first[t], last[t]) and begins at begin[t]. All [T].
struct StepCut {
  std::vector<std::int64_t> first, last;
  std::vector<double> begin;
  std::int64_t steps() const { return static_cast<std::int64_t>(begin.size()); }
};

/// Cuts `events` as `windowing` says; the windows of a cumulative graph are its new events per step, and edge life and
/// min_edges are left to `make_snapshots`. Throws InvalidRequest for options that exclude each other, a window without
/// length, a stride longer than the window, more lags than windows, and more steps than memory could hold.
StepCut cut_steps(const EventGraph& events, const Windowing& windowing);

}  // namespace strobe
