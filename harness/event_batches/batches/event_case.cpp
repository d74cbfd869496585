#include "harness/event_batches/batches/event_case.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/event_batches/batches/static_memory.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/request/until.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {
namespace {

std::string name_of(const Json& plugin) { return plugin.at("name").get<std::string>(); }

DrawnEvents draw_events(const Case& c, const DataCache& cache) {
  DrawnEvents drawn = *cache.get(DrawsKey{{{c.workload}, c.seed}, {c.task}});
  if (drawn.all.graph != nullptr) return drawn;
  throw InvalidRequest("/workload", fmt::format("{} holds or makes snapshots, but model {} trains on events; choose a "
                                                "workload of events, or a model of snapshots",
                                                name_of(c.workload), name_of(c.model)));
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

/// Weight decay would move what the model keeps as it starts.
void check_fixed(const EventCase& c) {
  const Json& optimizer = c.request.optimizer;
  const double decay = optimizer.value("weight_decay", name_of(optimizer) == "adamw" ? 0.01 : 0.0);
  if (!c.model->traits().fixed_time_encoding || decay == 0) return;
  throw InvalidRequest("/optimizer/weight_decay",
                       "weight decay would shrink the frequencies that time_encoding=fixed keeps; take weight_decay=0, "
                       "or time_encoding=trained");
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

std::int64_t EventCase::judged_events(const std::string& metric, bool validation) const {
  const EventTaskData& drawn = *data.task;
  const auto apart = drawn.metric_events.find((validation ? validation_prefix : "") + metric);
  if (apart != drawn.metric_events.end()) return apart->second;
  return validation ? drawn.split.validation_end - drawn.split.train_end
                    : data.graph->events() - drawn.split.validation_end;
}

std::uint64_t EventCase::kept_bytes() const {
  const EventGraph& graph = *data.graph;
  const std::uint64_t features = graph.edge_features.size() + graph.vertex_features.size();
  const EdgeId walked = graph.events() + (data.task->kept_out.empty() ? 0 : training_events());
  return static_cast<std::uint64_t>(walked) * 40 + 4 * features;
}

PerMemoryPart<std::uint64_t> EventCase::host_parts() const {
  PerMemoryPart<std::uint64_t> parts{};
  const auto add_graph = [&](const EventGraph& graph) {
    parts[MemoryPart::graph] += graph.source.own_bytes() + graph.target.own_bytes() + graph.time.own_bytes() +
                                graph.weight.own_bytes() + graph.original_id.own_bytes() +
                                graph.exact_weight.own_bytes();
    parts[MemoryPart::features] += graph.edge_features.own_bytes() + graph.vertex_features.own_bytes();
    parts[MemoryPart::samples] += graph.vertex_label.own_bytes() + graph.event_label.own_bytes();
  };
  add_graph(*data.graph);
  if (training.graph != data.graph) add_graph(*training.graph);
  const auto add_neighbours = [&](const TimeCsr& csr) {
    parts[MemoryPart::graph] += csr.offsets.own_bytes() + csr.entries.own_bytes();
  };
  add_neighbours(*data.neighbours);
  if (training.neighbours != data.neighbours) add_neighbours(*training.neighbours);
  if (training.task->trained != nullptr)
    parts[MemoryPart::samples] += training.task->trained->numbers.own_bytes();
  parts[MemoryPart::samples] += data.task->judged.size();
  if (data.task->candidates != nullptr) parts[MemoryPart::samples] += data.task->candidates->own_bytes();
  return parts;
}

void EventCase::prepare_static_memory(Communicator* column) const {
  if (data.static_memory != nullptr) data.static_memory->prepare(request.threads, request.host_threads, column);
}

EventCase begin_event_case(const Case& request, const DataCache& cache) {
  EventCase c;
  c.request = request;
  c.options = options_of(request);
  c.node = cache.node();
  c.model = EventModelRegistry::instance().find(name_of(request.model), "/model").value(request.model);
  c.task = EventTaskRegistry::instance().find(name_of(request.task), "/task").value(request.task);
  OptimizerRegistry::instance().find(name_of(request.optimizer), "/optimizer").value(request.optimizer);
  DrawnEvents drawn = draw_events(request, cache);
  c.data = std::move(drawn.all);
  c.training = std::move(drawn.training);
  c.notes = c.data.graph->provenance.notes;
  c.notes.insert(c.notes.end(), c.data.task->notes.begin(), c.data.task->notes.end());
  check_batch(c);
  check_fixed(c);
  const std::shared_ptr<const StaticMemory> memory = static_memory_of(c, cache);
  for (EventData* data : {&c.data, &c.training}) {
    data->static_memory = memory;
    if (data->static_memory != nullptr) data->widths.vertex += data->static_memory->width();
  }
  c.parameters = c.model->parameters(c.data.widths);
  for (ParameterShape& shape : c.task->parameters(*c.data.graph, c.model->traits().embedding))
    c.parameters.push_back(std::move(shape));
  if (!request.load_model.empty()) c.start_values = load_weights(request.load_model, request, c.parameters);
  return c;
}

}  // namespace strobe
