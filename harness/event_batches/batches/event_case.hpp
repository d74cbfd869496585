// A case of an event model: its graph, its task's draws and its model.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "core/data_cache.hpp"
#include "harness/event_batches/batches/event_data.hpp"
#include "harness/event_batches/strategies/event_options.hpp"
#include "harness/request/case.hpp"
#include "models/events/event_model.hpp"

namespace strobe {

class NodeStore;  // workloads/storage/node_store.hpp

struct EventCase {
  Case request;
  EventBatchOptions options;
  EventData data;      // the events of an evaluation
  EventData training;  // the events of training; differs from `data` if vertices are kept out of training
  std::shared_ptr<const EventModel> model;
  std::shared_ptr<const EventTask> task;
  std::vector<ParameterShape> parameters;  // the model's, then the task's
  std::vector<double> start_values;        // from `load_model`, or empty
  std::vector<std::string> notes;
  std::shared_ptr<const NodeStore> node;  // null: this process shares nothing, and has no limit

  /// Whether the strategy trains in groups of ranks (TrainingGroups). Otherwise one rank trains alone.
  bool grouped() const { return options.grouped; }
  bool fp64() const { return request.precision == "fp64"; }
  EdgeId training_events() const { return training.task->split.train_end; }
  /// Epochs of a run, or of a rehearsal if that is longer; a rehearsal has two.
  std::int64_t planned_epochs() const { return std::max<std::int64_t>(2, request.warmup + request.epochs); }
  /// Trains the static node memory if the model needs one that is not trained yet. `column`: as in StaticMemory.
  void prepare_static_memory(Communicator* column = nullptr) const;
  /// Approximate host memory of its graphs and features, in bytes.
  std::uint64_t kept_bytes() const;
  /// Bytes of their arrays in memory, by part. Columns of a mapped file are not in it.
  PerMemoryPart<std::uint64_t> host_parts() const;
  /// The number of validation or test events that a metric or rule is a mean over. `metric` has no prefix such as
  /// "validation_".
  std::int64_t judged_events(const std::string& metric, bool validation) const;
  /// Batches of one sweep over the training events.
  std::int64_t batches() const { return (training_events() + options.batch - 1) / options.batch; }
};

/// Loads the case's events, draws its task and builds its model. `cache` keeps these for the next case.
/// Throws InvalidRequest and InvalidInput.
EventCase begin_event_case(const Case& request, const DataCache& cache = {});

}  // namespace strobe
