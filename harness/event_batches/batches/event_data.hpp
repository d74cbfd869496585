// Event data that DataCache keeps. The members of a key are everything that its value depends on.
#pragma once

#include <memory>

#include "core/data_cache.hpp"
#include "harness/event_batches/batches/memory_moments.hpp"
#include "harness/request/key_options.hpp"
#include "models/events/event_model.hpp"
#include "models/tasks/event_task.hpp"
#include "workloads/continuous/time_csr.hpp"

namespace strobe {

class StaticMemory;

/// The events that a model processes: all of a workload, or only those for training.
struct EventData {
  std::shared_ptr<const EventGraph> graph;
  std::shared_ptr<const TimeCsr> neighbours;  // both ends of every event
  std::shared_ptr<const EventTaskData> task;
  EventWidths widths;
  std::shared_ptr<const StaticMemory> static_memory;  // null unless the model needs one that is trained before
  /// All events of the workload. Features are read from it. Time starts at its first event, so that training and
  /// evaluation use the same times. It is `graph` itself if no event is left out.
  std::shared_ptr<const EventGraph> whole;

  /// The number in `whole` of an event of `graph`.
  EdgeId number(EdgeId event) const { return graph == whole ? event : task->trained->numbers[event]; }
  /// Seconds since the first event.
  double time(EdgeId event) const { return graph->time[event] - whole->time[0]; }
  /// The times of a vertex's memory, from its events. Cost: O(log of its events).
  VertexTimes times(VertexId vertex, const TakenEvents& taken, const MemoryMoments& moments) const;
  /// Writes a vertex's features, then its static memory, [widths.vertex].
  void put_vertex(VertexId vertex, float* to) const;
  /// Writes its static memory alone.
  void put_static(VertexId vertex, float* to) const;
  /// The number of events with an earlier time. Cost: O(events with the same time).
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

/// The events of an evaluation and of training. Both have no graph when the workload has no events.
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
