// One case of a model of events: its graph, its task's draws, its model.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/data_cache.hpp"
#include "harness/event_batches/batches/event_data.hpp"
#include "harness/event_batches/strategies/event_options.hpp"
#include "harness/request/case.hpp"
#include "models/events/event_model.hpp"

namespace strobe {

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
  /// Trains the static node memory that the model asks for, unless that has been done.
  void prepare_static_memory() const;
  /// About what its graphs and features take on the host.
  std::uint64_t kept_bytes() const;
  /// Over how many events the validation or the test metric, or rule, of this name is taken; `metric` has no prefix of
  /// the part.
  std::int64_t judged_events(const std::string& metric, bool validation) const;
  /// Batches of one sweep over the training events.
  std::int64_t batches() const { return (training_events() + options.batch - 1) / options.batch; }
};

/// Loads the case's events, draws its task and builds its model. What was made stays in `cache` for the next case.
/// Throws InvalidRequest and InvalidInput.
EventCase begin_event_case(const Case& request, const DataCache& cache = {});

}  // namespace strobe
