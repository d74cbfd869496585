// One case of a model of events: its graph, its task's draws, its model.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/event_batches/strategies/event_options.hpp"
#include "harness/request/case.hpp"
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

struct EventCase {
  Case request;
  EventBatchOptions options;
  EventData data;      // what an evaluation walks over
  EventData training;  // what training walks over, all of it; the same unless vertices are kept out
  std::shared_ptr<const EventModel> model;
  std::shared_ptr<const EventTask> task;
  std::vector<ParameterShape> parameters;  // the model's, then the task's
  std::vector<double> start_values;        // of `load_model`, or empty
  std::vector<std::string> notes;

  /// Whether the strategy trains in groups of ranks (TrainingGroups); else one rank trains alone.
  bool grouped() const { return options.grouped; }
  bool fp64() const { return request.precision == "fp64"; }
  EdgeId training_events() const { return training.task->split.train_end; }
  /// Epochs of a run, or of a rehearsal, which is two long.
  std::int64_t planned_epochs() const { return std::max<std::int64_t>(2, request.warmup + request.epochs); }
  /// About what its graphs and features take on the host.
  std::uint64_t kept_bytes() const;
  /// Over how many events the validation or the test metric, or rule, of this name is taken; `metric` has no prefix of
  /// the part.
  std::int64_t judged_events(const std::string& metric, bool validation) const;
  /// Batches of one sweep over the training events.
  std::int64_t batches() const { return (training_events() + options.batch - 1) / options.batch; }
};

/// Loads the case's events, draws its task and builds its model. Graphs are kept for the next case of the same
/// workload. Throws InvalidRequest and InvalidInput.
EventCase begin_event_case(const Case& request);

}  // namespace strobe
