// Batches of events that begin within an instant: their knowledge of its first events depends on the order of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/continuous/time_split.hpp"

namespace strobe {

/// Batches of `size` consecutive events, and how many of them begin with an event of the same time as the one before.
struct BatchBegins {
  std::int64_t batches = 0, amid_instant = 0;

  /// Adds the batches of the events [first, last).
  void add(const EventGraph& graph, EdgeId first, EdgeId last, std::int64_t size);
  /// "3 of 7 training batches begin ...", where `which` is "training"; empty when none does.
  std::string note(const std::string& which) const;
};

/// For an evaluation in batches of `size`, which start again at validation and at test, notes how many batches begin
/// within an instant.
void note_cut_instants(const EventGraph& graph, const TimeSplit& split, std::int64_t size,
                       std::vector<std::string>& notes);

}  // namespace strobe
