// Classification of events: the class of an event from the embeddings of its ends before it, through one hidden layer.
// Nothing of the event itself is read, neither its features nor its label. F1-micro of one class an event is the share
// of events whose class is found; beside it stands what naming the most frequent class of training comes to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/metrics.hpp"
#include "models/tasks/task.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {
namespace {

struct EventClassificationParameters {
  std::int64_t classes = 2;
  std::int64_t batch = 200;
  std::string split = "70/15/15";
};

const FieldTable& event_classification_fields() {
  using P = EventClassificationParameters;
  static const FieldTable table =
      make_fields<P>()
          .integer("classes", &P::classes, "", "classes that labels are numbered by, from 0", 2, 127)
          .integer("batch", &P::batch, "", "events of an evaluation between two refreshes of the memory", 1, 1 << 30)
          .text("split", &P::split, "shares of the events for training, validation and test, by time");
  return table;
}

class EventClassification final : public EventTask {
 public:
  explicit EventClassification(const EventClassificationParameters& parameters) : p_(parameters) {}

  EventTaskData draw(const EventGraph& graph, std::uint64_t) const override {
    if (graph.event_label.empty()) {
      throw InvalidRequest("/task",
                           "event-classification needs a label of every event (the state label of JODIE's "
                           "files), and this workload has none; choose future-links");
    }
    const auto highest = *std::max_element(graph.event_label.begin(), graph.event_label.end());
    if (highest >= p_.classes || *std::min_element(graph.event_label.begin(), graph.event_label.end()) < 0) {
      throw InvalidRequest("/task/classes",
                           fmt::format("labels go up to {}, which {} classes do not hold", highest, p_.classes));
    }
    EventTaskData data;
    const std::array<double, 3> shares = split_shares(p_.split, "/task/split");
    data.split = split_by_shares(graph, shares[0], shares[1]);
    data.evaluation_batch = p_.batch;
    const std::int32_t majority = most_frequent(graph, data.split.train_end);
    add_majority(graph, majority, data.split.validation_end, graph.events(), "", data);
    add_majority(graph, majority, data.split.train_end, data.split.validation_end, "validation_", data);
    return data;
  }

  std::vector<ParameterShape> parameters(std::int64_t width) const override {
    const double bound = 1.0 / std::sqrt(2.0 * static_cast<double>(width));
    const double last = 1.0 / std::sqrt(static_cast<double>(width));
    return {{"classifier.hidden", 2 * width, width, bound},
            {"classifier.hidden_bias", 1, width, bound},
            {"classifier.output", width, p_.classes, last},
            {"classifier.output_bias", 1, p_.classes, last}};
  }

  Var head(Tape& tape, const Parameters& parameters, const Var& sources, const Var& candidates) const override {
    const Var hidden = dense(tape, concat_columns(tape, {sources, candidates}), parameters.at("classifier.hidden"),
                             parameters.at("classifier.hidden_bias"), Activation::relu);
    return dense(tape, hidden, parameters.at("classifier.output"), parameters.at("classifier.output_bias"),
                 Activation::none);
  }

  std::vector<std::int32_t> labels(const EventGraph& graph, EdgeId first, std::int64_t count) const override {
    const auto begin = graph.event_label.begin() + first;
    return {begin, begin + count};
  }

  void add_loss(Tape& tape, const Var& outputs, LinkLoss, const Tensor& labels, double scale,
                const Tensor& loss) const override {
    softmax_cross_entropy(tape, outputs, labels, scale, loss);
  }

  std::map<std::string, double> metrics(const EventGraph& graph, const EventTaskData&, EdgeId first,
                                        const EventOutputs& outputs) const override {
    const std::vector<std::int32_t> truth = labels(graph, first, static_cast<std::int64_t>(outputs.first.size()));
    std::map<std::string, double> all{{"f1_micro", accuracy(outputs.values, truth, p_.classes)}};
    if (p_.classes > 2) return all;
    std::vector<double> scores;
    for (std::size_t i = 0; i + 1 < outputs.values.size(); i += 2)
      scores.push_back(outputs.values[i + 1] - outputs.values[i]);
    all["auc"] = area_under_roc(scores, truth);
    all["ap"] = average_precision(scores, truth);
    return all;
  }

  std::vector<std::string> metric_names() const override {
    if (p_.classes > 2) return {"f1_micro"};
    return {"f1_micro", "auc", "ap"};
  }

 private:
  std::int32_t most_frequent(const EventGraph& graph, EdgeId end) const {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(p_.classes), 0);
    for (EdgeId e = 0; e < end; ++e) ++counts[static_cast<std::size_t>(graph.event_label[static_cast<std::size_t>(e)])];
    return static_cast<std::int32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  }

  static void add_majority(const EventGraph& graph, std::int32_t majority, EdgeId first, EdgeId last,
                           const std::string& prefix, EventTaskData& data) {
    if (first == last) return;
    const auto right = std::count(graph.event_label.begin() + first, graph.event_label.begin() + last,
                                  static_cast<std::int8_t>(majority));
    data.rules[prefix + "majority_f1_micro"] = static_cast<double>(right) / static_cast<double>(last - first);
  }

  EventClassificationParameters p_;
};

const Register<TaskTag> event_classification_listed{{
    "event-classification",
    "the class of an event from its ends before it",
    "Kumar et al., KDD'19 (state labels); Zhou et al., TGL, VLDB'22",
    event_classification_fields(),
    TaskTag::Value("events"),
    {},
}};

const Register<EventTaskTag> event_classification_registered{{
    "event-classification",
    "the class of an event",
    "Kumar et al., KDD'19",
    event_classification_fields(),
    [](const Json& parameters) -> std::unique_ptr<EventTask> {
      return std::make_unique<EventClassification>(
          from_json<EventClassificationParameters>(event_classification_fields(), parameters, "/task"));
    },
    {},
}};

}  // namespace
}  // namespace strobe
