// Data of cases of events that DataCache keeps. What a value depends on are the members of its key.
#pragma once

#include <memory>

#include "core/data_cache.hpp"
#include "harness/request/key_options.hpp"
#include "models/events/event_model.hpp"
#include "models/tasks/event_task.hpp"
#include "workloads/continuous/time_csr.hpp"

namespace strobe {

class StaticMemory;

/// Events as models walk over them: all of a workload, or those that are trained on.
struct EventData {
  std::shared_ptr<const EventGraph> graph;
  std::shared_ptr<const TimeCsr> neighbours;  // both ends of every event
  std::shared_ptr<const EventTaskData> task;
  EventWidths widths;
  std::shared_ptr<const StaticMemory> static_memory;  // null unless the model wants one that is trained beforehand
  /// All events of the workload: features are read there, and time begins with its first event, so that training and
  /// evaluation mean the same by a time. The same graph as `graph` where nothing is left out.
  std::shared_ptr<const EventGraph> whole;

  /// The number in `whole` of an event of `graph`.
  EdgeId number(EdgeId event) const {
    return graph == whole ? event : task->trained->numbers[static_cast<std::size_t>(event)];
  }
  /// Seconds since the first event.
  double time(EdgeId event) const { return graph->time[static_cast<std::size_t>(event)] - whole->time[0]; }
  /// How many events are strictly earlier. Cost: O(events of one time).
  EdgeId strictly_before(EdgeId event) const;
};

/// A workload's events and their adjacency; both null when the workload has no events.
struct LoadedEvents {
  std::shared_ptr<const EventGraph> graph;
  std::shared_ptr<const TimeCsr> neighbours;
};

struct EventsKey {
  using Value = LoadedEvents;
  static constexpr std::size_t kept = 1;

  KeyOptions workload;
  std::int64_t seed = 0;

  bool operator==(const EventsKey&) const = default;
  LoadedEvents make(const DataCache& cache) const;
};

/// What is walked over in an evaluation, and in training; without graphs when the workload has no events.
struct DrawnEvents {
  EventData all, training;
};

struct DrawsKey {
  using Value = DrawnEvents;
  static constexpr std::size_t kept = 1;

  EventsKey events;
  KeyOptions task;

  bool operator==(const DrawsKey&) const = default;
  DrawnEvents make(const DataCache& cache) const;
};

}  // namespace strobe
