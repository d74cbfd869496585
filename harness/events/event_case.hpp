// One case of a model of events: its graph, its task's draws, its model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/placement/event_options.hpp"
#include "harness/request/case.hpp"
#include "models/events/event_model.hpp"
#include "models/tasks/event_task.hpp"
#include "workloads/continuous/time_csr.hpp"

namespace strobe {

class StaticMemory;

/// The events of a workload as models read them.
struct EventData {
  std::shared_ptr<const EventGraph> graph;
  std::shared_ptr<const TimeCsr> neighbours;  // both ends of every event
  std::shared_ptr<const EventTaskData> task;
  EventWidths widths;
  std::shared_ptr<const StaticMemory> static_memory;  // null unless the model wants one that is trained beforehand

  /// Seconds since the first event.
  double time(EdgeId event) const { return graph->time[static_cast<std::size_t>(event)] - graph->time[0]; }
  /// How many events are strictly earlier. Cost: O(events of one time).
  EdgeId strictly_before(EdgeId event) const;
};

struct EventCase {
  Case request;
  EventBatchOptions options;
  EventData data;
  std::shared_ptr<const EventModel> model;
  std::shared_ptr<const EventTask> task;
  std::vector<ParameterShape> parameters;  // the model's, then the task's
  std::vector<double> start_values;        // of `load_model`, or empty
  std::vector<std::string> notes;

  bool fp64() const { return request.precision == "fp64"; }
  EdgeId training_events() const { return data.task->split.train_end; }
  /// Batches of one sweep over the training events.
  std::int64_t batches() const { return (training_events() + options.batch - 1) / options.batch; }
};

/// Loads the case's events, draws its task and builds its model. Graphs are kept for the next case of the same
/// workload. Throws InvalidRequest and InvalidInput.
EventCase begin_event_case(const Case& request);

}  // namespace strobe
