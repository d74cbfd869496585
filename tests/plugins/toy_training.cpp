// A whole kind of training in one file, with a strategy, a model and a task of its own. It brings what the built-in
// kinds bring: a parameter that `strobe plan` searches, keys of rows with a section of the report, and an output file.
// No other file names it. It is built outside of the tree by tests/cli/install_test.cpp, and into
// tests/harness/training/toy_schedule_test.cpp.
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/placement/strategy.hpp"
#include "harness/request/output_files.hpp"
#include "harness/schedule/schedule.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"
#include "results/row/facts.hpp"

namespace strobe {
namespace {

struct ToyParameters {
  std::string promise = "exact";
  std::int64_t surplus = 0;
  std::int64_t sums = 1;
};

/// `strobe plan` tries these.
std::vector<std::string> searched_sums(bool /*sizes_only*/) { return {"1", "2"}; }

const FieldTable& toy_fields() {
  static const FieldTable table =
      make_fields<ToyParameters>()
          .choice("promise", &ToyParameters::promise, {"exact", "at_most", "as_measured"}, "how firm the bytes are")
          .integer("surplus", &ToyParameters::surplus, "bytes", "what the plan promises beyond what is sent")
          .integer("sums", &ToyParameters::sums, "", "all-reduces of an epoch", 1, 100)
          .searched(searched_sums);
  return table;
}

/// Every epoch each rank adds its rank + 1 to a sum over all of them: weight = weight + sum.
class ToyTrainer final : public Trainer {
 public:
  ToyTrainer(Device& device, Communicator& communicator, std::int64_t sums)
      : device_(device), communicator_(communicator), sums_(sums), part_(device.allocate(1, 1, ElementType::f64)) {}

  void epoch(std::int64_t) override {
    for (std::int64_t i = 0; i < sums_; ++i) {
      device_.run(Fill{part_, static_cast<double>(device_.rank()) + 1});
      communicator_.all_reduce(part_, Traffic::gradient);
    }
  }
  EpochValues values(bool) override {
    double sum = 0;
    if (!device_.move_out(part_, &sum)) return {};
    weight_ += sum;
    ++updates_;
    return {weight_, {}};
  }
  std::map<std::string, double> evaluate(const EvaluationMoment&) override {
    if (!device_.has_values()) return {};
    return {{"weight", weight_}};
  }
  TrainingState state() override {
    TrainingState state;
    state.weights = {weight_};
    state.kept["updates"] = {updates_};
    return state;
  }
  void restore(const TrainingState& state) override {
    weight_ = state.weights.front();
    updates_ = state.kept.at("updates").front();
  }
  OutputContent output(const std::string& name) override {
    return name == "toy" ? OutputContent{{weight_}, {}} : OutputContent();
  }
  std::vector<double> weights() override { return device_.has_values() ? std::vector{weight_} : std::vector<double>(); }

 private:
  Device& device_;
  Communicator& communicator_;
  std::int64_t sums_;
  Tensor part_;
  double weight_ = 0, updates_ = 0;
};

class ToyPlan final : public SchedulePlan {
 public:
  explicit ToyPlan(const Case& c) : ranks_(c.ranks), sums_(c.strategy.at("sums").get<std::int64_t>()) {
    const auto parameters = from_json<ToyParameters>(toy_fields(), c.strategy, "/strategy");
    const auto gradient = static_cast<std::size_t>(Traffic::gradient);
    budget_.bytes[gradient] = 2 * static_cast<std::uint64_t>((ranks_ - 1) * sums_) * sizeof(double) +
                              static_cast<std::uint64_t>(parameters.surplus);
    budget_.promise[gradient] = parameters.promise == "exact"     ? Promise::exact
                                : parameters.promise == "at_most" ? Promise::at_most
                                                                  : Promise::as_measured;
    summary_.items = {10, "events_per_second", 0, 3};
    summary_.parameters = {{"weight", 1, 1}};
    summary_.metrics = {{"weight"}, {}, {{"weight", 1}}};
    summary_.approximations = {"it learns nothing"};
    summary_.notes = {"a toy"};
  }

  const PlanSummary& summary() const override { return summary_; }
  ByteBudget budget(std::int64_t) const override { return budget_; }
  Facts facts(const std::vector<EpochSample>& samples) const override {
    Facts facts;
    facts.values["toy_sums"] = sums_;
    if (!samples.empty()) facts.values["toy_epochs"] = samples.size() / static_cast<std::size_t>(ranks_);
    return facts;
  }
  std::vector<OutputFile> outputs() const override {
    return {{"toy", [](const std::string& path, const OutputContent& content) {
               std::ofstream(path) << "weight " << content.values.front() << "\n";
             }}};
  }
  Json describe() const override { return {{"schedule", {{"kind", "toy"}}}}; }
  std::string digest() const override { return "toy"; }
  std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const override {
    return std::make_unique<ToyTrainer>(device, communicator, sums_);
  }

 private:
  std::int64_t ranks_, sums_;
  ByteBudget budget_;
  PlanSummary summary_;
};

class ToyPlanner final : public SchedulePlanner {
 public:
  explicit ToyPlanner(const Case& c) : case_(c) {}
  std::shared_ptr<const SchedulePlan> plan(std::int64_t) override { return std::make_shared<ToyPlan>(case_); }

 private:
  Case case_;
};

const Register<ScheduleTag> toy_schedule{
    {"toy",
     "one all-reduce",
     "",
     {},
     {"toys",
      [](const Case& c, PlanUse, const DataCache&) -> std::unique_ptr<SchedulePlanner> {
        return std::make_unique<ToyPlanner>(c);
      }},
     {}}};
const Register<StrategyTag> toy_strategy{{"toy", "one all-reduce", "", toy_fields(), StrategyTag::Value("toy"), {}}};
const Register<ModelTag> toy_model{{"toy-model", "one weight", "", {}, ModelTag::Value("toys"), {}}};
const Register<TaskTag> toy_task{{"toy-task", "none", "", {}, TaskTag::Value("toys"), {}}};
const Register<FactsTag> toy_facts{
    {"toy",
     "what the toy does",
     "",
     {},
     {{{"toy_sums", "1", "All-reduces of an epoch.", {{"type", "integer"}, {"minimum", 1}}},
       {"toy_epochs", "1", "Epochs that all ranks have finished.", {{"type", "integer"}, {"minimum", 0}}}},
      "What the toy does"},
     {}}};
const Register<OutputFileTag> toy_file{
    {"toy", "write the toy's weight to this file", "", {}, {"weight of a toy", "the model toy-model"}, {}}};

}  // namespace
}  // namespace strobe
