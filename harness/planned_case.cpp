#include "harness/planned_case.hpp"

#include <algorithm>
#include <filesystem>
#include <list>
#include <mutex>

#include "backends/communicator.hpp"
#include "harness/model_files.hpp"
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
    if (kept_.size() > 2) kept_.pop_back();
    return kept_.front().second;
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<const T>>> kept_;
};

std::string text_of(const Json& plugin, const char* key) { return plugin.at(key).get<std::string>(); }

void load_graph(PlannedCase& plan) {
  static RecentlyMade<SnapshotGraph> graphs;
  static RecentlyMade<TaskData> draws;
  static RecentlyMade<PreparedGraph> prepared;
  const Case& c = plan.request;
  const std::string workload_key = c.workload.dump() + std::to_string(c.seed);
  plan.raw = graphs.get(workload_key, [&] {
    return load_workload(text_of(c.workload, "name"), c.workload, static_cast<std::uint64_t>(c.seed));
  });
  if (plan.raw->vertices == 0 || plan.raw->edges() == 0) {
    throw InvalidRequest("/workload", "the graph is empty: " + std::to_string(plan.raw->vertices) + " vertices, no edges");
  }
  plan.task_data = draws.get(workload_key + c.task.dump(),
                             [&] { return plan.task->draw(*plan.raw, static_cast<std::uint64_t>(c.seed)); });
  const Preprocessing what = plan.model->preprocessing();
  const std::string how = what.smooth + std::to_string(what.window) + (what.smooth_features ? "x" : "") +
                          (what.laplacian ? "l" : "") + (what.precompute_first_product ? "p" : "") + c.precision +
                          std::to_string(plan.task_data->steps);
  plan.graph = prepared.get(workload_key + how,
                            [&] { return prepare(*plan.raw, what, plan.task_data->steps, plan.fp64); });
}

/// Index lists are only made where values will move: never for shape-only numerics, for one rank under mpirun.
ListScope list_scope(const Case& c) {
  if (c.numerics == "none") return {ListScope::Kind::none, 0};
  const auto& comm = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
  if (comm.world_size() > 0) return {ListScope::Kind::one, comm.process_rank()};
  return {};
}

/// The loaded weights in the order of the model's parameters. Names and shapes must be the model's and the task's.
void load_start_values(PlannedCase& plan) {
  const std::string& path = plan.request.load_model;
  if (path.empty()) return;
  if (!std::filesystem::is_regular_file(path)) throw InvalidRequest("/load_model", "there is no file '" + path + "'");
  const std::vector<SavedMatrix> saved = read_safetensors(path);
  for (const ParameterShape& shape : plan.parameters) {
    const auto match = std::find_if(saved.begin(), saved.end(), [&](const SavedMatrix& m) { return m.name == shape.name; });
    if (match == saved.end()) {
      throw InvalidRequest("/load_model", path + " has no weight '" + shape.name + "' for this model and task");
    }
    if (match->rows != shape.rows || match->columns != shape.columns) {
      throw InvalidRequest("/load_model", "weight '" + shape.name + "' of " + path + " has another shape than this model's");
    }
    plan.start_values.insert(plan.start_values.end(), match->values.begin(), match->values.end());
  }
  if (saved.size() != plan.parameters.size()) {
    throw InvalidRequest("/load_model", path + " holds weights that this model and task do not have");
  }
}

/// A world that others started has as many ranks as it has.
void check_world(const Case& c) {
  const int world = CommunicatorRegistry::instance().find(c.comm, "/comm").value.world_size();
  if (world == 0 || world == c.ranks) return;
  throw Unavailable("communicator " + c.comm + ": " + std::to_string(c.ranks) + " ranks were asked for, but this world has " +
                    std::to_string(world) + "; start with: mpirun -n " + std::to_string(c.ranks) + " strobe run ... --comm " +
                    c.comm + " --ranks " + std::to_string(c.ranks));
}

void check_supported(const PlannedCase& plan) {
  if (plan.strategy.schedule.kind != "full_batch" || plan.strategy.staleness != "exact") {
    throw InvalidRequest("/strategy", "this run loop walks exact full-batch schedules, not " +
                                          plan.strategy.schedule.kind + " with " + plan.strategy.staleness + " reads");
  }
  for (const LayerShape& layer : plan.layers) {
    const bool own_timeline = layer.need == TemporalNeed::window || layer.need == TemporalNeed::recurrent ||
                              layer.need == TemporalNeed::all;
    if (own_timeline && !plan.strategy.temporal.keeps_timelines()) {
      throw InvalidRequest("/strategy", "the temporal placement cuts timelines between ranks, which needs a temporal halo");
    }
  }
}

/// Sum over the exchanges of one epoch, forward and backward (see decisions.md E3, E22 for what is counted).
void count_planned_bytes(PlannedCase& plan) {
  const std::uint64_t element = plan.fp64 ? 8 : 4;
  const auto ranks = static_cast<std::uint64_t>(plan.ranks());
  const auto bytes = [&](const ExchangePlan& exchange, std::int64_t width) {
    return static_cast<std::uint64_t>(exchange.total_rows()) * static_cast<std::uint64_t>(width) * element;
  };
  auto& planned = plan.planned_bytes;
  auto& redistributed = planned[static_cast<std::size_t>(Traffic::redistribute)];
  auto& halos = planned[static_cast<std::size_t>(Traffic::halo)];
  for (std::size_t l = 0; l < plan.layers.size(); ++l) {
    const LayerShape& layer = plan.layers[l];
    if (layer.reads_neighbours) halos += bytes(plan.spatial_halo, layer.input_width) * (l == 0 ? 1 : 2);
    if (layer.need == TemporalNeed::none || layer.need == TemporalNeed::weights_only) continue;
    redistributed += 2 * (bytes(plan.to_temporal, layer.spatial_width) + bytes(plan.to_spatial, layer.temporal_width));
  }
  halos += 2 * bytes(plan.train.halo, plan.layers.back().temporal_width);
  planned[static_cast<std::size_t>(Traffic::gradient)] =
      2 * (ranks - 1) * static_cast<std::uint64_t>(plan.parameter_count) * element;
  planned[static_cast<std::size_t>(Traffic::other)] = 2 * (ranks - 1) * sizeof(double);  // the loss
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
  if (request.ranks < 1) throw InvalidRequest("/ranks", "at least 1 rank is needed, not " + std::to_string(request.ranks));
  check_world(request);
  load_graph(*plan);
  plan->layers = plan->model->layers(plan->graph->feature_width);
  plan->parameters = plan->model->parameters(plan->graph->feature_width);
  for (ParameterShape& shape : plan->task->parameters(plan->layers.back().temporal_width)) {
    plan->parameters.push_back(std::move(shape));
  }
  for (const ParameterShape& shape : plan->parameters) plan->parameter_count += shape.rows * shape.columns;
  load_start_values(*plan);
  plan->strategy = strategy.value({*plan->graph, plan->ranks(), static_cast<std::uint64_t>(request.seed)}, request.strategy);
  check_supported(*plan);
  derive_exchanges(*plan);
  count_planned_bytes(*plan);
  return plan;
}

}  // namespace strobe
