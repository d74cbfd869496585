// Prediction of future links by models of events. The events of validation and test are scored in time order. Each
// destination is ranked among candidates that its source does not hit at that time. Every model is compared with the
// rules of link_rules.hpp. The rules see no more than a model whose memory is refreshed once in `batch` events.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/names_elsewhere.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_events.hpp"
#include "models/tasks/cut_instants.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/future_links/decoder.hpp"
#include "models/tasks/future_links/options.hpp"
#include "models/tasks/future_links/ranking.hpp"
#include "models/tasks/future_links/without_model.hpp"
#include "models/tasks/link_rules.hpp"
#include "models/tasks/protocols/protocol.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {
namespace {

constexpr const char* validation = "validation_";
constexpr std::int64_t scores_read = 3;  // by ap and auc: of the destination, and of a protocol's two candidates

class FutureLinks final : public EventTask {
 public:
  explicit FutureLinks(const FutureLinksOptions& parameters)
      : p_(parameters), ties_(tie_rule(parameters.ties)), count_(candidate_count(parameters.candidates)) {}

  EventTaskData draw(const EventGraph& graph, std::uint64_t seed) const override {
    EventTaskData data;
    const std::array<double, 3> shares = split_shares(p_.split, "/task/split");
    data.split = split_by_shares(graph, shares[0], shares[1]);
    data.evaluation_batch = p_.batch;
    const auto candidates = std::make_shared<EventCandidates>(event_candidates(graph, p_, data.split, seed));
    data.training_negatives = p_.training_negatives;
    data.negative_groups = p_.negative_groups;
    data.evaluation_candidates = count_;
    data.pair_history = p_.pair_history;
    data.history_to_event = p_.history == "event";
    const TimeSplit& split = data.split;
    data.judged = judged_flags(graph, p_, split);
    if (p_.kept_out > 0) keep_out(graph, seed, data);
    std::int64_t of_rules = count_;
    if (const auto given = given_candidates(p_, graph, split, data.kept_out)) {
      candidates->give(given);
      data.evaluation_candidates = given->most();
      of_rules = averages_batches(p_) ? 1 : given->most();
    }
    // Events with new vertices have a second negative in some protocols. The rules know the first one alone.
    const VertexFlags apart = averages_batches(p_) ? VertexFlags() : data.kept_out;
    count_events(graph, data);
    note_cut_instants(graph, split, p_.batch, data.notes);
    for (const auto& [prefix, first, last] :
         {std::tuple{"", split.validation_end, graph.events()}, {validation, split.train_end, split.validation_end}}) {
      if (first == last) continue;
      judge_without_model(graph, *candidates,
                          {split.train_end, first, last, p_.batch, of_rules, apart, data.judged, data.history_to_event},
                          p_, prefix, data.rules, data.levels);
    }
    data.candidates = candidates;
    return data;
  }

  std::vector<ParameterShape> parameters(const EventGraph&, std::int64_t width) const override {
    return link_decoder_parameters(width, p_.pair_history > 0);
  }

  Var head(Tape& tape, const Parameters& parameters, const Var& sources, const Var& candidates,
           std::span<const Tensor> codes) const override {
    return link_scores(tape, parameters, sources, candidates, codes);
  }

  Tensor labels(Device& device, const EventGraph&, EdgeId, std::int64_t count) const override {
    const PartScope part(device, MemoryPart::samples);
    const std::vector<std::int32_t> first(count, 0);  // the destination comes first
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
    for (std::size_t i = 0; i < outputs.counts.size(); ++i) ranks.push_back(1.0 / reciprocal_rank(outputs, i, ties_));
    return ranks;
  }

  std::int64_t most_kept() const override { return scores_read; }

  void shorten(EventOutputs& outputs, std::size_t event) const override {
    shorten_scores(outputs, event, scores_read, ties_);
  }

  std::map<std::string, double> metrics(const EventGraph& graph, const EventTaskData& data, EdgeId first,
                                        const EventOutputs& outputs) const override {
    std::vector<std::size_t> all, inductive;
    for (std::size_t i = 0; i < outputs.first.size(); ++i)
      if (data.is_judged(first + static_cast<EdgeId>(i))) all.push_back(i);
    if (all.empty()) return {};
    std::copy_if(all.begin(), all.end(), std::back_inserter(inductive),
                 [&](std::size_t i) { return is_inductive(graph, data.kept_out, first + static_cast<EdgeId>(i)); });
    if (averages_batches(p_)) {
      std::map<std::string, double> means = means_of_batches(outputs, all, p_.batch, 1, "", ties_);
      if (!inductive.empty()) means.merge(means_of_batches(outputs, inductive, p_.batch, 2, inductive_prefix, ties_));
      return means;
    }
    std::map<std::string, double> metrics = link_metrics(outputs, all, "", ties_);
    if (!inductive.empty()) metrics.merge(link_metrics(outputs, inductive, inductive_prefix, ties_));
    return metrics;
  }

  std::vector<std::string> metric_names(const EventGraph&) const override {
    std::vector<std::string> names = {"mrr", "ap", "auc"};
    for (std::size_t i = 0; p_.kept_out > 0 && i < 3; ++i) names.push_back(inductive_prefix + names[i]);
    return names;
  }

 private:
  /// Splits inductively, and counts the events judged this way.
  void keep_out(const EventGraph& graph, std::uint64_t seed, EventTaskData& data) const {
    const TimeSplit& split = data.split;
    data.kept_out = draw_kept_out(graph, split, p_.kept_out, seed);
    if (averages_batches(p_)) data.kept_out = never_trained(graph, split, data.kept_out);
    data.trained = std::make_shared<const TrainedEvents>(events_left(graph, split, data.kept_out, p_.negatives, seed));
    const auto vertices = std::count(data.kept_out.begin(), data.kept_out.end(), 1);
    if (count_judged(graph, data, true, split.validation_end, graph.events()) == 0) {
      throw InvalidRequest("/task/kept_out",
                           fmt::format("nothing is left to judge inductively: no {}test event has one of the {} "
                                       "vertices that are kept out; take a larger share, or another seed",
                                       data.judged.empty() ? "" : "new link of a ", vertices));
    }
    data.notes.push_back(
        fmt::format("kept_out={:g}: {} vertices are kept out of training, and {} of {} training events with them",
                    p_.kept_out, vertices, split.train_end - data.training_events(), split.train_end));
  }

  /// The events of [first, last) that metrics take, or of these the inductive ones.
  static std::int64_t count_judged(const EventGraph& graph, const EventTaskData& data, bool inductive, EdgeId first,
                                   EdgeId last) {
    std::int64_t count = 0;
    for (EdgeId e = first; e < last; ++e)
      count += data.is_judged(e) && (!inductive || is_inductive(graph, data.kept_out, e)) ? 1 : 0;
    return count;
  }

  /// Enters the number of events of each metric that does not take all.
  void count_events(const EventGraph& graph, EventTaskData& data) const {
    std::vector<std::string> names;
    if (!averages_batches(p_)) names = rule_names();
    for (const char* name : {"mrr", "ap", "auc"}) names.emplace_back(name);
    const auto add = [&](const std::string& prefix, EdgeId first, EdgeId last) {
      for (const std::string& name : names) {
        if (!data.judged.empty()) data.metric_events[prefix + name] = count_judged(graph, data, false, first, last);
        if (!data.kept_out.empty())
          data.metric_events[prefix + inductive_prefix + name] = count_judged(graph, data, true, first, last);
      }
    };
    add("", data.split.validation_end, graph.events());
    add(validation, data.split.train_end, data.split.validation_end);
  }

  FutureLinksOptions p_;
  TieRule ties_;
  std::int64_t count_;
};

const Register<EventTaskTag> future_links_registered{{
    "future-links",
    "events to come",
    "Rossi et al., Temporal Graph Networks, 2020",
    future_links_fields(),
    [](const Json& parameters) -> std::unique_ptr<EventTask> {
      return std::make_unique<FutureLinks>(future_links_options(parameters));
    },
    {},
}};

const RegisterNames of_events_elsewhere{
    "model",
    {{"edgebank", "", "it learns nothing, so it is no model: rows hold it next to the metrics, as edgebank_auc"}}};

const RegisterNames future_links_elsewhere{
    "task",
    {{"dynamic-link-prediction", "future-links", "type --task future-links"},
     {"temporal-link-prediction", "future-links", "type --task future-links"},
     {"graph-classification", "", "whole graphs have no labels here; nearest is vertex-classification"}}};

}  // namespace
}  // namespace strobe
