// Classification of events: the class of an event, or its several classes, from the embeddings of its ends before it,
// through one hidden layer. Nothing of the event itself is read, neither its features nor its classes. With one class
// per event, F1-micro is the share of events whose class is found. With several, it is computed over all pairs of an
// event and a class, as TGL judges GDELT. The baseline next to it gives every event the same answer: the most frequent
// class of training, or the set of classes that is best there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/names_elsewhere.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_events.hpp"
#include "models/tasks/class_sets.hpp"
#include "models/tasks/cut_instants.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/metrics.hpp"
#include "models/tasks/task.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {
namespace {

struct EventClassificationParameters {
  std::string labels = "auto";
  std::int64_t classes = 0;
  std::int64_t batch = 200;
  std::string split = "70/15/15";
};

const FieldTable& event_classification_fields() {
  using P = EventClassificationParameters;
  static const FieldTable table =
      make_fields<P>()
          .choice("labels", &P::labels, {"auto", "single", "several"},
                  "classes of an event: a single one (a file's label) or several; auto = several where the graph's "
                  "events have sets of classes")
          .integer("classes", &P::classes, "",
                   "number of classes, numbered from 0; 0 = 2 of single labels, of several as many as the graph has", 0,
                   127)
          .integer("batch", &P::batch, "", "events of an evaluation between two refreshes of the memory", 1, 1 << 30)
          .text("split", &P::split, "shares of the events for training, validation and test, by time");
  return table;
}

class EventClassification final : public EventTask {
 public:
  explicit EventClassification(const EventClassificationParameters& parameters) : p_(parameters) {}

  EventTaskData draw(const EventGraph& graph, std::uint64_t) const override {
    if (several(graph))
      check_sets(graph);
    else
      check_labels(graph);
    EventTaskData data;
    const std::array<double, 3> shares = split_shares(p_.split, "/task/split");
    data.split = split_by_shares(graph, shares[0], shares[1]);
    data.evaluation_batch = p_.batch;
    const TimeSplit& split = data.split;
    note_cut_instants(graph, split, p_.batch, data.notes);
    const auto add_to = [&](const std::string& prefix, double f1) {
      data.rules[prefix + "majority_f1_micro"] = data.levels.best_rule[prefix + "f1_micro"] = f1;
      data.levels.rule[prefix + "f1_micro"] = "majority";
    };
    const auto add_rule = [&](const auto& f1) {
      if (split.validation_end < graph.events()) add_to("", f1(split.validation_end, graph.events()));
      if (split.train_end < split.validation_end) add_to("validation_", f1(split.train_end, split.validation_end));
    };
    if (several(graph)) {
      const std::uint64_t said = best_fixed_set(count_classes(graph, 0, split.train_end));
      add_rule([&](EdgeId first, EdgeId last) { return fixed_set_f1(count_classes(graph, first, last), said); });
    } else {
      const std::int8_t said = most_frequent(graph, split.train_end);
      add_rule([&](EdgeId first, EdgeId last) { return share_of(graph, said, first, last); });
    }
    return data;
  }

  std::vector<ParameterShape> parameters(const EventGraph& graph, std::int64_t width) const override {
    const double bound = 1.0 / std::sqrt(2.0 * static_cast<double>(width));
    const double last = 1.0 / std::sqrt(static_cast<double>(width));
    const std::int64_t classes = class_count(graph);
    return {{"classifier.hidden", 2 * width, width, bound},
            {"classifier.hidden_bias", 1, width, bound},
            {"classifier.output", width, classes, last},
            {"classifier.output_bias", 1, classes, last}};
  }

  Var head(Tape& tape, const Parameters& parameters, const Var& sources, const Var& candidates,
           std::span<const Tensor>) const override {
    const Var hidden = dense(tape, concat_columns(tape, {sources, candidates}), parameters.at("classifier.hidden"),
                             parameters.at("classifier.hidden_bias"), Activation::relu);
    return dense(tape, hidden, parameters.at("classifier.output"), parameters.at("classifier.output_bias"),
                 Activation::none);
  }

  Tensor labels(Device& device, const EventGraph& graph, EdgeId first, std::int64_t count) const override {
    const PartScope part(device, MemoryPart::samples);
    if (several(graph)) return device.move_in(class_sets(graph, first, count).data(), count, 1, ElementType::i64);
    return device.move_in(single_labels(graph, first, count).data(), count, 1, ElementType::i32);
  }

  void add_loss(Tape& tape, const Var& outputs, LinkLoss, const Tensor& labels, double scale,
                const Tensor& loss) const override {
    if (labels.type() == ElementType::i64)
      binary_cross_entropy(tape, outputs, scale, loss, labels);
    else
      softmax_cross_entropy(tape, outputs, labels, scale, loss);
  }

  std::map<std::string, double> metrics(const EventGraph& graph, const EventTaskData&, EdgeId first,
                                        const EventOutputs& outputs) const override {
    const std::int64_t count = outputs.first.size();
    const std::int64_t classes = class_count(graph);
    if (several(graph)) return {{"f1_micro", micro_f1(outputs.values, class_sets(graph, first, count), classes)}};
    const std::vector<std::int32_t> truth = single_labels(graph, first, count);
    std::map<std::string, double> all{{"f1_micro", accuracy(outputs.values, truth, classes)}};
    if (classes > 2) return all;
    std::vector<double> scores;
    for (std::size_t i = 0; i + 1 < outputs.values.size(); i += 2)
      scores.push_back(outputs.values[i + 1] - outputs.values[i]);
    all["auc"] = area_under_roc(scores, truth);
    all["ap"] = average_precision(scores, truth);
    return all;
  }

  std::vector<std::string> metric_names(const EventGraph& graph) const override {
    if (several(graph) || class_count(graph) > 2) return {"f1_micro"};
    return {"f1_micro", "auc", "ap"};
  }

 private:
  bool several(const EventGraph& graph) const {
    return p_.labels == "several" || (p_.labels == "auto" && graph.event_class_source.classes > 0);
  }

  std::int64_t class_count(const EventGraph& graph) const {
    if (p_.classes > 0) return p_.classes;
    return several(graph) ? graph.event_class_source.classes : 2;
  }

  /// Throws InvalidRequest unless the graph's events have a label each that the classes hold.
  void check_labels(const EventGraph& graph) const {
    if (graph.event_label.empty()) {
      const bool sets = graph.event_class_source.classes > 0;
      throw InvalidRequest(sets ? "/task/labels" : "/task",
                           fmt::format("event-classification needs a label of every event (such as the state label of "
                                       "JODIE's files), but this workload has {}",
                                       sets ? "sets of classes; take labels=several" : "none; choose future-links"));
    }
    if (p_.classes == 1) throw InvalidRequest("/task/classes", "one class leaves nothing to tell; give at least 2");
    const auto [lowest, highest] = std::minmax_element(graph.event_label.begin(), graph.event_label.end());
    if (*lowest >= 0 && *highest < class_count(graph)) return;
    throw InvalidRequest("/task/classes", fmt::format("labels go from {} to {}, which {} classes do not hold", *lowest,
                                                      *highest, class_count(graph)));
  }

  /// Throws InvalidRequest unless the graph's events have sets of classes that the classes hold.
  void check_sets(const EventGraph& graph) const {
    const std::int64_t found = graph.event_class_source.classes;
    if (found == 0) {
      throw InvalidRequest(
          "/task/labels",
          fmt::format("labels=several needs events that have a set of classes each (generator bursty_events with "
                      "classes, or a .strobe file of it), and this workload has {}",
                      graph.event_label.empty() ? "no labels at all; choose future-links"
                                                : "a single label of each event; take labels=single"));
    }
    const std::int64_t most = GeneratedClasses::most_classes;
    if (class_count(graph) >= found && class_count(graph) <= most) return;
    throw InvalidRequest("/task/classes",
                         fmt::format("the workload's events have {} classes, and several labels at most {}, which {} "
                                     "classes do not fit; leave classes out",
                                     found, most, class_count(graph)));
  }

  static std::vector<std::int32_t> single_labels(const EventGraph& graph, EdgeId first, std::int64_t count) {
    const auto begin = graph.event_label.begin() + first;
    return {begin, begin + count};
  }

  std::int8_t most_frequent(const EventGraph& graph, EdgeId end) const {
    std::vector<std::int64_t> counts(class_count(graph), 0);
    for (EdgeId e = 0; e < end; ++e) ++counts[graph.event_label[e]];
    return static_cast<std::int8_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  }

  /// Share of the events [first, last) whose label is `label`.
  static double share_of(const EventGraph& graph, std::int8_t label, EdgeId first, EdgeId last) {
    const auto right = std::count(graph.event_label.begin() + first, graph.event_label.begin() + last, label);
    return static_cast<double>(right) / static_cast<double>(last - first);
  }

  EventClassificationParameters p_;
};

const Register<TaskTag> event_classification_listed{{
    "event-classification",
    "the class of an event, or its several classes, from its ends before it",
    "Kumar et al., KDD'19 (state labels); Zhou et al., TGL, VLDB'22",
    event_classification_fields(),
    TaskTag::Value("events"),
    {},
}};

const Register<EventTaskTag> event_classification_registered{{
    "event-classification",
    "the classes of an event",
    "Kumar et al., KDD'19",
    event_classification_fields(),
    [](const Json& parameters) -> std::unique_ptr<EventTask> {
      return std::make_unique<EventClassification>(
          from_json<EventClassificationParameters>(event_classification_fields(), parameters, "/task"));
    },
    {},
}};

const RegisterNames event_classification_elsewhere{
    "task", {{"edge-classification", "event-classification", "type --task event-classification"}}};

}  // namespace
}  // namespace strobe
