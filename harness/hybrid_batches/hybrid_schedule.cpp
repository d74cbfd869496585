// The kind of training `hybrid_batches`: windows of steps times some of a rank's own vertices.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/shapes_device.hpp"
#include "harness/files/placement_file.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/hybrid_batches/batch_feed.hpp"
#include "harness/hybrid_batches/graph_bytes.hpp"
#include "harness/hybrid_batches/hybrid_memory.hpp"
#include "harness/hybrid_batches/hybrid_trainer.hpp"
#include "harness/request/schedule_tag.hpp"

namespace strobe {
namespace {

class HybridSchedule final : public SchedulePlan {
 public:
  explicit HybridSchedule(std::shared_ptr<const HybridPlan> plan)
      : plan_(std::move(plan)),
        full_(own_full_batch_schedule(plan_->full)),
        vectors_(vectors_of_optimizer()),
        summary_(summarised()),
        budget_(budget_of_epoch()) {}

  const PlanSummary& summary() const override { return summary_; }
  ByteBudget budget(std::int64_t) const override { return budget_; }
  Facts facts(const std::vector<EpochSample>&) const override {
    Facts facts;
    const Facts of_full = full_->facts({});
    if (of_full.has("evaluation_batch")) facts.values["evaluation_batch"] = of_full.values.at("evaluation_batch");
    if (of_full.has("negatives_sha256")) facts.values["negatives_sha256"] = of_full.values.at("negatives_sha256");
    const BatchRedundancy twice = redundancy();
    facts.set("redundant_computation", twice.redundant_computation);
    if (!plan_->caches) {
      for (const char* key : {"cached_bytes", "distributed_bytes", "duplication"})
        facts.absent[key] = "not counted: too many entries and ranks";
      return facts;
    }
    facts.values["cached_bytes"] = plan_->caches->cached_bytes;
    facts.values["distributed_bytes"] = twice.distributed_bytes;
    facts.set("duplication", twice.duplication);
    return facts;
  }
  bool evaluates_after(std::int64_t epoch) const override {
    if (judges_shapes_) return true;
    const std::int64_t every = plan_->options.evaluate_every, each = std::max<std::int64_t>(1, plan_->iterations());
    return (epoch + 1) * each / every > epoch * each / every;
  }
  std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& metrics) const override {
    return full_->remarks(metrics);
  }

  PerMemoryPart<std::uint64_t> host_parts() const override {
    PerMemoryPart<std::uint64_t> parts = full_->host_parts();
    const auto count = [&](MemoryPart part, const auto& values) { parts[part] += values.size() * sizeof(values[0]); };
    count(MemoryPart::samples, plan_->samples.vertex), count(MemoryPart::samples, plan_->samples.sample);
    count(MemoryPart::graph, plan_->owner);
    for (const BalancedGroups& groups : plan_->groups)
      for (const std::vector<VertexId>& group : groups) count(MemoryPart::graph, group);
    if (plan_->loads != nullptr)
      parts[MemoryPart::graph] += plan_->loads->load.own_bytes() + plan_->loads->group.own_bytes();
    parts[MemoryPart::graph] += plan_->degrees.own_bytes();
    return parts;
  }
  Json describe() const override {
    Json described = full_->describe();
    const TypicalBatch& typical = plan_->typical[plan_->first_action];
    Json sizes = Json::array();
    for (const BatchSize& size : plan_->actions[plan_->first_action].of_rank)
      sizes.push_back({{"vertices", size.vertices}, {"steps", size.steps}});
    Json schedule = {{"kind", "hybrid_batches"},
                     {"averaging", plan_->options.averaging},
                     {"iterations", plan_->iterations()},
                     {"batch_of_rank", sizes},
                     {"training_steps", plan_->trained_steps()},
                     {"cells_of_all", static_cast<std::int64_t>(plan_->full->data.trained_cells())},
                     {"typical_batch",
                      {{"target_cells", typical.target_cells},
                       {"computed_cells", typical.cells},
                       {"needed_cells", typical.needed_cells},
                       {"entries", typical.entries},
                       {"bytes", typical.bytes}}}};
    const GraphBytes graph = graph_bytes(plan_->full->data, plan_->full->model);
    schedule["graph_bytes"] = {{"raw", graph.raw}, {"prepared", graph.prepared}, {"samples", graph.samples}};
    const BatchRedundancy twice = redundancy();
    schedule["redundant_computation"] = twice.redundant_computation;
    if (plan_->caches) {
      schedule["own_bytes"] = plan_->caches->own_bytes;
      schedule["cached_bytes"] = plan_->caches->cached_bytes;
      schedule["distributed_bytes"] = twice.distributed_bytes;
      schedule["duplication"] = twice.duplication;
    }
    return {{"schedule", schedule},
            {"parameter_count", described["parameter_count"]},
            {"parameters", described["parameters"]}};
  }
  std::string digest() const override { return full_->digest(); }
  std::optional<Rank> only_rank() const override { return full_->only_rank(); }

  std::vector<OutputFile> outputs() const override {
    std::vector<OutputFile> files = full_->outputs();
    const auto ids = std::find_if(files.begin(), files.end(),
                                  [](const OutputFile& file) { return file.name == ids_beside_checkpoint; });
    const auto write_ids = ids == files.end() ? nullptr : ids->write;
    for (OutputFile& file : files) {
      if (file.name != "placement") continue;
      file.write = [this, write_ids](const std::string& path, const OutputContent& content) {
        const Placement& placement = plan_->full->strategy.spatial;
        write_placement_file(path, placement, placement, nullptr, plan_->loads.get());
        if (write_ids) write_ids(path, content);
      };
    }
    return files;
  }

  void check_start(const TrainingState& state) const override {
    const bool alone = state.kept.find("hybrid.weights") != state.kept.end();
    if (alone == !plan_->sync()) return;
    throw InvalidRequest("--resume-training",
                         "the checkpoint was written with another way of averaging; continue with that one");
  }

  std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const override {
    return std::make_unique<HybridTrainer>(*plan_, device, communicator, judges_shapes_);
  }

  HybridMemory memory() const {
    auto judged = std::make_shared<HybridSchedule>(*this);
    judged->judges_shapes_ = true;
    HybridMemory memory{std::move(judged), full_, {}};
    for (Rank rank = 0; rank < plan_->ranks(); ++rank)
      if (only_rank().value_or(rank) == rank) memory.feed.push_back(feed_bytes(*plan_, rank));
    return memory;
  }

 private:
  /// The data that ranks keep, and the cells that they compute, more than once. The first two are known if caches were
  /// counted.
  struct BatchRedundancy {
    std::uint64_t distributed_bytes = 0;  // bytes to bring other ranks' rows to each rank once, over all ranks
    double duplication = 0;
    double redundant_computation = 0;  // cells that layers compute beyond the targets, per target and layer
  };
  BatchRedundancy redundancy() const {
    const TypicalBatch& typical = plan_->typical[plan_->first_action];
    const double targets = typical.target_cells * static_cast<double>(plan_->layers().size());
    BatchRedundancy twice;
    twice.redundant_computation = std::max(0.0, typical.cells / targets - 1);
    if (!plan_->caches) return twice;
    const CacheSizes& caches = *plan_->caches;
    // The rows are sent with the numbers of their vertices.
    twice.distributed_bytes = static_cast<std::uint64_t>(caches.cached_vertices) * sizeof(VertexId);
    for (const std::uint64_t bytes : caches.cached_bytes) twice.distributed_bytes += bytes;
    twice.duplication = caches.duplication;
    return twice;
  }

  PlanSummary summarised() const {
    const PlanSummary& full = full_->summary();
    PlanSummary summary;
    summary.items = items();
    summary.parameters = full.parameters;
    summary.metrics = full.metrics;
    summary.approximations = approximations();
    summary.notes = plan_->notes;
    // Owners, groups and loads of vertices.
    constexpr std::uint64_t of_vertex = sizeof(Rank) + sizeof(VertexId) + sizeof(double) + sizeof(std::int32_t);
    summary.kept_bytes = full.kept_bytes + of_vertex * static_cast<std::uint64_t>(plan_->graph().vertices);
    return summary;
  }

  EpochItems items() const {
    EpochItems items;
    const double iterations = plan_->iterations();
    for (const double cells : plan_->actions[plan_->first_action].target_cells) items.count += iterations * cells;
    // The size that an adjuster chooses, and the number of updates in given seconds, differ from epoch to epoch.
    if (plan_->adjusts()) items.count = 0;
    items.unit = "cells_per_second";
    items.iterations = std::max<std::int64_t>(1, plan_->iterations());
    if (plan_->exact) items.edges = full_->summary().items.count;  // then an update is a full batch
    return items;
  }

  std::vector<std::string> approximations() const {
    std::vector<std::string> all;
    if (!plan_->exact) {
      all.push_back(fmt::format("batches of {} of {} vertices in windows of {} of the training steps",
                                plan_->options.vertices, plan_->cuts_steps() ? "all" : "a rank's",
                                plan_->options.snapshots));
      for (const LayerShape& layer : plan_->layers()) {
        if (layer.sums.values + layer.sums.constants_per_rank == 0) continue;
        all.emplace_back("batch_statistics: sums over vertices cover only those of a batch");
        break;
      }
    }
    if (plan_->adjusts())
      all.push_back(fmt::format("adjuster {} chooses the size of batches", plan_->options.adjuster));
    if (plan_->options.loss != "pooled") all.emplace_back("loss=per_step: every step counts the same");
    if (plan_->options.frontier != "exact") all.emplace_back("frontier=layers: only the hops of one step are computed");
    if (plan_->options.normalise != "whole")
      all.emplace_back("normalise=batch: degrees are counted inside a batch's own graph");
    if (plan_->options.reservoir && plan_->options.generator == "pipelined" && !plan_->exact &&
        plan_->options.reservoir_start != "full")
      all.emplace_back("which batch comes next depends on what the generator has made by then");
    if (plan_->options.averaging == "async")
      all.push_back(fmt::format("ranks update alone; models are averaged every {}", interval_text()));
    if (plan_->options.averaging == "never")
      all.emplace_back("ranks update alone, and their models are never averaged");
    return all;
  }

  std::string interval_text() const {
    const AveragingInterval& interval = plan_->interval;
    return interval.iterations > 0 ? fmt::format("{} iterations", interval.iterations)
                                   : fmt::format("{} s", interval.seconds);
  }

  std::uint64_t vectors_of_optimizer() const {
    DeviceRequest without_values;
    without_values.values = false;
    ShapesDevice device(without_values);
    return TrainedWeights(device, plan_->full->model.parameters, 1, {}, plan_->full->request.optimizer)
        .vectors()
        .size();
  }

  ByteBudget budget_of_epoch() const {
    ByteBudget budget;
    const auto to = [&](Traffic traffic) -> std::uint64_t& { return budget.bytes[traffic]; };
    const std::uint64_t element = plan_->full->model.fp64 ? 8 : 4;
    const auto ring = 2 * (static_cast<std::uint64_t>(plan_->ranks()) - 1);
    const auto weights = static_cast<std::uint64_t>(plan_->full->model.parameter_count) * element;
    if (plan_->sync()) {
      to(Traffic::gradient) = ring * weights;
      to(Traffic::other) = ring * 2 * sizeof(double);
    } else if (plan_->options.averaging == "async") {
      to(Traffic::parameters) = ring * weights * (plan_->options.average == "moments" ? 1 + vectors_ : 1);
    }
    if (plan_->adjusts()) to(Traffic::other) += ring * sizeof(double);
    if (plan_->options.watches_fixed_batch()) to(Traffic::other) += ring * 2 * sizeof(double);
    if (!plan_->exact) return budget;
    for (const LayerShape& layer : plan_->layers()) {
      const std::uint64_t steps = plan_->trained_steps();
      const std::uint64_t constants = layer.sums.constants_per_rank * plan_->ranks();
      to(Traffic::state) += ring * element * steps * (2 * static_cast<std::uint64_t>(layer.sums.values) + constants);
    }
    return budget;
  }

  std::shared_ptr<const HybridPlan> plan_;
  std::shared_ptr<const SchedulePlan> full_;
  std::uint64_t vectors_;  // number of vectors that the optimizer keeps
  PlanSummary summary_;
  ByteBudget budget_;
  bool judges_shapes_ = false;
};

class HybridPlanner final : public SchedulePlanner {
 public:
  HybridPlanner(const Case& request, PlanUse use, const DataCache& cache) : plan_(plan_hybrid(request, use, cache)) {}
  ReferenceLevels levels(const std::string& metric) const override {
    return reference_levels(metric, *plan_->full->model.task, *plan_->full->data.samples);
  }
  std::shared_ptr<const SchedulePlan> plan(std::int64_t) override { return std::make_shared<HybridSchedule>(plan_); }

 private:
  std::shared_ptr<const HybridPlan> plan_;
};

std::unique_ptr<SchedulePlanner> plan_hybrid_batches(const Case& request, PlanUse use, const DataCache& cache) {
  return std::make_unique<HybridPlanner>(request, use, cache);
}

const Register<ScheduleTag> hybrid_batches_registered{
    {"hybrid_batches",
     "some of a rank's own vertices in a window of steps, an update after each; ranks train alone between averagings",
     "Song et al., DynaHB: a communication-avoiding asynchronous distributed framework with hybrid batches for dynamic "
     "GNN training, VLDB 2024",
     {},
     {"snapshots", plan_hybrid_batches, false},
     {}}};

}  // namespace

std::optional<HybridMemory> hybrid_memory(const SchedulePlan& schedule) {
  const auto* const hybrid = dynamic_cast<const HybridSchedule*>(&schedule);
  return hybrid == nullptr ? std::nullopt : std::optional(hybrid->memory());
}

}  // namespace strobe
