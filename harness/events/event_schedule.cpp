// The kind of training `event_batches`: batches of events in time order, with memory that every batch reads and writes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/hash.hpp"
#include "harness/events/event_trainer.hpp"
#include "harness/events/link_sample_file.hpp"
#include "harness/events/static_memory.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/request/until.hpp"

namespace strobe {
namespace {

class EventSchedule final : public SchedulePlan {
 public:
  explicit EventSchedule(std::shared_ptr<const EventCase> c) : case_(std::move(c)) {}

  const ByteBudget& budget() const override { return budget_; }
  EpochItems items() const override {
    const BatchEvents batches{case_->options.batch, case_->options.batch, case_->data.task->evaluation_batch};
    return {static_cast<double>(case_->training_events()), "events_per_second", 0, case_->batches(), 0, batches};
  }
  const std::vector<ParameterShape>& parameters() const override { return case_->parameters; }
  const std::vector<std::string>& notes() const override { return case_->notes; }

  MetricNames metrics() const override {
    MetricNames all;
    const TimeSplit& split = case_->data.task->split;
    const std::int64_t validated = split.validation_end - split.train_end;
    const auto add = [&](const std::string& prefix, std::int64_t count) {
      if (count == 0) return;
      for (const std::string& name : case_->task->metric_names()) {
        all.names.push_back(prefix + name);
        all.samples[prefix + name] = count;
      }
    };
    const std::int64_t tested = case_->data.graph->events() - split.validation_end;
    add("", tested);
    add(validation_prefix, validated);
    for (const auto& [name, value] : case_->data.task->rules) {
      all.names.push_back(name);
      all.samples[name] = name.rfind(validation_prefix, 0) == 0 ? validated : tested;
    }
    return all;
  }

  Json describe() const override {
    const EventTaskData& task = *case_->data.task;
    std::int64_t count = 0;
    Json shapes = Json::array();
    for (const ParameterShape& shape : case_->parameters) {
      shapes.push_back({{"name", shape.name}, {"shape", {shape.rows, shape.columns}}});
      count += shape.rows * shape.columns;
    }
    return {{"schedule",
             {{"kind", "event_batches"},
              {"iterations", case_->batches()},
              {"local_batch", case_->options.batch},
              {"global_batch", case_->options.batch},
              {"evaluation_batch", task.evaluation_batch},
              {"memory_on", case_->options.memory_on},
              {"training_events", task.split.train_end},
              {"validation_events", task.split.validation_end - task.split.train_end},
              {"test_events", case_->data.graph->events() - task.split.validation_end}}},
            {"parameter_count", count},
            {"parameters", shapes}};
  }

  std::string digest() const override {
    const EventGraph& graph = *case_->data.graph;
    return sha256_hex(fmt::format("{} {} {} {}", graph.provenance.sha256, graph.events(), graph.vertices,
                                  case_->request.task.dump()));
  }

  std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& metrics) const override {
    std::vector<std::string> all = remarks_on_rules(metrics);
    if (case_->data.static_memory != nullptr && !case_->data.static_memory->remark().empty())
      all.push_back(case_->data.static_memory->remark());
    return all;
  }

  OutputKinds outputs() const override {
    return {true, case_->model->traits().memory > 0, case_->data.task->candidates != nullptr, false};
  }
  void write_memory(const std::string& path, const std::vector<SavedMatrix>& memory) const override {
    // Numbers of events do not fit 24 bits: the file is fp64 whatever the case's precision.
    write_safetensors(path, memory, true);
  }
  void write_embeddings(const std::string& path, const std::vector<double>& values) const override {
    write_npy(path, {case_->data.graph->events(), 3, case_->model->traits().embedding}, values, case_->fp64());
  }
  void write_samples(const std::string& path) const override { write_link_samples(path, case_->data); }

  std::uint64_t kept_bytes() const override {
    const EventGraph& graph = *case_->data.graph;
    const auto features = static_cast<std::uint64_t>(graph.edge_features.size() + graph.vertex_features.size());
    return static_cast<std::uint64_t>(graph.events()) * 40 + 4 * features;
  }

  std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const override {
    return std::make_unique<EventTrainer>(*case_, device, communicator);
  }

 private:
  /// What a model's metrics say beside those of the rules.
  std::vector<std::string> remarks_on_rules(const std::map<std::string, std::vector<double>>& metrics) const {
    const auto model = metrics.find("mrr"), rule = metrics.find("recency_mrr");
    if (model == metrics.end() || rule == metrics.end() || model->second.empty()) return {};
    const double own = model->second.back(), simple = rule->second.back();
    const std::string compared =
        fmt::format("mrr {:.4f}, and the recency rule's at the same evaluation batch {:.4f}", own, simple);
    if (!(own > simple)) return {"the model does not beat a rule that learns nothing: " + compared};
    if (case_->model->traits().sees_own_batch && case_->model->traits().levels > 0) return {};
    return {"the model beats the recency rule without any history of its own batch, so it is probably looking ahead: " +
            compared};
  }

  std::shared_ptr<const EventCase> case_;
  ByteBudget budget_;
};

class EventPlanner final : public SchedulePlanner {
 public:
  explicit EventPlanner(const Case& request) {
    if (request.ranks != 1)
      throw InvalidRequest("/ranks", "strategy sequential runs on 1 rank, not " + std::to_string(request.ranks));
    auto c = std::make_shared<EventCase>(begin_event_case(request));
    const TimeSplit& split = c->data.task->split;
    check_until(request, c->task->metric_names(), split.validation_end > split.train_end);
    case_ = std::move(c);
  }
  std::shared_ptr<const SchedulePlan> plan(std::int64_t) override { return std::make_shared<EventSchedule>(case_); }

 private:
  std::shared_ptr<const EventCase> case_;
};

std::unique_ptr<SchedulePlanner> plan_event_batches(const Case& request, PlanUse) {
  return std::make_unique<EventPlanner>(request);
}

const Register<ScheduleTag> event_batches_registered{
    {"event_batches",
     "batches of events in time order, an update after each; every batch reads and writes memory",
     "Zhou et al., DistTGL: distributed memory-based temporal graph neural network training, SC 2023",
     {},
     {"events", plan_event_batches, {}},
     {}}};

}  // namespace
}  // namespace strobe
