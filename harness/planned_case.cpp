#include "harness/planned_case.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>

#include "backends/communicator.hpp"
#include "harness/checkpoint.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// Keeps the last few values by key, so that a suite does not read and preprocess a graph once per case.
template <class T>
class RecentlyMade {
 public:
  template <class Make>
  std::shared_ptr<const T> get(const std::string& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if (it->first != key) continue;
      kept_.splice(kept_.begin(), kept_, it);
      return kept_.front().second;
    }
    kept_.emplace_front(key, std::make_shared<const T>(make()));
    if (kept_.size() > 3) kept_.pop_back();
    return kept_.front().second;
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<const T>>> kept_;
};

std::string text_of(const Json& plugin, const char* key) { return plugin.at(key).get<std::string>(); }

/// The plan's graph preprocessed as a model wants it.
std::shared_ptr<const PreparedGraph> prepared_graph(const PlannedCase& plan, const Preprocessing& what) {
  static RecentlyMade<PreparedGraph> prepared;
  const Case& c = plan.request;
  const std::string how = c.workload.dump() + std::to_string(c.seed) + what.smooth + std::to_string(what.window) +
                          (what.smooth_features ? "x" : "") + (what.laplacian ? "l" : "") + what.walk +
                          (what.precompute_first_product ? "p" : "") + c.precision +
                          std::to_string(plan.task_data->steps);
  return prepared.get(how, [&] { return prepare(*plan.raw, what, plan.task_data->steps, plan.fp64); });
}

void load_graph(PlannedCase& plan) {
  static RecentlyMade<SnapshotGraph> graphs;
  static RecentlyMade<TaskData> draws;
  const Case& c = plan.request;
  const std::string workload_key = c.workload.dump() + std::to_string(c.seed);
  plan.raw = graphs.get(workload_key, [&] {
    return load_workload(text_of(c.workload, "name"), c.workload, static_cast<std::uint64_t>(c.seed));
  });
  if (plan.raw->vertices == 0 || plan.raw->edges() == 0) {
    throw InvalidRequest("/workload",
                         "the graph is empty: " + std::to_string(plan.raw->vertices) + " vertices, no edges");
  }
  plan.task_data = draws.get(workload_key + c.task.dump(),
                             [&] { return plan.task->draw(*plan.raw, static_cast<std::uint64_t>(c.seed)); });
  plan.graph = prepared_graph(plan, plan.model->preprocessing());
}

/// Index lists are only made where values will move: never for shape-only numerics, for one rank under mpirun.
ListScope list_scope(const Case& c) {
  if (c.numerics == "none") return {ListScope::Kind::none, 0};
  const auto& comm = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
  if (comm.world_size() > 0) return {ListScope::Kind::one, comm.process_rank()};
  return {};
}

/// A world that others started has as many ranks as it has.
void check_world(const Case& c) {
  const int world = CommunicatorRegistry::instance().find(c.comm, "/comm").value.world_size();
  if (world == 0 || world == c.ranks) return;
  throw Unavailable("communicator " + c.comm + ": " + std::to_string(c.ranks) +
                    " ranks were asked for, but this world has " + std::to_string(world) + "; start with: mpirun -n " +
                    std::to_string(c.ranks) + " strobe run ... --comm " + c.comm + " --ranks " +
                    std::to_string(c.ranks));
}

void check_supported(const PlannedCase& plan) {
  if (plan.strategy.schedule.kind != "full_batch" || plan.strategy.staleness != "exact") {
    throw InvalidRequest("/strategy", "this run loop walks exact full-batch schedules, not " +
                                          plan.strategy.schedule.kind + " with " + plan.strategy.staleness + " reads");
  }
}

void derive_exchanges(PlannedCase& plan) {
  const ListScope scope = list_scope(plan.request);
  const Placement& spatial = plan.strategy.spatial;
  const Placement& temporal = plan.strategy.temporal;
  if (plan.any_layer_reads_neighbours()) {
    plan.spatial_needs = spatial_needs(spatial, *plan.graph);
  } else {
    plan.spatial_needs.vertices.assign(static_cast<std::size_t>(spatial.ranks),
                                       std::vector<std::vector<VertexId>>(static_cast<std::size_t>(spatial.steps())));
  }
  plan.spatial_halo = halo(spatial, plan.spatial_needs, scope);
  plan.to_temporal = redistribute(spatial, temporal, scope);
  plan.to_spatial = redistribute(temporal, spatial, scope);
  plan.segments = temporal_segments(temporal);
  plan.spatial_segments = temporal_segments(spatial);
  for (const Preprocessing& support : plan.model->supports()) {
    plan.supports.push_back(split_into_steps(*prepared_graph(plan, support), spatial, scope));
  }
  for (std::size_t l = 0; l < plan.layers.size(); ++l) {
    const LayerShape& layer = plan.layers[l];
    const bool steps = layer.step_by_step;
    plan.handover.push_back(!remembers(layer.need) ? StateHandover()
                                                   : state_handover(steps ? spatial : temporal,
                                                                    steps ? plan.spatial_segments : plan.segments,
                                                                    *plan.model, static_cast<int>(l), scope));
  }
  plan.train = place_samples(plan.task_data->train, spatial, scope);
  plan.test = place_samples(plan.task_data->test, spatial, scope);
}

}  // namespace

bool PlannedCase::any_layer_reads_neighbours() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerShape& layer) { return layer.reads_neighbours; });
}

std::vector<std::vector<std::uint64_t>> byte_matrix(const ExchangePlan& plan, std::uint64_t row_bytes) {
  std::vector<std::vector<std::uint64_t>> matrix;
  for (const RankExchange& rank : plan.ranks) {
    std::vector<std::uint64_t> row;
    for (const std::int64_t rows : rank.send_count) row.push_back(static_cast<std::uint64_t>(rows) * row_bytes);
    matrix.push_back(std::move(row));
  }
  return matrix;
}

std::shared_ptr<const PlannedCase> make_plan(const Case& request) {
  auto plan = std::make_shared<PlannedCase>();
  plan->request = request;
  plan->fp64 = request.precision == "fp64";
  plan->model = ModelRegistry::instance().find(text_of(request.model, "name"), "/model").value(request.model);
  plan->task = TaskRegistry::instance().find(text_of(request.task, "name"), "/task").value(request.task);
  const auto& strategy = StrategyRegistry::instance().find(text_of(request.strategy, "name"), "/strategy");
  if (request.ranks < 1)
    throw InvalidRequest("/ranks", "at least 1 rank is needed, not " + std::to_string(request.ranks));
  check_world(request);
  load_graph(*plan);
  plan->layers = plan->model->layers(plan->graph->feature_width);
  plan->parameters = plan->model->parameters(plan->graph->feature_width);
  for (ParameterShape& shape : plan->task->parameters(plan->layers.back().temporal_width)) {
    plan->parameters.push_back(std::move(shape));
  }
  for (const ParameterShape& shape : plan->parameters) plan->parameter_count += shape.rows * shape.columns;
  if (!request.load_model.empty()) plan->start_values = load_weights(request.load_model, request, plan->parameters);
  plan->strategy =
      strategy.value({*plan->graph, plan->ranks(), static_cast<std::uint64_t>(request.seed)}, request.strategy);
  check_supported(*plan);
  derive_exchanges(*plan);
  count_planned_bytes(*plan);
  return plan;
}

}  // namespace strobe
