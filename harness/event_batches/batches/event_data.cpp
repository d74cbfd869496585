#include "harness/event_batches/batches/event_data.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// The training events when vertices are kept out: a graph of the remaining events alone.
EventData training_walk(const EventData& all) {
  const TrainedEvents& trained = *all.task->trained;
  EventData left = all;
  left.graph = trained.graph;
  left.neighbours = std::make_shared<const TimeCsr>(make_time_csr(*left.graph));
  auto task = std::make_shared<EventTaskData>(*all.task);
  task->split = {left.graph->events(), left.graph->events()};
  task->candidates = trained.candidates;
  task->rules.clear();
  left.task = task;
  return left;
}

}  // namespace

EdgeId EventData::strictly_before(EdgeId event) const {
  const double time = graph->time[event];
  while (event > 0 && graph->time[event - 1] == time) --event;
  return event;
}

LoadedEvents EventsKey::make(const DataCache&) const {
  std::optional<EventGraph> events = load_events(workload.name(), workload.json, static_cast<std::uint64_t>(seed));
  if (!events) return {};
  if (events->events() == 0) throw InvalidRequest("/workload", "the graph is empty: it has no events");
  if (events->removals) {
    throw InvalidRequest("/workload", "events that remove an edge are read as steps only; choose a model of snapshots");
  }
  LoadedEvents loaded;
  loaded.graph = std::make_shared<const EventGraph>(std::move(*events));
  loaded.neighbours = std::make_shared<const TimeCsr>(make_time_csr(*loaded.graph));
  return loaded;
}

DrawnEvents DrawsKey::make(const DataCache& cache) const {
  const LoadedEvents loaded = *cache.get(events);
  if (loaded.graph == nullptr) return {};
  const EventGraph& graph = *loaded.graph;
  const std::shared_ptr<const EventTask> of = EventTaskRegistry::instance().find(task.name(), "/task").value(task.json);
  DrawnEvents drawn;
  drawn.all = {loaded.graph,
               loaded.neighbours,
               std::make_shared<const EventTaskData>(of->draw(graph, static_cast<std::uint64_t>(events.seed))),
               {graph.edge_feature_width, graph.vertex_feature_width, graph.vertices},
               nullptr,
               loaded.graph};
  drawn.training = drawn.all.task->trained == nullptr ? drawn.all : training_walk(drawn.all);
  return drawn;
}

}  // namespace strobe
