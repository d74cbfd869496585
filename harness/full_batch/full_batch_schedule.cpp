#include "harness/full_batch/full_batch_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/files/model_files.hpp"
#include "harness/files/placement_file.hpp"
#include "harness/files/sample_file.hpp"
#include "harness/files/score_file.hpp"
#include "harness/files/vertex_ids.hpp"
#include "harness/full_batch/block_pages.hpp"
#include "harness/full_batch/full_batch_trainer.hpp"
#include "harness/full_batch/plan/host_parts.hpp"
#include "harness/full_batch/plan/own_part.hpp"
#include "harness/full_batch/plan/sent_share.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/request/until.hpp"
#include "results/row/epoch_ranks.hpp"

namespace strobe {
namespace {

class FullBatchSchedule final : public SchedulePlan {
 public:
  explicit FullBatchSchedule(std::shared_ptr<const FullBatchPlan> plan)
      : plan_(std::move(plan)), summary_(summarised()) {}

  const FullBatchPlan& plan() const { return *plan_; }

  const PlanSummary& summary() const override { return summary_; }
  ByteBudget budget(std::int64_t epoch) const override {
    if (epoch == 0 || !plan_->stale.active) return {plan_->planned_bytes, {}};
    ByteBudget later{plan_->stale.at_most, {}};
    for (std::size_t traffic = 0; traffic < traffic_count; ++traffic) {
      if (plan_->stale.traffic.exact[traffic] > 0) later.promise[traffic] = Promise::at_most;
    }
    return later;
  }
  Facts facts(const std::vector<EpochSample>& samples) const override {
    Facts facts;
    if (const std::int64_t batch = plan_->model.task->evaluation_batch(); batch > 0)
      facts.values["evaluation_batch"] = batch;
    if (const std::string& sha256 = plan_->data.samples->negatives_sha256; !sha256.empty())
      facts.values["negatives_sha256"] = sha256;
    if (plan_->fusion != nullptr) add_fusion(samples, facts);
    if (const std::int64_t layers = layers_computed_again(); layers > 0)
      facts.set("redundant_computation", computed_again(layers));
    if (plan_->stale.active)
      add_sent_share(plan_->stale.traffic, plan_->ranks(), summary_.approximations.empty(), samples, facts);
    return facts;
  }
  void check_start(const TrainingState& state) const override { plan_->stale.check_start(state); }
  std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& metrics) const override {
    return plan_->model.task->remarks(metrics, plan_->data.samples->levels);
  }
  PerMemoryPart<std::uint64_t> host_parts() const override { return strobe::host_parts(*plan_); }
  Json describe() const override { return strobe::describe(*plan_); }
  std::string digest() const override { return digest_.empty() ? digest_of(*plan_) : digest_; }
  std::optional<Rank> only_rank() const override { return only_rank_; }
  /// `plan` is the one that this was made from.
  void keep_only(FullBatchPlan& plan, Rank rank) {
    digest_ = digest();
    keep_own_part(plan, rank, plan.node.get());
    only_rank_ = rank;
  }

  std::vector<OutputFile> outputs() const override {
    std::vector<OutputFile> files{
        {"placement", [this](const std::string& path, const OutputContent&) { write_placement(path); }}};
    if (plan_->data.raw == nullptr) return files;
    files.push_back({"embeddings", [this](const std::string& path, const OutputContent& content) {
                       write_embeddings(path, content.values);
                     }});
    files.push_back({"samples", [this](const std::string& path, const OutputContent&) {
                       write_samples(path, *plan_->data.samples, *plan_->data.raw);
                     }});
    if (plan_->model.task->evaluation_batch() > 0)
      files.push_back({"scores", [](const std::string& path, const OutputContent& content) {
                         write_score_file(path, content.matrices);
                       }});
    files.push_back(
        {ids_beside_checkpoint, [this](const std::string& path, const OutputContent&) { write_own_ids(path); }});
    return files;
  }

  std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const override {
    return std::make_unique<FullBatchTrainer>(*plan_, device, communicator);
  }

 private:
  PlanSummary summarised() const {
    PlanSummary summary;
    summary.items = {plan_->data.trained_edges, "edges_per_second", static_cast<double>(plan_->data.graph->nonzeros()),
                     1, plan_->data.trained_cells()};
    summary.parameters = plan_->model.parameters;
    summary.metrics = metrics();
    summary.approximations = plan_->strategy.approximations;
    summary.notes = plan_->notes;
    // Training passes with stale rows or states differ from those of an evaluation.
    summary.epochs_tell_metrics =
        !plan_->model.equations->traits().stochastic && !plan_->stale.active && !trains_at_once(plan_->blocks);
    summary.kept_bytes = kept_bytes();
    return summary;
  }

  MetricNames metrics() const {
    MetricNames all;
    all.levels = plan_->data.samples->levels;
    add_metrics("", plan_->data.samples->test, all);
    if (!plan_->evaluation.validation_steps.empty())
      add_metrics(validation_prefix, plan_->data.samples->validation, all);
    return all;
  }

  std::uint64_t kept_bytes() const {
    const PreparedGraph& graph = *plan_->data.graph;
    const std::uint64_t element = plan_->model.fp64 ? 8 : 4;
    const std::uint64_t cells = graph.vertices * graph.steps;
    if (!graph.has_structure()) {  // a shape holds nothing cell by cell
      const std::size_t maps = plan_->strategy.spatial.maps.size() + plan_->strategy.temporal.maps.size();
      return maps * static_cast<std::uint64_t>(graph.vertices) * sizeof(Rank) + plan_->exchange_bytes;
    }
    const std::uint64_t entries = graph.nonzeros();
    // The matrices and the raw graph; features; owners, exchange lists and samples of each cell.
    return entries * 2 * (4 + element) + cells * (static_cast<std::uint64_t>(graph.cell_width()) * element + 64);
  }

  /// Layers that ranks also compute for cells of others.
  std::int64_t layers_computed_again() const {
    const std::vector<LayerShape>& layers = plan_->model.layers;
    return std::count_if(layers.begin(), layers.end(),
                         [](const LayerShape& layer) { return layer.sends_input || layer.computes_read_rows; });
  }

  /// Rows of `layers` layers that ranks compute for cells of others, over the cells of all layers.
  double computed_again(std::int64_t layers) const {
    std::int64_t rows = 0;
    for (const BlockPlan& block : plan_->blocks) rows += block.spatial_halo.total_rows();
    const PreparedGraph& graph = *plan_->data.graph;
    return static_cast<double>(rows * layers) / static_cast<double>(graph.vertices * graph.steps) /
           static_cast<double>(plan_->model.layers.size());
  }

  /// Adds how chunks are walked, and the bytes that the first measured epoch loaded.
  void add_fusion(const std::vector<EpochSample>& samples, Facts& facts) const {
    if (plan_->fusion->units_per_rank.empty()) return;
    facts.values["fusion_units"] = plan_->fusion->units_per_rank;
    const Epochs epochs = complete_epochs(samples, plan_->ranks());
    if (epochs.empty()) {
      facts.absent["loaded_bytes"] = facts.absent["padded_share"] = "";
      return;
    }
    StageRows rows;
    for (const EpochSample* sample : epochs.begin()->second) {
      rows.loaded_bytes += sample->stage_rows.loaded_bytes;
      rows.bin_rows += sample->stage_rows.bin_rows;
      rows.filled_rows += sample->stage_rows.filled_rows;
    }
    facts.values["loaded_bytes"] = rows.loaded_bytes;
    facts.set("padded_share", rows.padded_share());
  }

  void write_embeddings(const std::string& path, const Column<double>& values) const {
    write_npy(path, {plan_->data.graph->steps, plan_->data.graph->vertices, plan_->model.layers.back().temporal_width},
              values, plan_->model.fp64);
    write_own_ids(path);
  }
  void write_placement(const std::string& path) const {
    const auto& chunks = plan_->strategy.chunks;
    write_placement_file(path, plan_->strategy.spatial, plan_->strategy.temporal,
                         chunks == nullptr ? nullptr : &chunks->of_cell, plan_->strategy.loads.get());
    if (plan_->data.raw != nullptr) write_own_ids(path);
  }
  void write_own_ids(const std::string& path) const { write_ids(path, vertex_ids(*plan_->data.raw)); }

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
  PlanSummary summary_;
  std::string digest_;  // taken before parts of the plan are dropped; else empty
  std::optional<Rank> only_rank_;
};

class FullBatchPlanner final : public SchedulePlanner {
 public:
  FullBatchPlanner(const Case& request, PlanUse use, const DataCache& cache)
      : case_(begin_full_batch(request, use, cache)) {
    case_.data.keep_ids_of_raw();
  }

  ReferenceLevels levels(const std::string& metric) const override {
    return reference_levels(metric, *case_.model.task, *case_.data.samples);
  }
  bool leaves_open() const override { return case_.options.blocks == 0; }
  std::vector<std::int64_t> choices() const override {
    return leaves_open() ? useful_block_counts(case_.data.graph->steps) : std::vector{case_.options.blocks};
  }
  std::shared_ptr<const SchedulePlan> plan(std::int64_t blocks) override {
    return own_full_batch_schedule(lay_out(case_, blocks));
  }
  std::string chosen_text(std::int64_t blocks) const override { return fmt::format("nb=auto chose {} blocks", blocks); }
  std::string choice_text(std::int64_t blocks) const override { return fmt::format("nb={}", blocks); }
  std::string choice_name() const override { return "number of blocks"; }

 private:
  FullBatchCase case_;
};

std::unique_ptr<SchedulePlanner> plan_full_batch(const Case& request, PlanUse use, const DataCache& cache) {
  return std::make_unique<FullBatchPlanner>(request, use, cache);
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

std::shared_ptr<const SchedulePlan> own_full_batch_schedule(std::shared_ptr<FullBatchPlan> plan) {
  count_readers(*plan);
  auto schedule = std::make_shared<FullBatchSchedule>(plan);
  if (const std::optional<Rank> own = plan->only_rank()) schedule->keep_only(*plan, *own);
  return schedule;
}

}  // namespace strobe
