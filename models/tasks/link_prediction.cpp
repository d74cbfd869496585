// Link prediction as ESDG section 6.4 trains it: every training step t gives a share theta of its edges with label 1
// and the same number of vertex pairs that are not edges of G_t with label 0. The test pairs are drawn in the same way
// from the step after the last training step. They are scored with the last training step's embeddings (decisions E18).
// With a `split` each validation and test step s is drawn in the same way, and scored with the embeddings of step s -
// 1, which have read nothing of s. The head is a fully connected layer on the two embeddings side by side. For the mean
// reciprocal rank, `ranked` test edges u -> v are each ranked among `ranking_negatives` candidates u -> w. These are
// distinct vertices w, uniform among possible negatives for which the step has no edge u -> w; all of them where they
// are fewer. An edge without a candidate is not ranked. With several steps each ranks its first edges, in the
// proportion of the steps' edges. Negatives of a two-sided graph (users and items) join a source to a target, like its
// edges (`negatives=sides`). Against impossible pairs, the sides alone would reveal an edge. With orientation=both a
// positive may run either way, and its negative runs the same way. Where steps overlap (cumulative, sliding, edge
// life), most edges of a step are events of the step before, which the model has seen: finding them again is no
// prediction. `positives=new` takes only edges that the step before does not have, in training and test.
// `positives=auto` does so on such steps and takes all edges elsewhere, as the paper does on its disjoint steps. Two
// shares of the test positives of step s measure how many a model may know by heart: those that are edges of step s - 1
// (repeated_share) or of any step before s (seen_share). Two trivial baselines score a pair: by the popularity of its
// target (its edges in the steps before s), and by whether the pair was an edge in one of them (edgebank: Poursafaei et
// al., NeurIPS'22). Sources and targets are the columns and rows of the stored steps: the data's own with
// orientation=in, exchanged with out; with both, every edge is there in both directions.
// Invariants: samples depend on (graph, options, seed) only; pairs come before candidates.
// Cost: that of models/tasks/pair_samples.hpp, O(T log d) per test pair.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/names_elsewhere.hpp"
#include "models/ops/ops.hpp"
#include "models/tasks/link_samples.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {
namespace {

const FieldTable& link_prediction_fields() {
  using P = LinkPredictionParameters;
  static const FieldTable table =
      make_fields<P>()
          .real("theta", &P::theta, "", "share of each step's edges taken as positives", 0.0, 1.0)
          .choice("positives", &P::positives, {"auto", "all", "new"},
                  "edges of a step that may be positives: all, or those that the step before has not; auto = new where "
                  "the workload's steps overlap, else all")
          .choice("negatives", &P::negatives, {"auto", "sides", "targets", "any"},
                  "pairs that may be negatives: of a source and a target of a two-sided graph, of any vertex and one "
                  "that is a target in some training step, of any two; auto = sides where the graph has them, else any")
          .choice("ties", &P::ties, {"optimistic", "average", "pessimistic"},
                  "rank of an edge among candidates of equal score, in mrr: before, in the middle of, or after them")
          .integer("ranking_negatives", &P::ranking_negatives, "",
                   "candidates that a test edge is ranked among, or all where there are fewer; 0 = no mrr", 0, 100000)
          .integer("ranked", &P::ranked, "", "test edges that are ranked, at most", 1, 1000000000)
          .text("split", &P::split, split_help);
  return table;
}

/// Share of the positives that an input step has as an edge, the last one or, unless `last`, any; NaN of none.
double known_share(const Samples& test, bool last) {
  double positives = 0, known = 0;
  for (std::size_t i = 0; i < test.label.size(); ++i) {
    if (test.label[i] != 1) continue;
    positives += 1;
    known += test.memory[i] >= (last ? LinkMemory::in_last_step : LinkMemory::in_earlier_step) ? 1 : 0;
  }
  return known / positives;
}

/// Scores of the labelled pairs, and of the ranked edges and candidates.
struct Ranking {
  std::vector<double> pair, ranked, candidate;
  std::vector<double> bank;  // of the pairs: 1 if a step before has it as an edge
  std::vector<std::int32_t> label, candidate_of;
};

Ranking rank_scores(const std::vector<double>& scores, const Samples& test) {
  Ranking result;
  const std::size_t candidates =
      std::count_if(test.candidate_of.begin(), test.candidate_of.end(), [](std::int32_t of) { return of >= 0; });
  const std::size_t pairs = scores.size() - candidates;
  result.pair.reserve(pairs), result.label.reserve(pairs), result.bank.reserve(pairs);
  result.candidate.reserve(candidates), result.candidate_of.reserve(candidates);
  std::vector<std::int32_t> place(scores.size(), -1);  // of a ranked edge among the ranked
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (test.candidate_of[i] < 0) {
      result.pair.push_back(scores[i]);
      result.label.push_back(test.label[i]);
      result.bank.push_back(test.memory[i] == LinkMemory::never ? 0.0 : 1.0);
      continue;
    }
    const std::size_t edge = test.candidate_of[i];
    if (place[edge] < 0) {
      place[edge] = static_cast<std::int32_t>(result.ranked.size());
      result.ranked.push_back(scores[edge]);
    }
    result.candidate.push_back(scores[i]);
    result.candidate_of.push_back(place[edge]);
  }
  return result;
}

/// Its copies are gone when other metrics are computed.
double pair_accuracy(const std::vector<double>& outputs, const Samples& test) {
  std::vector<double> logits;
  std::vector<std::int32_t> label;
  logits.reserve(outputs.size()), label.reserve(test.label.size());
  for (std::size_t i = 0; i < test.label.size(); ++i) {
    if (test.candidate_of[i] >= 0) continue;
    logits.insert(logits.end(), {outputs[2 * i], outputs[2 * i + 1]});
    label.push_back(test.label[i]);
  }
  return accuracy(logits, label, 2);
}

class LinkPrediction final : public Task {
 public:
  explicit LinkPrediction(const LinkPredictionParameters& parameters) : p_(parameters) {}

  TaskData draw(const SnapshotGraph& graph, std::uint64_t seed) const override {
    return draw_link_samples(graph, p_, split_of(graph.steps()), seed);
  }

  TaskCounts count(const GraphStatistics& shape) const override {
    const std::vector<std::int64_t> edges = step_edges(shape);
    const std::int64_t steps = edges.size();
    const StepSplit split = split_of(steps);
    if (p_.positives == "new") {
      throw InvalidRequest("/task/positives", "the shape " + shape.name +
                                                  " does not say which edges of a step are new; leave positives out, "
                                                  "or take a graph");
    }
    if (p_.negatives == "sides") {
      throw InvalidRequest("/task/negatives", "the shape " + shape.name +
                                                  " does not say which vertices are on which "
                                                  "side; leave negatives out, or take a graph");
    }
    const std::int64_t others = std::max<std::int64_t>(shape.vertices.value_or(0) - 2, 0);
    const std::int64_t candidates = std::min<std::int64_t>(p_.ranking_negatives, others);
    TaskCounts counts{steps - 1, {2, p_.theta, {}}, {2, p_.theta, {}}};
    std::int64_t left = p_.ranked;
    for (Step t = 0; t < steps; ++t) {
      const std::size_t step = t;
      const std::int64_t loops = shape.self_loops_per_step.empty() ? 0 : shape.self_loops_per_step[step];
      const std::int64_t drawn = std::llround(p_.theta * static_cast<double>(edges[step] - loops));
      if (t < split.train) {
        counts.train.steps.push_back({t, drawn, drawn, 0});
      } else if (t >= split.train + split.validation) {
        const std::int64_t ranked = std::min<std::int64_t>(drawn, left);
        left -= ranked;
        counts.test.steps.push_back({t - 1, drawn, drawn + ranked * candidates, 0});
      }
    }
    return counts;
  }

  std::vector<ParameterShape> parameters(std::int64_t embedding_width) const override {
    return {glorot("head.weight", 2 * embedding_width, 2), {"head.bias", 1, 2, 0.0}};
  }

  Var head(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
           std::int64_t count) const override {
    return gathered_dense(tape, embeddings, lists, count, parameters.at("head.weight"), parameters.at("head.bias"));
  }

  std::int64_t classes() const override { return 2; }

  std::map<std::string, double> metrics(const std::vector<double>& outputs, const Samples& test) const override {
    const double accuracy = pair_accuracy(outputs, test);
    std::vector<double> scores(test.step.size());
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = outputs[2 * i + 1] - outputs[2 * i];
    const Ranking model = rank_scores(scores, test), trivial = rank_scores(test.baseline.copy(), test);
    std::map<std::string, double> all = {{"accuracy", accuracy},
                                         {"auc", area_under_roc(model.pair, model.label)},
                                         {"ap", average_precision(model.pair, model.label)},
                                         {"popularity_auc", area_under_roc(trivial.pair, trivial.label)},
                                         {"popularity_ap", average_precision(trivial.pair, trivial.label)},
                                         {"edgebank_auc", area_under_roc(model.bank, model.label)},
                                         {"edgebank_ap", average_precision(model.bank, model.label)},
                                         {"repeated_share", known_share(test, true)},
                                         {"seen_share", known_share(test, false)}};
    if (p_.ranking_negatives == 0) return all;
    const TieRule ties = tie_rule(p_.ties);
    all["mrr"] = mean_reciprocal_rank(model.ranked, model.candidate, model.candidate_of, ties);
    all["popularity_mrr"] = mean_reciprocal_rank(trivial.ranked, trivial.candidate, trivial.candidate_of, ties);
    const std::vector<std::int64_t> counts = candidate_counts(test);
    const double edges = counts.size();
    all["mrr_chance"] = chance_of_mean_reciprocal_rank(counts);
    all["ranking_candidates_mean"] = static_cast<double>(model.candidate.size()) / edges;
    all["ranking_candidates_min"] =
        counts.empty() ? std::nan("") : static_cast<double>(*std::min_element(counts.begin(), counts.end()));
    return all;
  }

  std::vector<std::string> metric_names() const override {
    std::vector<std::string> names = pair_metrics();
    names.insert(names.end(), {"repeated_share", "seen_share"});
    if (p_.ranking_negatives > 0) {
      for (const std::string& name : ranking_metrics()) names.push_back(name);
    }
    return names;
  }

  std::map<std::string, std::int64_t> metric_samples(const Samples& test) const override {
    const std::int64_t positives = std::count(test.label.begin(), test.label.end(), 1);
    const std::int64_t pairs = std::count(test.candidate_of.begin(), test.candidate_of.end(), -1);
    std::map<std::string, std::int64_t> samples = {{"repeated_share", positives}, {"seen_share", positives}};
    for (const std::string& name : pair_metrics()) samples[name] = pairs;
    if (p_.ranking_negatives == 0) return samples;
    const std::int64_t edges = candidate_counts(test).size();
    for (const std::string& name : ranking_metrics()) samples[name] = edges;
    return samples;
  }

 private:
  static std::vector<std::string> pair_metrics() {
    return {"accuracy", "auc", "ap", "popularity_auc", "popularity_ap", "edgebank_auc", "edgebank_ap"};
  }

  StepSplit split_of(std::int64_t steps) const {
    if (!p_.split.empty()) return split_steps(steps, p_.split, "link-prediction");
    if (steps >= 2) return {steps - 1, 0, 1};
    throw InvalidRequest("/workload", "link prediction needs at least two steps (train and test), this graph has " +
                                          std::to_string(steps));
  }

  LinkPredictionParameters p_;
};

const Register<TaskTag> link_prediction_registered{{
    "link-prediction",
    "edges of the next step from the embeddings of their ends, against as many non-edges",
    "ESDG, SC'21, section 6.4",
    link_prediction_fields(),
    [](const Json& parameters) -> std::unique_ptr<Task> {
      return std::make_unique<LinkPrediction>(
          from_json<LinkPredictionParameters>(link_prediction_fields(), parameters, "/task"));
    },
    {},
}};

const RegisterNames link_prediction_elsewhere{"task",
                                              {{"edge-prediction", "link-prediction", "type --task link-prediction"}}};

}  // namespace
}  // namespace strobe
