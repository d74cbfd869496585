#include "harness/events/event_case.hpp"

#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "harness/events/static_memory.hpp"
#include "harness/files/checkpoint.hpp"
#include "models/optimizers/optimizer.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

std::string name_of(const Json& plugin) { return plugin.at("name").get<std::string>(); }

/// The graph and its adjacency of the workload that was asked for last: cases of a suite share them.
struct LoadedEvents {
  std::shared_ptr<const EventGraph> graph;
  std::shared_ptr<const TimeCsr> neighbours;
};

LoadedEvents read_workload(const Case& c) {
  std::optional<EventGraph> events = load_events(name_of(c.workload), c.workload, static_cast<std::uint64_t>(c.seed));
  if (!events) {
    throw InvalidRequest("/workload",
                         fmt::format("{} holds or makes snapshots, and model {} trains on events; choose a "
                                     "workload of events, or a model of snapshots",
                                     name_of(c.workload), name_of(c.model)));
  }
  if (events->events() == 0) throw InvalidRequest("/workload", "the graph is empty: it has no events");
  if (events->removals) {
    throw InvalidRequest("/workload", "events that remove an edge are read as steps only; choose a model of snapshots");
  }
  LoadedEvents loaded;
  loaded.graph = std::make_shared<const EventGraph>(std::move(*events));
  loaded.neighbours = std::make_shared<const TimeCsr>(make_time_csr(*loaded.graph));
  return loaded;
}

LoadedEvents load_once(const Case& c) {
  static std::mutex mutex;
  static std::string key;
  static LoadedEvents kept;
  const std::lock_guard lock(mutex);
  if (const std::string wanted = c.workload.dump() + std::to_string(c.seed); kept.graph == nullptr || wanted != key) {
    kept = {};  // two large graphs at a time would be one too many
    kept = read_workload(c);
    key = wanted;
  }
  return kept;
}

/// Draws of the last case, which the next one of the same workload, task and seed shares.
std::shared_ptr<const EventTaskData> draw_once(const Case& c, const EventTask& task, const LoadedEvents& events) {
  static std::mutex mutex;
  static std::string key;
  static std::shared_ptr<const EventTaskData> kept;
  static std::shared_ptr<const EventGraph> drawn_on;  // the draws refer to it
  const std::lock_guard lock(mutex);
  const std::string wanted = c.workload.dump() + c.task.dump() + std::to_string(c.seed);
  if (kept == nullptr || wanted != key || drawn_on != events.graph) {
    kept = std::make_shared<const EventTaskData>(task.draw(*events.graph, static_cast<std::uint64_t>(c.seed)));
    key = wanted;
    drawn_on = events.graph;
  }
  return kept;
}

EventBatchOptions options_of(const Case& c) {
  EventBatchOptions options;
  Json known = Json::object();
  for (const std::string& name : event_batch_names()) {
    if (c.strategy.contains(name)) known[name] = c.strategy.at(name);
  }
  event_batch_fields<EventBatchOptions>().apply(&options, known, "/strategy");
  return options;
}

void check_batch(const EventCase& c) {
  if (c.options.batch <= c.training_events()) return;
  throw InvalidRequest("/strategy/batch",
                       fmt::format("a batch of {} events, but only {} are trained on; take a smaller "
                                   "batch or a larger share for training",
                                   c.options.batch, c.training_events()));
}

}  // namespace

EdgeId EventData::strictly_before(EdgeId event) const {
  const double time = graph->time[static_cast<std::size_t>(event)];
  while (event > 0 && graph->time[static_cast<std::size_t>(event - 1)] == time) --event;
  return event;
}

EventCase begin_event_case(const Case& request) {
  EventCase c;
  c.request = request;
  c.options = options_of(request);
  c.model = EventModelRegistry::instance().find(name_of(request.model), "/model").value(request.model);
  c.task = EventTaskRegistry::instance().find(name_of(request.task), "/task").value(request.task);
  OptimizerRegistry::instance().find(name_of(request.optimizer), "/optimizer").value(request.optimizer);
  const LoadedEvents loaded = load_once(request);
  c.data.graph = loaded.graph;
  c.data.neighbours = loaded.neighbours;
  c.data.task = draw_once(request, *c.task, loaded);
  c.data.widths = {loaded.graph->edge_feature_width, loaded.graph->vertex_feature_width, loaded.graph->vertices};
  c.notes = loaded.graph->provenance.notes;
  c.notes.insert(c.notes.end(), c.data.task->notes.begin(), c.data.task->notes.end());
  check_batch(c);
  c.data.static_memory = static_memory_of(c);
  if (c.data.static_memory != nullptr) c.data.widths.vertex += c.data.static_memory->width();
  c.parameters = c.model->parameters(c.data.widths);
  for (ParameterShape& shape : c.task->parameters(c.model->traits().embedding))
    c.parameters.push_back(std::move(shape));
  if (!request.load_model.empty()) c.start_values = load_weights(request.load_model, request, c.parameters);
  return c;
}

}  // namespace strobe
