// Vertex classification: the class of a vertex at a step from its embedding at that step. Labels are the workload's: of
// a vertex at a step where it has those (-1 = unknown, no sample), else permanent labels of vertices. The first
// `train_share` of the steps is trained on, the rest is tested; or `split` gives the parts for training, validation and
// test. No test label is older than a training label. Time alone holds no vertex out: most vertices that are tested
// were trained on at earlier steps, with the same label where labels are for good (seen_share of the test samples;
// 0.9995 on amlsim-20k). `held_out` is the share of the vertices that are never trained on; then only these are tested.
// Vertex v is held out by a draw keyed by (seed, v), the same under every placement. Its edges and features stay in the
// graph. The loss is softmax cross-entropy, weighted by class: sum w_y loss / sum w_y. `balanced` weighs class c with n
// / (C n_c), so that all classes weigh the same in all. Trivial baselines: always the training samples' most frequent
// class (majority), and the vertex's last training label, that class where it has none (last_label).
// Invariant: samples depend on the graph only, and with held_out on the seed. Cost O(N T + nnz).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/names_elsewhere.hpp"
#include "core/random.hpp"
#include "models/ops/ops.hpp"
#include "models/tasks/vertex_samples.hpp"
#include "workloads/reading/events/vertex_data.hpp"

namespace strobe {
namespace {

struct VertexClassificationParameters {
  int classes = 2;
  std::string class_weights = "balanced";
  double train_share = 0.7;
  double held_out = 0;
  std::string cells = "auto";
  std::string split;
};

const FieldTable& vertex_classification_fields() {
  using P = VertexClassificationParameters;
  static const FieldTable table =
      make_fields<P>()
          .integer("classes", &P::classes, "", "number of classes; labels run from 0", 2, 128)
          .text("class_weights", &P::class_weights,
                "weight of each class in the loss: balanced, none, or numbers such as 0.1/0.9")
          .real("train_share", &P::train_share, "", "share of the steps, from the first, that is trained on", 0.0, 1.0)
          .real("held_out", &P::held_out, "",
                "share of the vertices that are kept out of training, and then alone are tested", 0.0, 0.99)
          .choice("cells", &P::cells, {"auto", "active", "all"},
                  "which vertices of a step are samples: those with an edge there, or all; auto = all where every step "
                  "has labels of its own")
          .text("split", &P::split, split_help);
  return table;
}

[[noreturn]] void refuse_without_labels(const SnapshotGraph& graph) {
  const std::string events = event_labels_note(graph.provenance);
  if (!events.empty()) {
    throw InvalidRequest("/task", "vertex-classification needs labels of vertices, and this workload's " + events +
                                      "; they are for event-classification, a task of continuous time. Take "
                                      "link-prediction or vertex-regression");
  }
  if (!graph.targets.empty()) {
    throw InvalidRequest("/task",
                         "vertex-classification needs classes, and this workload has numbers to predict; take task "
                         "vertex-regression");
  }
  throw InvalidRequest("/task",
                       "vertex-classification needs labels and this workload has none; amlsim-20k has them, "
                       "or take task link-prediction or vertex-regression");
}

/// The numbers of "0.1/0.9", or "0.1,0.9" where no list of parameters is around it. Throws InvalidRequest unless there
/// are `classes` of them, none negative, one positive.
std::vector<double> weight_list(const std::string& text, std::int64_t classes) {
  std::vector<double> weights;
  std::istringstream parts(text);
  const char separator = text.find('/') == std::string::npos ? ',' : '/';
  for (std::string part; std::getline(parts, part, separator);) {
    std::size_t used = 0;
    double value = std::nan("");
    try {
      value = std::stod(part, &used);
    } catch (const std::logic_error&) {
      used = std::string::npos;
    }
    if (used != part.size() || !(value >= 0) || std::isinf(value)) {
      throw InvalidRequest("/task/class_weights", "'" + part + "' is not a weight; expected balanced, none, or " +
                                                      std::to_string(classes) + " numbers as 0.1/0.9");
    }
    weights.push_back(value);
  }
  const bool all_zero = std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; });
  if (static_cast<std::int64_t>(weights.size()) != classes || all_zero) {
    throw InvalidRequest("/task/class_weights", "expected balanced, none, or " + std::to_string(classes) +
                                                    " numbers that are not all 0, found '" + text + "'");
  }
  return weights;
}

std::vector<double> class_counts(const Samples& samples, std::int64_t classes) {
  std::vector<double> counts(classes, 0.0);
  for (const std::int32_t label : samples.label) counts[label] += 1.0;
  return counts;
}

class VertexClassification final : public Task {
 public:
  explicit VertexClassification(const VertexClassificationParameters& parameters) : p_(parameters) {
    if (!named_weights()) weight_list(p_.class_weights, p_.classes);
  }

  TaskData draw(const SnapshotGraph& graph, std::uint64_t seed) const override {
    if (graph.cell_label.empty() && graph.vertex_label.empty()) refuse_without_labels(graph);
    TaskData data;
    data.steps = graph.steps();
    const StepSplit split = vertex_split(data.steps, p_.split, p_.train_share, "vertex-classification");
    const std::vector<bool> held = held_out(graph.vertices, seed);
    GrowingParts parts;
    for (Step t = 0; t < data.steps; ++t) draw_step(graph, t, held, t < split.train, parts.of_step(split, t));
    parts.finish(data);
    if (data.train.count() == 0 || data.test.count() == 0) {
      throw InvalidRequest(p_.held_out > 0     ? "/task/held_out"
                           : !p_.split.empty() ? "/task/split"
                                               : "/task/train_share",
                           std::string("the ") + (data.train.count() == 0 ? "training" : "test") +
                               " steps have no labelled vertex" + (p_.held_out > 0 ? " on this side" : ""));
    }
    weigh(data.train);
    add_baselines(data, graph.vertices);
    if (split.validation > 0) explain("validation", data.validation, data);
    explain("test", data.test, data);
    return data;
  }

  std::vector<ParameterShape> parameters(std::int64_t embedding_width) const override {
    return {glorot("head.weight", embedding_width, p_.classes), {"head.bias", 1, p_.classes, 0.0}};
  }

  Var head(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
           std::int64_t count) const override {
    return gathered_dense(tape, embeddings, lists, count, parameters.at("head.weight"), parameters.at("head.bias"));
  }

  std::int64_t classes() const override { return p_.classes; }

  std::map<std::string, double> metrics(const std::vector<double>& outputs, const Samples& test) const override {
    const std::vector<std::int32_t> said = predicted_classes(outputs, p_.classes);
    const std::vector<std::int32_t> majority(test.baseline.begin(), test.baseline.end());
    std::vector<std::int32_t> last = majority;
    double seen = 0;
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (std::isnan(test.memory[i])) continue;
      last[i] = static_cast<std::int32_t>(test.memory[i]);
      seen += 1;
    }
    std::map<std::string, double> all = {{"accuracy", accuracy(outputs, test.label, p_.classes)},
                                         {"macro_f1", macro_f1(said, test.label, p_.classes)},
                                         {"majority_accuracy", share_right(majority, test.label)},
                                         {"majority_macro_f1", macro_f1(majority, test.label, p_.classes)},
                                         {"last_label_accuracy", share_right(last, test.label)},
                                         {"last_label_macro_f1", macro_f1(last, test.label, p_.classes)},
                                         {"seen_share", seen / static_cast<double>(last.size())}};
    if (p_.classes == 2) all["binary_f1"] = f1_score(said, test.label, 1);
    return all;
  }

  std::map<std::string, std::int64_t> metric_samples(const Samples& test) const override {
    std::map<std::string, std::int64_t> samples;
    for (const std::string& name : metric_names()) samples[name] = test.count();
    return samples;
  }

  std::vector<std::string> metric_names() const override {
    std::vector<std::string> names = {
        "accuracy",  "macro_f1", "majority_accuracy", "majority_macro_f1", "last_label_accuracy", "last_label_macro_f1",
        "seen_share"};
    if (p_.classes == 2) names.push_back("binary_f1");
    return names;
  }

 private:
  bool named_weights() const { return p_.class_weights == "balanced" || p_.class_weights == "none"; }

  /// Whether each vertex is held out; empty when none is.
  std::vector<bool> held_out(std::int64_t vertices, std::uint64_t seed) const {
    std::vector<bool> held;
    if (p_.held_out == 0) return held;
    const RandomStream random(seed, random_purpose::held_out, 0);
    for (std::int64_t v = 0; v < vertices; ++v)
      held.push_back(random.uniform(static_cast<std::uint64_t>(v)) < p_.held_out);
    return held;
  }

  void draw_step(const SnapshotGraph& graph, Step t, const std::vector<bool>& held, bool training,
                 GrowingSamples& samples) const {
    const bool per_cell = !graph.cell_label.empty();
    const bool all = p_.cells == "all" || (p_.cells == "auto" && per_cell);
    const Snapshot& snapshot = *graph.snapshots[t];
    const std::vector<bool> active = all ? std::vector<bool>() : active_vertices(snapshot, graph.vertices);
    for (VertexId v = 0; v < graph.vertices; ++v) {
      if (!all && !active[v]) continue;
      if (!held.empty() && held[v] == training) continue;
      const int label = per_cell ? graph.cell_label[t * graph.vertices + v] : graph.vertex_label[v];
      if (label < 0) continue;
      if (label >= p_.classes) {
        throw InvalidRequest("/task/classes", "the workload has a label " + std::to_string(label) +
                                                  "; set task.classes to at least " + std::to_string(label + 1));
      }
      append_sample(samples, v, t, label);
    }
  }

  void weigh(Samples& samples) const {
    if (p_.class_weights == "none") return;
    std::vector<double> of_class = class_counts(samples, p_.classes);
    if (p_.class_weights == "balanced") {
      const double all = static_cast<double>(samples.count()) / static_cast<double>(p_.classes);
      for (double& entry : of_class) entry = entry == 0 ? 0.0 : all / entry;
    } else {
      of_class = weight_list(p_.class_weights, p_.classes);
    }
    GrowingColumn<double> weight;
    for (const std::int32_t label : samples.label) weight.push_back(of_class[label]);
    samples.weight = weight.finish();
    if (samples.total_weight() > 0) return;
    throw InvalidRequest("/task/class_weights", "every class that the training samples have is weighted 0");
  }

  void add_baselines(TaskData& data, std::int64_t vertices) const {
    const std::vector<double> counts = class_counts(data.train, p_.classes);
    const double majority = std::max_element(counts.begin(), counts.end()) - counts.begin();
    std::vector<double> last(vertices, std::nan(""));
    for (std::size_t i = 0; i < data.train.label.size(); ++i) last[data.train.vertices[i]] = data.train.label[i];
    for (Samples* samples : {&data.validation, &data.test}) {
      GrowingColumn<double> baseline, memory;
      for (const VertexId v : samples->vertices) baseline.push_back(majority), memory.push_back(last[v]);
      samples->baseline = baseline.finish(), samples->memory = memory.finish();
    }
  }

  /// Notes for the row: classes that are missing, and in which part.
  void explain(const std::string& part, const Samples& samples, TaskData& data) const {
    const std::string prefix = part == "test" ? "" : part + "_";
    if (samples.count() == 0) {
      data.absent[prefix] = "the " + part + " steps have no labelled vertex";
      data.notes.push_back(data.absent[prefix]);
      return;
    }
    const std::vector<double> known = class_counts(data.train, p_.classes), asked = class_counts(samples, p_.classes);
    for (std::size_t c = 0; c < known.size(); ++c) {
      if (part == "test" && known[c] == static_cast<double>(data.train.count()))
        data.notes.push_back(fmt::format("all {} training samples have class {}", data.train.count(), c));
      if (known[c] == 0 && asked[c] > 0)
        data.notes.push_back(fmt::format("{:.0f} of {} {} samples have class {}, which no training sample has",
                                         asked[c], samples.count(), part, c));
    }
    if (p_.classes != 2 || asked[1] > 0) return;
    const std::string why = fmt::format("none of the {} {} samples has class 1", samples.count(), part);
    data.absent[prefix + "binary_f1"] = why;
    data.notes.push_back(why);
  }

  static double share_right(const std::vector<std::int32_t>& said, const Column<std::int32_t>& labels) {
    double right = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) right += said[i] == labels[i] ? 1.0 : 0.0;
    return right / static_cast<double>(labels.size());
  }

  VertexClassificationParameters p_;
};

const Register<TaskTag> vertex_classification_registered{{
    "vertex-classification",
    "the class of a vertex at a step, tested on later steps than those trained on, or on other vertices too",
    "EvolveGCN, AAAI'20, section 4 (node classification); class weights as scikit-learn's `balanced`",
    vertex_classification_fields(),
    [](const Json& parameters) -> std::unique_ptr<Task> {
      return std::make_unique<VertexClassification>(
          from_json<VertexClassificationParameters>(vertex_classification_fields(), parameters, "/task"));
    },
    {},
}};

const RegisterNames vertex_classification_elsewhere{
    "task",
    {{"node-classification", "vertex-classification", "type --task vertex-classification"},
     {"node-property-prediction", "vertex-classification", "type --task vertex-classification"}}};

}  // namespace
}  // namespace strobe
