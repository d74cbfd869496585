#include "harness/full_batch/full_batch_schedule.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/files/model_files.hpp"
#include "harness/files/placement_file.hpp"
#include "harness/files/sample_file.hpp"
#include "harness/files/vertex_ids.hpp"
#include "harness/full_batch/full_batch_trainer.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/request/until.hpp"

namespace strobe {
namespace {

/// Batches of an evaluation alone; nothing where the task is not judged on events.
std::optional<BatchEvents> judged_batches(const Task& task) {
  if (task.evaluation_batch() == 0) return std::nullopt;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  return BatchEvents{0, 0, task.evaluation_batch(), none, none};
}

class FullBatchSchedule final : public SchedulePlan {
 public:
  explicit FullBatchSchedule(std::shared_ptr<const FullBatchPlan> plan)
      : plan_(std::move(plan)), budget_{plan_->planned_bytes, {}} {}

  const FullBatchPlan& plan() const { return *plan_; }

  const ByteBudget& budget() const override { return budget_; }
  ByteBudget budget_of(std::int64_t epoch) const override {
    if (epoch == 0 || !plan_->stale.active) return budget_;
    ByteBudget later{plan_->stale.at_most, {}};
    for (std::size_t traffic = 0; traffic < traffic_count; ++traffic) {
      if (plan_->stale.traffic.exact[traffic] > 0) later.promise[traffic] = Promise::at_most;
    }
    return later;
  }
  std::optional<StaleTraffic> stale_traffic() const override {
    if (!plan_->stale.active) return std::nullopt;
    return plan_->stale.traffic;
  }
  EpochItems items() const override {
    return {plan_->data.trained_edges(),
            "edges_per_second",
            static_cast<double>(plan_->data.graph->nonzeros()),
            1,
            plan_->data.trained_cells(),
            judged_batches(*plan_->model.task)};
  }
  std::vector<std::int64_t> fusion_units() const override {
    return plan_->fusion == nullptr ? std::vector<std::int64_t>() : plan_->fusion->units_per_rank(plan_->ranks());
  }
  std::vector<std::string> approximations() const override { return plan_->strategy.approximations; }
  const std::vector<ParameterShape>& parameters() const override { return plan_->model.parameters; }
  /// Passes of training with stale rows are not those of an evaluation.
  bool epochs_tell_metrics() const override {
    return !plan_->model.equations->traits().stochastic && !plan_->stale.active;
  }
  void check_start(const TrainingState& state) const override { plan_->stale.check_start(state); }
  const std::vector<std::string>& notes() const override { return plan_->notes; }
  std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& metrics) const override {
    return plan_->model.task->remarks(metrics);
  }
  Json describe() const override { return strobe::describe(*plan_); }
  std::string digest() const override { return digest_of(*plan_); }

  MetricNames metrics() const override {
    MetricNames all;
    add_metrics("", plan_->data.samples->test, all);
    if (!plan_->evaluation.validation_steps.empty())
      add_metrics(validation_prefix, plan_->data.samples->validation, all);
    return all;
  }

  OutputKinds outputs() const override {
    const bool values = plan_->data.raw != nullptr;
    return {.embeddings = values, .samples = values, .placement = true};
  }
  void write_embeddings(const std::string& path, const std::vector<double>& values) const override {
    write_npy(path, {plan_->data.graph->steps, plan_->data.graph->vertices, plan_->model.layers.back().temporal_width},
              values, plan_->model.fp64);
    write_ids_beside(path);
  }
  void write_samples(const std::string& path) const override {
    strobe::write_samples(path, *plan_->data.samples, *plan_->data.raw);
  }
  void write_placement(const std::string& path) const override {
    const auto& chunks = plan_->strategy.chunks;
    write_placement_file(path, plan_->strategy.spatial, plan_->strategy.temporal,
                         chunks == nullptr ? nullptr : &chunks->of_cell, plan_->strategy.loads.get());
    if (plan_->data.raw != nullptr) write_ids_beside(path);
  }
  void write_ids_beside(const std::string& path) const override { write_ids(path, vertex_ids(*plan_->data.raw)); }

  std::uint64_t kept_bytes() const override {
    const PreparedGraph& graph = *plan_->data.graph;
    const std::uint64_t element = plan_->model.fp64 ? 8 : 4;
    const auto cells = static_cast<std::uint64_t>(graph.vertices * graph.steps);
    if (!graph.has_structure()) {  // nothing of a shape is held cell by cell
      const std::size_t maps = plan_->strategy.spatial.maps.size() + plan_->strategy.temporal.maps.size();
      return maps * static_cast<std::uint64_t>(graph.vertices) * sizeof(Rank) + plan_->exchange_bytes;
    }
    const auto entries = static_cast<std::uint64_t>(graph.nonzeros());
    // The matrices and the raw graph; features; owners, exchange lists and samples of each cell.
    return entries * 2 * (4 + element) + cells * (static_cast<std::uint64_t>(graph.cell_width()) * element + 64);
  }

  std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const override {
    return std::make_unique<FullBatchTrainer>(*plan_, device, communicator);
  }

 private:
  void add_metrics(const std::string& prefix, const Samples& samples, MetricNames& all) const {
    const TaskData& data = *plan_->data.samples;
    for (const std::string& name : plan_->model.task->metric_names()) {
      all.names.push_back(prefix + name);
      if (const std::string why = data.why_absent(prefix + name); !why.empty()) all.absent[prefix + name] = why;
    }
    for (const auto& [name, count] : plan_->model.task->metric_samples(samples)) {
      all.samples[prefix + name] = count;
      if (data.rules.count(prefix + name) != 0) all.names.push_back(prefix + name);
    }
  }

  std::shared_ptr<const FullBatchPlan> plan_;
  ByteBudget budget_;
};

class FullBatchPlanner final : public SchedulePlanner {
 public:
  FullBatchPlanner(const Case& request, PlanUse use) : case_(begin_full_batch(request, use)) {}

  bool leaves_open() const override { return case_.options.blocks == 0; }
  std::vector<std::int64_t> choices() const override {
    return leaves_open() ? useful_block_counts(case_.data.graph->steps) : std::vector{case_.options.blocks};
  }
  std::shared_ptr<const SchedulePlan> plan(std::int64_t blocks) override {
    return std::make_shared<FullBatchSchedule>(lay_out(case_, blocks));
  }
  std::string chosen_text(std::int64_t blocks) const override { return fmt::format("nb=auto chose {} blocks", blocks); }
  std::string choice_text(std::int64_t blocks) const override { return fmt::format("nb={}", blocks); }
  std::string choice_name() const override { return "number of blocks"; }

 private:
  FullBatchCase case_;
};

std::unique_ptr<SchedulePlanner> plan_full_batch(const Case& request, PlanUse use) {
  return std::make_unique<FullBatchPlanner>(request, use);
}

const Register<ScheduleTag> full_batch_registered{
    {"full_batch",
     "every cell once in an epoch, one update; in checkpoint blocks of steps where memory is short",
     "Chakaravarthy et al., Efficient Scaling of Dynamic Graph Neural Networks, SC 2021, sections 3 and 4",
     {},
     {"snapshots", plan_full_batch},
     {}}};

}  // namespace

const FullBatchPlan* full_batch_or_null(const PlannedCase& plan) {
  const auto* const schedule = dynamic_cast<const FullBatchSchedule*>(plan.schedule.get());
  return schedule == nullptr ? nullptr : &schedule->plan();
}

const FullBatchPlan& full_batch(const PlannedCase& plan) {
  const FullBatchPlan* const found = full_batch_or_null(plan);
  if (found == nullptr) throw Error("the case is not trained in full batches");
  return *found;
}

std::shared_ptr<const SchedulePlan> full_batch_schedule(std::shared_ptr<const FullBatchPlan> plan) {
  return std::make_shared<FullBatchSchedule>(std::move(plan));
}

}  // namespace strobe
