// Prediction of future links: the events of validation and test are scored in time order, each destination among
// candidates that its source does not hit at that time. Average precision and the area under the ROC curve take each
// positive with its first negative, one to one; the mean reciprocal rank takes all candidates. Beside every model stand
// the rules of link_rules.hpp, which see no more than a model does whose memory is refreshed once in `batch` events.
// The decoder is that of TGL and DistTGL: w . relu(z_u W_s + z_v W_d + b) + b'.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/ops/ops.hpp"
#include "models/ops/ops_events.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/link_rules.hpp"
#include "models/tasks/task.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {
namespace {

struct FutureLinksParameters {
  std::string candidates = "49";
  std::string ties = "average";
  std::int64_t batch = 200;
  std::string split = "70/15/15";
  std::string negatives = "auto";
  std::int64_t negative_groups = 10;
  std::int64_t training_negatives = 1;
  double kept_out = 0;
};

const FieldTable& future_links_fields() {
  using P = FutureLinksParameters;
  static const FieldTable table =
      make_fields<P>()
          .text("candidates", &P::candidates,
                "vertices that a destination is ranked among: a number, drawn for each event, or all")
          .choice("ties", &P::ties, {"optimistic", "average", "pessimistic"},
                  "rank of a destination among candidates of equal score: before, amid or behind them")
          .integer("batch", &P::batch, "", "events of an evaluation between two refreshes of the memory", 1, 1 << 30)
          .text("split", &P::split, "shares of the events for training, validation and test, by time")
          .choice("negatives", &P::negatives, {"auto", "sides", "targets", "any"},
                  "vertices that may be negatives: targets of a two-sided graph, of any graph, or all vertices; auto = "
                  "sides where the graph has them, else targets")
          .integer("negative_groups", &P::negative_groups, "",
                   "groups of training negatives; sweeps over the events take them in turn", 1, 1 << 20)
          .integer("training_negatives", &P::training_negatives, "", "negatives of each training event", 1, 1000)
          .real("kept_out", &P::kept_out, "",
                "share of the vertices that training never sees, drawn among those of validation and test events; "
                "their events are judged apart, as inductive_mrr; less than 1",
                0, 0.999);
  return table;
}

/// -1 for all. Throws InvalidRequest("/task/candidates", ...).
std::int64_t candidate_count(const std::string& text) {
  if (text == "all") return -1;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, count);
  if (read.ec == std::errc() && read.ptr == end && count >= 1) return count;
  throw InvalidRequest("/task/candidates", fmt::format("expected a number from 1 on, or all, found '{}'", text));
}

constexpr const char* validation = "validation_";

class FutureLinks final : public EventTask {
 public:
  explicit FutureLinks(const FutureLinksParameters& parameters)
      : p_(parameters), ties_(tie_rule(parameters.ties)), count_(candidate_count(parameters.candidates)) {}

  EventTaskData draw(const EventGraph& graph, std::uint64_t seed) const override {
    EventTaskData data;
    const std::array<double, 3> shares = split_shares(p_.split, "/task/split");
    data.split = split_by_shares(graph, shares[0], shares[1]);
    data.evaluation_batch = p_.batch;
    const auto candidates = std::make_shared<EventCandidates>(graph, p_.negatives, seed);
    data.training_negatives = p_.training_negatives;
    data.negative_groups = p_.negative_groups;
    data.evaluation_candidates = count_;
    const TimeSplit& split = data.split;
    if (p_.kept_out > 0) keep_out(graph, seed, data);
    const auto add_rules = [&](const std::string& prefix, EdgeId first, EdgeId last) {
      if (first == last) return;
      for (const auto& [name, value] :
           rule_metrics(graph, *candidates, {split.train_end, first, last, p_.batch, count_, data.kept_out}, ties_))
        data.rules[prefix + name] = value;
    };
    add_rules("", split.validation_end, graph.events());
    add_rules(validation, split.train_end, split.validation_end);
    data.candidates = candidates;
    return data;
  }

  std::vector<ParameterShape> parameters(const EventGraph&, std::int64_t width) const override {
    const double bound = 1.0 / std::sqrt(static_cast<double>(width));  // of PyTorch's linear layers
    return {{"decoder.source", width, width, bound},      {"decoder.source_bias", 1, width, bound},
            {"decoder.destination", width, width, bound}, {"decoder.destination_bias", 1, width, bound},
            {"decoder.output", width, 1, bound},          {"decoder.output_bias", 1, 1, bound}};
  }

  Var head(Tape& tape, const Parameters& parameters, const Var& sources, const Var& candidates) const override {
    const Var source =
        dense(tape, sources, parameters.at("decoder.source"), parameters.at("decoder.source_bias"), Activation::none);
    const Var destination = dense(tape, candidates, parameters.at("decoder.destination"),
                                  parameters.at("decoder.destination_bias"), Activation::none);
    return pair_scores(tape, source, destination, parameters.at("decoder.output"),
                       parameters.at("decoder.output_bias"));
  }

  Tensor labels(Device& device, const EventGraph&, EdgeId, std::int64_t count) const override {
    const std::vector<std::int32_t> first(static_cast<std::size_t>(count), 0);  // the destination stands first
    return device.move_in(first.data(), count, 1, ElementType::i32);
  }

  void add_loss(Tape& tape, const Var& outputs, LinkLoss kind, const Tensor& labels, double scale,
                const Tensor& loss) const override {
    if (kind == LinkLoss::cross_entropy)
      softmax_cross_entropy(tape, outputs, labels, scale, loss);
    else
      binary_cross_entropy(tape, outputs, scale, loss);
  }

  std::vector<double> ranks(const EventOutputs& outputs) const override {
    std::vector<double> ranks;
    for (std::size_t i = 0; i < outputs.counts.size(); ++i)
      ranks.push_back(1.0 / reciprocal_rank(outputs.values.data() + outputs.first[i], outputs.counts[i]));
    return ranks;
  }

  std::map<std::string, double> metrics(const EventGraph& graph, const EventTaskData& data, EdgeId first,
                                        const EventOutputs& outputs) const override {
    std::vector<std::size_t> all(outputs.first.size()), inductive;
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::map<std::string, double> metrics = judged(outputs, all, "");
    std::copy_if(all.begin(), all.end(), std::back_inserter(inductive),
                 [&](std::size_t i) { return is_inductive(graph, data.kept_out, first + static_cast<EdgeId>(i)); });
    if (!inductive.empty()) metrics.merge(judged(outputs, inductive, inductive_prefix));
    return metrics;
  }

  std::vector<std::string> metric_names(const EventGraph&) const override {
    std::vector<std::string> names = {"mrr", "ap", "auc"};
    for (std::size_t i = 0; p_.kept_out > 0 && i < 3; ++i) names.push_back(inductive_prefix + names[i]);
    return names;
  }

 private:
  /// Splits inductively, and counts what is judged so.
  void keep_out(const EventGraph& graph, std::uint64_t seed, EventTaskData& data) const {
    const TimeSplit& split = data.split;
    data.kept_out = draw_kept_out(graph, split, p_.kept_out, seed);
    data.trained = std::make_shared<const TrainedEvents>(events_left(graph, split, data.kept_out, p_.negatives, seed));
    const std::int64_t tested = count_inductive(graph, data.kept_out, split.validation_end, graph.events());
    const std::int64_t validated = count_inductive(graph, data.kept_out, split.train_end, split.validation_end);
    const auto vertices = std::count(data.kept_out.begin(), data.kept_out.end(), 1);
    if (tested == 0) {
      throw InvalidRequest("/task/kept_out",
                           fmt::format("nothing is left to judge inductively: no test event has one of the {} vertices "
                                       "that are kept out; take a larger share, or another seed",
                                       vertices));
    }
    std::vector<std::string> names = rule_names();
    for (const char* name : {"mrr", "ap", "auc"}) names.emplace_back(name);
    for (const std::string& name : names) {
      data.metric_events[inductive_prefix + name] = tested;
      data.metric_events[validation + (inductive_prefix + name)] = validated;
    }
    data.notes.push_back(
        fmt::format("kept_out={:g}: {} vertices are kept out of training, and {} of {} training events with them",
                    p_.kept_out, vertices, split.train_end - data.training_events(), split.train_end));
  }

  /// Metrics of some of the judged events, their names behind `prefix`.
  std::map<std::string, double> judged(const EventOutputs& outputs, const std::vector<std::size_t>& events,
                                       const std::string& prefix) const {
    std::vector<double> pairs;
    std::vector<std::int32_t> truth;
    double reciprocal = 0, ranked = 0;
    for (const std::size_t i : events) {
      if (outputs.counts[i] < 2) continue;  // nothing to be told from
      const double* const scores = outputs.values.data() + outputs.first[i];
      pairs.insert(pairs.end(), {scores[0], scores[1]});
      truth.insert(truth.end(), {1, 0});
      reciprocal += reciprocal_rank(scores, outputs.counts[i]);
      ranked += 1;
    }
    return {{prefix + "mrr", reciprocal / ranked},
            {prefix + "ap", average_precision(pairs, truth)},
            {prefix + "auc", area_under_roc(pairs, truth)}};
  }

  /// NaN where a score is no number.
  double reciprocal_rank(const double* scores, std::int64_t count) const {
    double higher = 0, equal = 0;
    for (std::int64_t c = 1; c < count; ++c) {
      if (std::isnan(scores[c]) || std::isnan(scores[0])) return std::numeric_limits<double>::quiet_NaN();
      higher += scores[c] > scores[0] ? 1 : 0;
      equal += scores[c] == scores[0] ? 1 : 0;
    }
    return 1.0 / (1.0 + higher + tie_share(ties_) * equal);
  }

  FutureLinksParameters p_;
  TieRule ties_;
  std::int64_t count_;
};

const Register<TaskTag> future_links_of_events{{
    "future-links",
    "events to come: each destination among candidates, judged beside rules that learn nothing",
    "Rossi et al., Temporal Graph Networks, 2020; Huang et al., Temporal Graph Benchmark, NeurIPS'23",
    future_links_fields(),
    TaskTag::Value("events"),
    {},
}};

const Register<EventTaskTag> future_links_registered{{
    "future-links",
    "events to come",
    "Rossi et al., Temporal Graph Networks, 2020",
    future_links_fields(),
    [](const Json& parameters) -> std::unique_ptr<EventTask> {
      return std::make_unique<FutureLinks>(
          from_json<FutureLinksParameters>(future_links_fields(), parameters, "/task"));
    },
    {},
}};

}  // namespace
}  // namespace strobe
