// The kind of training `event_batches`: batches of events in time order, with memory that every batch reads and writes.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/hash.hpp"
#include "harness/event_batches/batches/batch_schedule_file.hpp"
#include "harness/event_batches/batches/link_sample_file.hpp"
#include "harness/event_batches/batches/static_memory.hpp"
#include "harness/event_batches/event_memory.hpp"
#include "harness/event_batches/groups/group_plan.hpp"
#include "harness/event_batches/groups/group_trainer.hpp"
#include "harness/event_batches/memory/mail_loss.hpp"
#include "harness/event_batches/trainer/batch_rows.hpp"
#include "harness/event_batches/trainer/event_trainer.hpp"
#include "harness/event_batches/trainer/event_weights.hpp"
#include "harness/files/model_files.hpp"
#include "harness/files/score_file.hpp"
#include "harness/files/vertex_ids.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/request/until.hpp"
#include "models/tasks/cut_instants.hpp"
#include "models/tasks/future_links/ranking.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {
namespace {

class EventSchedule final : public SchedulePlan {
 public:
  explicit EventSchedule(std::shared_ptr<const EventCase> c) : case_(std::move(c)), plan_(plan_of_groups(case_)) {
    summary_ = summarised();
    plan_.metrics = summary_.metrics.names;
    if (case_->model->traits().memory > 0)
      loss_ = mail_loss(*case_->training.graph, case_->training_events(), plan_.order.whole_batch());
  }

  const PlanSummary& summary() const override { return summary_; }
  ByteBudget budget(std::int64_t epoch) const override {
    std::int64_t weights = 0;
    for (const ParameterShape& shape : case_->parameters) weights += shape.rows * shape.columns;
    const std::uint64_t bytes = static_cast<std::uint64_t>(weights) * (case_->fp64() ? 8 : 4);
    const std::int64_t first = plan_.order.first_iteration(epoch), end = plan_.order.first_iteration(epoch + 1);
    ByteBudget budget;
    budget.bytes[Traffic::gradient] =
        2 * bytes * static_cast<std::uint64_t>((case_->request.ranks - 1) * (end - first));
    if (plan_.remote != nullptr && plan_.memory.width > 0)
      budget.bytes[Traffic::memory] = plan_.remote->sent_bytes(first, end, plan_.memory.row_bytes());
    if (plan_.part != nullptr)
      budget.bytes[Traffic::sampling] =
          plan_.remote->drawing_bytes(first, end, vertex_answer_bytes(*case_), plan_.part->edge_width());
    return budget;
  }
  std::int64_t updates_through(std::int64_t epochs) const override { return plan_.order.first_iteration(epochs); }
  std::vector<HelperRequest> helpers() const override { return memory_daemons(plan_); }
  bool evaluates_after(std::int64_t epoch) const override { return plan_.evaluates_after(epoch); }
  Facts facts(const std::vector<EpochSample>&) const override {
    Facts facts;
    const auto set_size = [&](const char* key, std::int64_t events) {
      if (events > 0) facts.values[key] = events;
    };
    set_size("local_batch", case_->options.batch);
    set_size("global_batch", case_->options.batch * plan_.order.groups().ranks());
    set_size("evaluation_batch", case_->data.task->evaluation_batch);
    if (const std::string sha256 = negatives_sha256(); !sha256.empty()) facts.values["negatives_sha256"] = sha256;
    facts.set("mails_lost_share", loss_.lost_share);
    facts.set("mean_staleness_seconds", loss_.mean_staleness_seconds);
    return facts;
  }

  PerMemoryPart<std::uint64_t> host_parts() const override {
    PerMemoryPart<std::uint64_t> parts = case_->host_parts();
    if (plan_.part == nullptr) return parts;
    parts[MemoryPart::graph] += plan_.part->graph_bytes();
    parts[MemoryPart::features] += plan_.part->feature_bytes();
    if (plan_.evaluation.part == plan_.part) return parts;
    parts[MemoryPart::graph] += plan_.evaluation.part->graph_bytes();
    parts[MemoryPart::features] += plan_.evaluation.part->feature_bytes();
    return parts;
  }
  Json describe() const override {
    const EventTaskData& task = *case_->data.task;
    std::int64_t count = 0;
    Json shapes = Json::array();
    for (const ParameterShape& shape : case_->parameters) {
      shapes.push_back({{"name", shape.name}, {"shape", {shape.rows, shape.columns}}});
      count += shape.rows * shape.columns;
    }
    const TrainingGroups& groups = plan_.order.groups();
    Json schedule = {{"kind", "event_batches"},
                     {"iterations", plan_.order.first_iteration(1)},
                     {"local_batch", case_->options.batch},
                     {"global_batch", case_->options.batch * groups.ranks()},
                     {"batches_of_sweep", plan_.order.batches()},
                     {"evaluation_batch", task.evaluation_batch},
                     {"memory_on", case_->options.memory_on},
                     {"training_events", case_->training_events()},
                     {"validation_events", task.split.validation_end - task.split.train_end},
                     {"test_events", case_->data.graph->events() - task.split.validation_end}};
    const BatchRows rows = batch_rows(*case_, plan_.order);
    schedule["mean_rows_of_batch"] = {
        {"read", rows.read}, {"with_mail", rows.with_mail}, {"written", rows.written}, {"batches_drawn", rows.batches}};
    if (grouped()) schedule.update({{"i", groups.i}, {"j", groups.j}, {"k", groups.k}});
    if (!task.kept_out.empty()) {
      schedule["kept_out_vertices"] = std::count(task.kept_out.begin(), task.kept_out.end(), 1);
      schedule["removed_training_events"] = task.split.train_end - case_->training_events();
      schedule["inductive_validation_events"] = case_->judged_events("inductive_mrr", true);
      schedule["inductive_test_events"] = case_->judged_events("inductive_mrr", false);
    }
    return {{"schedule", schedule}, {"parameter_count", count}, {"parameters", shapes}};
  }

  std::string digest() const override {
    const EventGraph& graph = *case_->data.graph;
    Sha256 digest;
    const std::string text =
        fmt::format("{} {} {} {}", graph.provenance.sha256, graph.events(), graph.vertices, case_->request.task.dump());
    digest.update(text.data(), text.size());
    const std::string negatives = negatives_sha256();
    digest.update(negatives.data(), negatives.size());
    digest.update(case_->start_values.data(), case_->start_values.size() * sizeof(double));
    return digest.hex();
  }

  std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& metrics) const override {
    const EventModelTraits traits = case_->model->traits();
    const EventTaskData& task = *case_->data.task;
    std::vector<std::string> all =
        remarks_on_levels(metrics, task.levels, {traits.sees_own_batch && traits.levels > 0, task.history_to_event});
    if (case_->data.static_memory != nullptr && !case_->data.static_memory->remark().empty())
      all.push_back(case_->data.static_memory->remark());
    return all;
  }

  std::vector<OutputFile> outputs() const override {
    const auto ids = [this](const std::string& path, const OutputContent&) { write_own_ids(path); };
    std::vector<OutputFile> files{{"embeddings",
                                   [this](const std::string& path, const OutputContent& content) {
                                     write_npy(path, {case_->data.graph->events(), 3, case_->model->traits().embedding},
                                               content.values, case_->fp64());
                                     write_own_ids(path);
                                   }},
                                  {"schedule",
                                   [this](const std::string& path, const OutputContent&) {
                                     write_batch_schedule(path, case_->training, plan_.order,
                                                          case_->request.warmup + case_->request.epochs);
                                   }},
                                  {ids_beside_checkpoint, ids}};
    if (case_->model->traits().memory > 0)
      files.push_back({"memory", [this](const auto& path, const auto& content) {
                         // Always fp64, because fp32 cannot hold all event numbers.
                         write_safetensors(path, content.matrices, true);
                         write_own_ids(path);
                       }});
    if (case_->data.task->candidates == nullptr) return files;
    files.push_back({"ranks", [this](const std::string& path, const OutputContent& content) {
                       write_link_ranks(path, *case_, content.values);
                     }});
    files.push_back({"scores", [](const std::string& path, const OutputContent& content) {
                       write_score_file(path, content.matrices);
                     }});
    files.push_back(
        {"samples", [this](const std::string& path, const OutputContent&) { write_link_samples(path, *case_); }});
    return files;
  }

  void check_start(const TrainingState& state) const override {
    if (!grouped()) return;
    const auto kept = state.kept.find(kept_groups);
    if (kept != state.kept.end() && kept->second == groups_to_keep(plan_)) return;
    throw InvalidRequest("--resume-training",
                         "the checkpoint was written with another i, j, k or batch; continue with those");
  }

  EventMemory memory(const std::set<std::string>& files) const { return memory_of_events(plan_, files); }

  std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const override {
    if (grouped()) return std::make_unique<GroupTrainer>(plan_, device, communicator);
    return std::make_unique<EventTrainer>(*case_, device, communicator);
  }

 private:
  bool grouped() const { return case_->grouped(); }
  std::string negatives_sha256() const {
    const auto& candidates = case_->data.task->candidates;
    return candidates == nullptr ? "" : candidates->negatives_sha256();
  }
  void write_own_ids(const std::string& path) const { write_ids(path, vertex_ids(*case_->data.graph)); }

  PlanSummary summarised() const {
    PlanSummary summary;
    summary.items = {static_cast<double>(case_->training_events()), "events_per_second", 0,
                     plan_.order.first_iteration(1), 0};
    summary.parameters = case_->parameters;
    summary.metrics = metrics();
    summary.approximations = approximations_of(plan_.order.groups());
    summary.notes = case_->notes;
    BatchBegins begins;
    begins.add(*case_->training.graph, 0, case_->training_events(), plan_.order.whole_batch());
    if (begins.amid_instant > 0) summary.notes.push_back(begins.note("training"));
    const std::int64_t global_batch = case_->options.batch * plan_.order.groups().ranks();
    const std::string rounding = note_on_rounding(*case_, global_batch);
    if (case_->request.ranks > 1 && summary.approximations.empty() && !rounding.empty())
      summary.notes.push_back(rounding);
    summary.last_evaluation_differs = case_->options.evaluate == "copy0" || case_->options.evaluate_batches > 0;
    summary.settling_updates = plan_.order.groups().j - 1;  // until each memory has j batches in training
    summary.kept_bytes = case_->kept_bytes();
    return summary;
  }

  MetricNames metrics() const {
    MetricNames all;
    all.levels = case_->data.task->levels;
    const std::string prefix = validation_prefix;
    const auto add = [&](const std::string& metric, bool validation) {
      const std::int64_t count = case_->judged_events(metric, validation);
      if (count == 0) return;
      all.names.push_back((validation ? prefix : "") + metric);
      all.samples[all.names.back()] = count;
    };
    for (const bool validation : {false, true}) {
      for (const std::string& name : case_->task->metric_names(*case_->data.graph)) add(name, validation);
    }
    for (const auto& [name, value] : case_->data.task->rules) {
      const bool validation = name.rfind(prefix, 0) == 0;
      add(validation ? name.substr(prefix.size()) : name, validation);
    }
    return all;
  }

  std::shared_ptr<const EventCase> case_;
  GroupPlan plan_;  // for one rank if the strategy has no groups
  PlanSummary summary_;
  MailLoss loss_;  // zero for models without memory
};

class EventPlanner final : public SchedulePlanner {
 public:
  EventPlanner(const Case& request, const DataCache& cache) : node_(cache.node()) {
    auto c = std::make_shared<EventCase>(begin_event_case(request, cache));
    const TimeSplit& split = c->data.task->split;
    std::vector<std::string> names = c->task->metric_names(*c->data.graph);
    const bool validates = split.validation_end > split.train_end;
    if (validates) std::erase_if(names, [&](const std::string& name) { return c->judged_events(name, true) == 0; });
    check_until(request, std::move(names), validates);
    case_ = std::move(c);
  }
  ReferenceLevels levels(const std::string& metric) const override {
    ReferenceLevels levels = case_->data.task->levels;
    add_best_rule(metric, case_->data.task->rules, levels);
    return levels;
  }
  std::shared_ptr<const SchedulePlan> plan(std::int64_t) override {
    if (node_ == nullptr) return std::make_shared<EventSchedule>(case_);
    const BoundedReading bound = node_->bounded_reading();  // a table of all vertices grows in a file
    return std::make_shared<EventSchedule>(case_);
  }

 private:
  std::shared_ptr<const NodeStore> node_;  // null: this process shares nothing
  std::shared_ptr<const EventCase> case_;
};

std::unique_ptr<SchedulePlanner> plan_event_batches(const Case& request, PlanUse, const DataCache& cache) {
  return std::make_unique<EventPlanner>(request, cache);
}

const Register<ScheduleTag> event_batches_registered{
    {"event_batches",
     "batches of events in time order, an update after each; every batch reads and writes memory",
     "Zhou et al., DistTGL: distributed memory-based temporal graph neural network training, SC 2023",
     {},
     {"events", plan_event_batches},
     {}}};

}  // namespace

std::optional<EventMemory> event_memory(const SchedulePlan& schedule, const std::set<std::string>& files) {
  const auto* const events = dynamic_cast<const EventSchedule*>(&schedule);
  return events == nullptr ? std::nullopt : std::optional(events->memory(files));
}

}  // namespace strobe
