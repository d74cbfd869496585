#include "harness/event_batches/batches/event_case.hpp"

#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "harness/event_batches/batches/static_memory.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/request/until.hpp"
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

/// What is walked over in an evaluation, and in training.
struct DrawnEvents {
  EventData all, training;
};

/// What training walks over where vertices are kept out: the events that are left, as if there were no others.
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

DrawnEvents draw(const Case& c, const EventTask& task, const LoadedEvents& events) {
  DrawnEvents drawn;
  drawn.all = {events.graph,
               events.neighbours,
               std::make_shared<const EventTaskData>(task.draw(*events.graph, static_cast<std::uint64_t>(c.seed))),
               {events.graph->edge_feature_width, events.graph->vertex_feature_width, events.graph->vertices},
               nullptr,
               events.graph};
  drawn.training = drawn.all.task->trained == nullptr ? drawn.all : training_walk(drawn.all);
  return drawn;
}

/// Draws of the last case, which the next one of the same workload, task and seed shares.
DrawnEvents draw_once(const Case& c, const EventTask& task, const LoadedEvents& events) {
  static std::mutex mutex;
  static std::string key;
  static DrawnEvents kept;
  const std::lock_guard lock(mutex);
  const std::string wanted = c.workload.dump() + c.task.dump() + std::to_string(c.seed);
  if (wanted != key || kept.all.graph != events.graph) {
    kept = {};  // also where the next draw is refused
    kept = draw(c, task, events);
    key = wanted;
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
  Json groups = Json::object();
  for (const std::string& name : event_group_names()) {
    if (c.strategy.contains(name)) groups[name] = c.strategy.at(name);
  }
  options.grouped = !groups.empty();
  event_group_fields<EventBatchOptions>().apply(&options, groups, "/strategy");
  if (options.grouped) return options;
  if (c.ranks != 1) {
    throw InvalidRequest("/ranks",
                         fmt::format("strategy {} runs models of events on 1 rank, not {}; choose event_batch",
                                     name_of(c.strategy), c.ranks));
  }
  options.i = options.j = options.k = 1;
  return options;
}

void check_batch(const EventCase& c) {
  if (c.options.batch <= c.training_events()) return;
  throw InvalidRequest("/strategy/batch",
                       fmt::format("a batch of {} events, but only {} are trained on; take a smaller "
                                   "batch or a larger share for training{}",
                                   c.options.batch, c.training_events(),
                                   c.data.task->kept_out.empty() ? "" : ", or keep fewer vertices out"));
}

}  // namespace

EdgeId EventData::strictly_before(EdgeId event) const {
  const double time = graph->time[static_cast<std::size_t>(event)];
  while (event > 0 && graph->time[static_cast<std::size_t>(event - 1)] == time) --event;
  return event;
}

std::int64_t EventCase::judged_events(const std::string& metric, bool validation) const {
  const EventTaskData& drawn = *data.task;
  const auto apart = drawn.metric_events.find((validation ? validation_prefix : "") + metric);
  if (apart != drawn.metric_events.end()) return apart->second;
  return validation ? drawn.split.validation_end - drawn.split.train_end
                    : data.graph->events() - drawn.split.validation_end;
}

std::uint64_t EventCase::kept_bytes() const {
  const EventGraph& graph = *data.graph;
  const auto features = static_cast<std::uint64_t>(graph.edge_features.size() + graph.vertex_features.size());
  const EdgeId walked = graph.events() + (data.task->kept_out.empty() ? 0 : training_events());
  return static_cast<std::uint64_t>(walked) * 40 + 4 * features;
}

EventCase begin_event_case(const Case& request) {
  EventCase c;
  c.request = request;
  c.options = options_of(request);
  c.model = EventModelRegistry::instance().find(name_of(request.model), "/model").value(request.model);
  c.task = EventTaskRegistry::instance().find(name_of(request.task), "/task").value(request.task);
  OptimizerRegistry::instance().find(name_of(request.optimizer), "/optimizer").value(request.optimizer);
  const LoadedEvents loaded = load_once(request);
  DrawnEvents drawn = draw_once(request, *c.task, loaded);
  c.data = std::move(drawn.all);
  c.training = std::move(drawn.training);
  c.notes = loaded.graph->provenance.notes;
  c.notes.insert(c.notes.end(), c.data.task->notes.begin(), c.data.task->notes.end());
  check_batch(c);
  for (EventData* data : {&c.data, &c.training}) {
    data->static_memory = static_memory_of(c);
    if (data->static_memory != nullptr) data->widths.vertex += data->static_memory->width();
  }
  c.parameters = c.model->parameters(c.data.widths);
  for (ParameterShape& shape : c.task->parameters(*c.data.graph, c.model->traits().embedding))
    c.parameters.push_back(std::move(shape));
  if (!request.load_model.empty()) c.start_values = load_weights(request.load_model, request, c.parameters);
  return c;
}

}  // namespace strobe
