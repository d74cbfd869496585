#include "harness/event_batches/batches/event_data.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/system/process_memory.hpp"
#include "harness/event_batches/batches/static_memory.hpp"
#include "workloads/binary/binary_graph.hpp"
#include "workloads/storage/node_store.hpp"
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
  task->levels = {};
  left.task = task;
  return left;
}

/// The workload's events; an empty graph for a workload of snapshots.
EventGraph read_events(const EventsKey& key) {
  std::optional<EventGraph> events =
      load_events(key.workload.name(), key.workload.json, static_cast<std::uint64_t>(key.seed));
  if (!events) return {};
  if (events->events() == 0) throw InvalidRequest("/workload", "the graph is empty: it has no events");
  if (events->removals) {
    throw InvalidRequest("/workload", "events that remove an edge are read as steps only; choose a model of snapshots");
  }
  return *std::move(events);
}

/// Whether the large arrays lie in a mapped file already.
bool events_are_mapped(const EventGraph& events) {
  return events.source.is_view() && events.time.own_bytes() == 0 && events.edge_features.own_bytes() == 0 &&
         events.vertex_features.own_bytes() == 0;
}

LoadedEvents loaded_of(PassingEvents events) {
  if (events.graph.events() == 0) return {};
  return {std::make_shared<const EventGraph>(std::move(events.graph)),
          std::make_shared<const TimeCsr>(std::move(events.neighbours))};
}

/// The events and their adjacency in a file that all processes of the node map. One process reads the events, unless
/// they are a mapped file already. Nothing if the file cannot be written.
std::optional<LoadedEvents> share_on_node(const EventsKey& key, const NodeStore& node) {
  std::optional<EventGraph> own;
  const auto write = [&](const std::string& path) {
    const BoundedReading bound = node.bounded_reading();
    own = read_events(key);
    const TimeCsr neighbours = make_time_csr(*own);
    look_at_process_memory();
    write_passing_events(events_are_mapped(*own) ? nullptr : &*own, neighbours, path);
  };
  const auto read = [&](const std::string& path, std::shared_ptr<const void> keeper) {
    PassingEvents events = read_passing_events(path, std::move(keeper));
    std::optional<EventGraph> graph = std::exchange(own, std::nullopt);
    if (events.graph.events() == 0) events.graph = graph ? *std::move(graph) : read_events(key);
    return loaded_of(std::move(events));
  };
  return node.get<LoadedEvents>({"events", key.workload.json.dump(), key.seed}, write, read);
}

}  // namespace

VertexTimes EventData::times(VertexId vertex, const TakenEvents& taken, const MemoryMoments& moments) const {
  const std::int64_t first = neighbours->offsets[vertex], end = neighbours->offsets[vertex + 1];
  return times_of({neighbours->entries.data() + first, static_cast<std::size_t>(end - first)}, taken, moments,
                  [&](EdgeId event) { return time(event); });
}

void EventData::put_vertex(VertexId vertex, float* to) const {
  const std::int64_t own = whole->vertex_feature_width;
  std::copy_n(whole->vertex_features.data() + vertex * own, own, to);
  put_static(vertex, to + own);
}

void EventData::put_static(VertexId vertex, float* to) const {
  if (static_memory != nullptr) std::copy_n(static_memory->row(vertex), static_memory->width(), to);
}

EdgeId EventData::strictly_before(EdgeId event) const {
  const double time = graph->time[event];
  while (event > 0 && graph->time[event - 1] == time) --event;
  return event;
}

LoadedEvents EventsKey::make(const DataCache& cache) const {
  if (cache.node() != nullptr) {
    if (std::optional<LoadedEvents> shared = share_on_node(*this, *cache.node())) return *std::move(shared);
  }
  EventGraph own = read_events(*this);
  TimeCsr neighbours = make_time_csr(own);
  look_at_process_memory();
  return loaded_of({std::move(own), std::move(neighbours)});
}

DrawnEvents DrawsKey::make(const DataCache& cache) const {
  const LoadedEvents loaded = *cache.get(events);
  if (loaded.graph == nullptr) return {};
  const EventGraph& graph = *loaded.graph;
  const std::shared_ptr<const EventTask> of = EventTaskRegistry::instance().find(task.name(), "/task").value(task.json);
  const auto draw = [&] {
    return std::make_shared<const EventTaskData>(of->draw(graph, static_cast<std::uint64_t>(events.seed)));
  };
  const auto draw_events = [&] {
    DrawnEvents drawn;
    drawn.all = {loaded.graph, loaded.neighbours,
                 draw(),       {graph.edge_feature_width, graph.vertex_feature_width, graph.vertices},
                 nullptr,      loaded.graph};
    drawn.training = drawn.all.task->trained == nullptr ? drawn.all : training_walk(drawn.all);
    return drawn;
  };
  if (cache.node() == nullptr) return draw_events();
  const BoundedReading bound = cache.node()->bounded_reading();  // what does not fit grows in files
  return draw_events();
}

}  // namespace strobe
