#include "harness/plan/planned_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>

#include "backends/communicator.hpp"
#include "core/machine_limits.hpp"
#include "core/units.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/plan/overlap_plan.hpp"
#include "harness/plan/transfer_plan.hpp"
#include "harness/request/until.hpp"
#include "harness/training/planned_peak.hpp"
#include "models/optimizers/optimizer.hpp"
#include "workloads/preparation/feature_scale.hpp"
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

std::string key_of(const FeatureTerms& terms) {
  std::string key = terms.kind + std::to_string(terms.hops);
  for (const std::string& walk : terms.walks) key += walk;
  return key;
}

/// How features are scaled: as the workload's option says, or with auto as the model asks. It asks for degrees alone:
/// what users bring is theirs to scale.
std::string feature_scale_of(const PlannedCase& plan) {
  const Json& workload = plan.request.workload;
  if (workload.contains("feature_scale")) return text_of(workload, "feature_scale");
  const bool degrees = workload.value("features", std::string()).empty() && plan.raw->targets.empty();
  return degrees ? plan.model->preprocessing().feature_scale : "none";
}

/// A row must say what was done to its features unasked.
void note_feature_scale(PlannedCase& plan) {
  const std::string scale = feature_scale_of(plan);
  if (plan.request.workload.contains("feature_scale") || scale == "none") return;
  plan.notes.push_back(fmt::format("degrees are read with feature_scale={}, which {} needs", scale,
                                   text_of(plan.request.model, "name")));
}

/// Steps that training samples read, from the first one on.
std::int64_t trained_steps(const TaskData& data) {
  const std::vector<Step>& steps = data.train.step;
  return steps.empty() ? 1 : 1 + *std::max_element(steps.begin(), steps.end());
}

/// The plan's graph preprocessed as a model wants it.
std::shared_ptr<const PreparedGraph> prepared_graph(PlannedCase& plan, const Preprocessing& what) {
  if (plan.shape != nullptr) {
    return std::make_shared<PreparedGraph>(
        prepare_shape(plan.shape->complete, what, plan.shape->samples.steps, plan.notes));
  }
  static RecentlyMade<PreparedGraph> prepared;
  const Case& c = plan.request;
  const std::string scale = feature_scale_of(plan);
  const std::int64_t trained = trained_steps(*plan.task_data);
  const std::string how = c.workload.dump() + std::to_string(c.seed) + what.smooth + what.m +
                          std::to_string(what.window) + (what.smooth_features ? "x" : "") +
                          (what.laplacian ? "l" : "") + what.walk + (what.symmetric_pattern ? "s" : "") +
                          (what.precompute_first_product ? "p" : "") + (what.keep_features ? "k" : "") + c.precision +
                          std::to_string(plan.task_data->steps) + key_of(what.feature_terms) + scale +
                          std::to_string(trained);
  return prepared.get(how, [&] {
    return prepare_scaled(FeatureScale(*plan.raw, scale, trained, plan.fp64), what, plan.task_data->steps, plan.fp64);
  });
}

/// The task's samples. In fp32, values to predict are those that fp32 holds, in the metrics too.
TaskData draw_samples(const PlannedCase& plan) {
  const auto seed = static_cast<std::uint64_t>(plan.request.seed);
  if (plan.fp64 || plan.raw->targets.empty() || plan.raw->exact_features.empty())
    return plan.task->draw(*plan.raw, seed);
  SnapshotGraph rounded = *plan.raw;
  rounded.exact_features.clear();
  return plan.task->draw(rounded, seed);
}

void load_graph(PlannedCase& plan) {
  static RecentlyMade<SnapshotGraph> graphs;
  static RecentlyMade<TaskData> draws;
  const Case& c = plan.request;
  if (is_shape_workload(text_of(c.workload, "name"))) {
    plan.shape = std::make_shared<ShapeCase>(make_shape_case(c, *plan.task));
    plan.notes = plan.shape->complete.notes;
    const auto no_samples = std::make_shared<TaskData>();
    no_samples->steps = plan.shape->samples.steps;
    plan.task_data = no_samples;
    plan.graph = prepared_graph(plan, plan.model->preprocessing());
    return;
  }
  const std::string workload_key = c.workload.dump() + std::to_string(c.seed);
  plan.raw = graphs.get(workload_key, [&] {
    return load_workload(text_of(c.workload, "name"), c.workload, static_cast<std::uint64_t>(c.seed));
  });
  if (plan.raw->vertices == 0 || plan.raw->edges() == 0) {
    throw InvalidRequest("/workload",
                         "the graph is empty: " + std::to_string(plan.raw->vertices) + " vertices, no edges");
  }
  plan.notes = plan.raw->provenance.notes;  // what reading chose for the user
  plan.task_data = draws.get(workload_key + c.task.dump() + c.precision, [&] { return draw_samples(plan); });
  plan.graph = prepared_graph(plan, plan.model->preprocessing());
  note_feature_scale(plan);
}

/// What the samples mean for the model and for the row.
void look_at_samples(PlannedCase& plan) {
  plan.notes.insert(plan.notes.end(), plan.task_data->notes.begin(), plan.task_data->notes.end());
  plan.trained_steps = plan.task_data->trained_steps();
  if (plan.shape != nullptr) {
    for (const StepSamples& step : plan.shape->samples.train.steps)
      plan.trained_steps = std::max<std::int64_t>(plan.trained_steps, step.step + 1);
  }
  plan.model->check_steps(plan.trained_steps);
  if (plan.trained_steps == plan.graph->steps) return;
  const std::string note = plan.model->untrained_steps_note(plan.trained_steps, plan.graph->steps);
  if (!note.empty()) plan.notes.push_back(note);
}

/// Index lists are only made where values will move: never for shape-only numerics or a report, for one rank under
/// mpirun.
ListScope list_scope(const PlannedCase& plan) {
  const Case& c = plan.request;
  if (c.numerics == "none" || plan.use == PlanUse::report) return {ListScope::Kind::none, 0};
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

void check_supported(const PlannedCase& plan, std::int64_t blocks) {
  const Schedule& schedule = plan.strategy.schedule;
  if ((schedule.kind != "full_batch" && schedule.kind != "blocks") || plan.strategy.staleness != "exact") {
    throw InvalidRequest("/strategy", "this run loop walks exact schedules of all steps or of blocks of them, not " +
                                          schedule.kind + " with " + plan.strategy.staleness + " reads");
  }
  if (static_cast<std::int64_t>(schedule.blocks.size()) != blocks) {
    throw InvalidRequest("/nb", "this strategy cannot go through the timeline in blocks; set nb=1");
  }
}

/// The number of blocks that the case asks for. Throws InvalidRequest for one that its steps cannot have.
std::int64_t asked_blocks(const PlannedCase& plan) {
  const std::int64_t steps = plan.graph->steps, blocks = block_count(plan.request);
  if (blocks <= steps) return blocks;
  throw InvalidRequest("/nb", std::to_string(blocks) + " blocks, but only " + std::to_string(steps) +
                                  " steps are trained on; a block needs a step");
}

/// An exchange knows four counts of every pair of ranks (RankExchange); a block has four exchanges, the test samples
/// one more, and while one of them is made a pair takes eight numbers. Measured at 3000 ranks in one block: 239 bytes a
/// pair where this gives 224.
void refuse_too_many_pairs(const Case& c, std::size_t blocks) {
  const double ranks = static_cast<double>(c.ranks), exchanges = 4.0 * static_cast<double>(blocks) + 1;
  const double bytes = ranks * ranks * (4 * exchanges + 8) * sizeof(std::int64_t), memory = usable_memory_bytes();
  if (bytes <= memory) return;
  throw InvalidRequest(
      "/ranks",
      fmt::format("the exchanges of {} ranks with nb={} take about {} to plan, {} are there; take fewer ranks{}",
                  c.ranks, blocks, format_bytes(bytes), format_bytes(memory), blocks > 1 ? " or a smaller nb" : ""));
}

/// What depends on the number of blocks.
void lay_out(PlannedCase& plan, std::int64_t blocks) {
  const Case& c = plan.request;
  const auto& strategy = StrategyRegistry::instance().find(text_of(c.strategy, "name"), "/strategy");
  const ListScope scope = list_scope(plan);
  plan.strategy = strategy.value(
      {*plan.graph, plan.ranks(), static_cast<std::uint64_t>(c.seed), even_blocks(plan.graph->steps, blocks)},
      c.strategy);
  check_supported(plan, blocks);
  refuse_too_many_pairs(c, plan.strategy.schedule.blocks.size());
  plan.blocks = derive_blocks(plan, scope);
  check_transfer(plan);
  plan.test_steps = steps_tested(plan);
  plan.test = place_test_samples(plan, plan.test_steps, scope);
  plan.validation_steps = steps_validated(plan);
  if (!plan.validation_steps.empty()) plan.validation = place_validation_samples(plan, plan.validation_steps, scope);
  count_planned_bytes(plan);
}

/// Lays the plan out in as few blocks as keep every rank within the case's memory limit.
void lay_out_within_memory(PlannedCase& plan) {
  const auto gib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); };
  std::uint64_t least = 0;
  std::int64_t blocks_of_least = 0;
  for (const std::int64_t blocks : useful_block_counts(plan.graph->steps)) {
    try {
      lay_out(plan, blocks);
    } catch (const InvalidRequest&) {
      if (blocks == 1) throw;
      break;  // fewer steps to a block than the strategy can divide
    }
    const PlannedPeak peak = planned_peak(plan);
    if (peak.fits()) {
      plan.notes.push_back(
          fmt::format("nb=auto chose {} blocks: planned peak {:.6f} GiB a rank", blocks, gib(peak.bytes)));
      return;
    }
    if (blocks_of_least == 0 || peak.bytes < least) {
      least = peak.bytes;
      blocks_of_least = blocks;
    }
  }
  throw InvalidRequest("/memory_limit_gib",
                       fmt::format("no number of blocks fits {} GiB a rank; the least is {:.6f} GiB, with nb={}",
                                   plan.request.memory_limit_gib, gib(least), blocks_of_least));
}

}  // namespace

std::vector<std::int64_t> useful_block_counts(std::int64_t steps) {
  std::vector<std::int64_t> counts;
  for (std::int64_t size = steps; size >= 1; --size) {
    const std::int64_t blocks = (steps + size - 1) / size;
    if (counts.empty() || counts.back() != blocks) counts.push_back(blocks);
  }
  return counts;
}

std::int64_t PlannedCase::feature_width() const {
  return graph->feature_width / model->preprocessing().feature_terms.count();
}

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

std::shared_ptr<const PlannedCase> make_plan(const Case& request, PlanUse use) {
  auto plan = std::make_shared<PlannedCase>();
  plan->request = request;
  plan->use = use;
  plan->fp64 = request.precision == "fp64";
  plan->model = ModelRegistry::instance().find(text_of(request.model, "name"), "/model").value(request.model);
  plan->task = TaskRegistry::instance().find(text_of(request.task, "name"), "/task").value(request.task);
  StrategyRegistry::instance().find(text_of(request.strategy, "name"), "/strategy");
  // Made here so that options which do not go together are refused before ranks make their own.
  OptimizerRegistry::instance().find(text_of(request.optimizer, "name"), "/optimizer").value(request.optimizer);
  if (request.ranks < 1)
    throw InvalidRequest("/ranks", "at least 1 rank is needed, not " + std::to_string(request.ranks));
  if (use == PlanUse::run) check_world(request);
  load_graph(*plan);
  check_until(request, *plan->task, plan->task_data->validation.count() > 0);
  look_at_samples(*plan);
  plan->layers = plan->model->layers(plan->feature_width());
  plan->parameters = plan->model->parameters(plan->feature_width());
  for (ParameterShape& shape : plan->task->parameters(plan->layers.back().temporal_width)) {
    plan->parameters.push_back(std::move(shape));
  }
  for (const ParameterShape& shape : plan->parameters) plan->parameter_count += shape.rows * shape.columns;
  if (!request.load_model.empty()) plan->start_values = load_weights(request.load_model, request, plan->parameters);
  for (const Preprocessing& support : plan->model->supports()) {
    plan->support_graphs.push_back(prepared_graph(*plan, support));
  }
  if (const std::int64_t blocks = asked_blocks(*plan); blocks > 0) {
    lay_out(*plan, blocks);
  } else {
    lay_out_within_memory(*plan);
  }
  note_overlap(*plan);
  return plan;
}

}  // namespace strobe
