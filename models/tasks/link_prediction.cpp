// Link prediction as ESDG section 6.4 trains it: of every training step t a share theta of the edges with label 1 and
// as many vertex pairs that are not edges of G_t with label 0; the test pairs are drawn in the same way from the step
// after the last training step and are scored with the last training step's embeddings (decisions E18). The head is a
// fully connected layer on the two embeddings side by side. For the mean reciprocal rank, the first `ranked` test edges
// u -> v are each ranked among `ranking_negatives` candidates u -> w, w uniform among the vertices that may be
// negatives and G_T+1 has no u -> w (with repeats; fewer where u leads nearly everywhere).
// Where steps overlap (cumulative, sliding, edge life), most edges of a step are events of the step before, which the
// model has been given: finding them again is no prediction. `positives=new` takes only edges that the step before has
// not, in training and test; auto does so on such steps and elsewhere takes all, as the paper's disjoint steps have it.
// Two shares say what a model may know by heart: of the test positives, those that are edges of the last training step
// (repeated_share) or of any (seen_share). Two trivial baselines score a pair by the popularity of its target, its
// edges in training steps, and by whether it has been an edge in one (edgebank: Poursafaei et al., NeurIPS'22).
// Sources and targets are the columns and rows of the stored steps: the data's own with orientation=in, exchanged with
// out; with both, every edge is there in both directions.
// Invariants: samples depend on (graph, options, seed) only; pairs have u != v; positives of a step are distinct.
// Cost: O(m_t) per step for the choice, O(1) expected tries per negative on a sparse step, O(T log d) per test pair.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/random.hpp"
#include "models/ops.hpp"
#include "models/task.hpp"

namespace strobe {
namespace {

struct LinkPredictionParameters {
  double theta = 0.1;
  std::string positives = "auto";
  std::string negatives = "any";
  std::string ties = "average";
  int ranking_negatives = 49;
  int ranked = 1000;
};

const FieldTable& link_prediction_fields() {
  using P = LinkPredictionParameters;
  static const FieldTable table =
      make_fields<P>()
          .real("theta", &P::theta, "", "share of each step's edges taken as positives", 0.0, 1.0)
          .choice("positives", &P::positives, {"auto", "all", "new"},
                  "edges of a step that may be positives: all, or those that the step before has not; auto = new where "
                  "the workload's steps overlap, else all")
          .choice("negatives", &P::negatives, {"any", "targets"},
                  "targets of negative pairs: any vertex, or those that are a target in some training step")
          .choice("ties", &P::ties, {"optimistic", "average", "pessimistic"},
                  "rank of an edge among candidates of equal score, in mrr: before, amid or behind them")
          .integer("ranking_negatives", &P::ranking_negatives, "",
                   "candidates that a test edge is ranked among; 0 = no mrr", 0, 100000)
          .integer("ranked", &P::ranked, "", "test edges that are ranked, at most", 1, 1000000000);
  return table;
}

/// Values of Samples::memory.
constexpr double never = 0, in_earlier_step = 1, in_last_step = 2;

bool has_edge(const Snapshot& snapshot, VertexId source, VertexId target) {
  const auto begin = snapshot.columns.begin() + snapshot.row_offsets[static_cast<std::size_t>(target)];
  const auto end = snapshot.columns.begin() + snapshot.row_offsets[static_cast<std::size_t>(target) + 1];
  return std::binary_search(begin, end, source);
}

/// Target row of the edge at position `edge` of the snapshot's columns.
VertexId row_of(const Snapshot& snapshot, std::int64_t edge) {
  const auto after = std::upper_bound(snapshot.row_offsets.begin(), snapshot.row_offsets.end(), edge);
  return static_cast<VertexId>(after - snapshot.row_offsets.begin() - 1);
}

void append(Samples& samples, VertexId u, VertexId v, Step read_step, std::int32_t label) {
  samples.vertices.push_back(u);
  samples.vertices.push_back(v);
  samples.step.push_back(read_step);
  samples.label.push_back(label);
}

/// `wanted` distinct positions of [0, edges) by a partial Fisher-Yates shuffle; self-loops and, unless it is null, the
/// edges of `before` left out.
std::vector<std::int64_t> choose_edges(const Snapshot& snapshot, const Snapshot* before, double theta,
                                       const RandomStream& random) {
  std::vector<std::int64_t> edges;
  for (std::int64_t v = 0; v + 1 < static_cast<std::int64_t>(snapshot.row_offsets.size()); ++v) {
    const auto row = static_cast<std::size_t>(v);
    for (std::int64_t e = snapshot.row_offsets[row]; e < snapshot.row_offsets[row + 1]; ++e) {
      const VertexId u = snapshot.columns[static_cast<std::size_t>(e)];
      if (u == v || (before != nullptr && has_edge(*before, u, static_cast<VertexId>(v)))) continue;
      edges.push_back(e);
    }
  }
  const auto wanted = static_cast<std::size_t>(std::llround(theta * static_cast<double>(edges.size())));
  for (std::size_t i = 0; i < wanted; ++i) {
    std::swap(edges[i], edges[i + random.below(i, edges.size() - i)]);
  }
  edges.resize(wanted);
  return edges;
}

/// What negatives of one step are drawn from: source uniform over all vertices, target uniform over `targets`.
struct NegativePool {
  std::uint64_t vertices = 0;
  std::vector<VertexId> targets;  // empty: all vertices

  VertexId target(const RandomStream& random, std::uint64_t i) const {
    if (targets.empty()) return static_cast<VertexId>(random.below(i, vertices));
    return targets[static_cast<std::size_t>(random.below(i, targets.size()))];
  }
};

/// Pairs of step `drawn` of the graph, for the embeddings of step `read`.
struct StepDraw {
  Step drawn, read;
  bool only_new;  // whether edges of the step before are no positives
};

void draw_step(const SnapshotGraph& graph, const NegativePool& pool, const StepDraw& step, double theta,
               std::uint64_t seed, Samples& samples) {
  const auto [drawn, read, only_new] = step;
  const Snapshot& snapshot = *graph.snapshots[static_cast<std::size_t>(drawn)];
  const Snapshot* before = only_new && drawn > 0 ? graph.snapshots[static_cast<std::size_t>(drawn) - 1].get() : nullptr;
  const RandomStream positive(seed, random_purpose::positives, static_cast<std::uint32_t>(drawn));
  const RandomStream negative(seed, random_purpose::negatives, static_cast<std::uint32_t>(drawn));
  const std::vector<std::int64_t> edges = choose_edges(snapshot, before, theta, positive);
  for (const std::int64_t edge : edges) {
    append(samples, snapshot.columns[static_cast<std::size_t>(edge)], row_of(snapshot, edge), read, 1);
  }
  // A step so dense that non-edges are rare would search long; give each negative a bounded number of tries.
  const std::uint64_t tries = 64 * (edges.size() + 16);
  std::size_t found = 0;
  for (std::uint64_t i = 0; found < edges.size() && i < tries; ++i) {
    const auto u = static_cast<VertexId>(negative.below(2 * i, pool.vertices));
    const VertexId v = pool.target(negative, 2 * i + 1);
    if (u == v || has_edge(snapshot, u, v)) continue;
    append(samples, u, v, read, 0);
    ++found;
  }
  if (found < edges.size()) {
    throw InvalidRequest(
        "/task/theta", fmt::format("step {} has too few non-edges to draw {} negatives from; set task.theta lower, or "
                                   "take narrower windows, whose steps are less dense",
                                   drawn, edges.size()));
  }
}

/// Ranking candidates of the first `ranked` positives of `samples`, which were drawn from `snapshot`.
void draw_candidates(const Snapshot& snapshot, const NegativePool& pool, Step read, const LinkPredictionParameters& p,
                     std::uint64_t seed, Samples& samples) {
  samples.candidate_of.assign(samples.step.size(), -1);
  const auto positives = std::count(samples.label.begin(), samples.label.end(), 1);
  const std::uint64_t wanted = static_cast<std::uint64_t>(p.ranking_negatives);
  for (std::int32_t k = 0; k < std::min<std::int64_t>(positives, p.ranked); ++k) {
    const RandomStream random(seed, random_purpose::ranking, static_cast<std::uint32_t>(k));
    const VertexId u = samples.vertices[2 * static_cast<std::size_t>(k)];
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; found < wanted && i < 16 * wanted; ++i) {
      const VertexId w = pool.target(random, i);
      if (w == u || has_edge(snapshot, u, w)) continue;
      append(samples, u, w, read, 0);
      samples.candidate_of.push_back(k);
      ++found;
    }
  }
}

/// How often each vertex is a target in the first `steps` steps: [N].
std::vector<double> popularity(const SnapshotGraph& graph, std::int64_t steps) {
  std::vector<double> count(static_cast<std::size_t>(graph.vertices), 0.0);
  for (std::int64_t t = 0; t < steps; ++t) {
    const Snapshot& snapshot = *graph.snapshots[static_cast<std::size_t>(t)];
    for (std::size_t v = 0; v < count.size(); ++v) {
      count[v] += static_cast<double>(snapshot.row_offsets[v + 1] - snapshot.row_offsets[v]);
    }
  }
  return count;
}

/// Samples::memory of test pairs from the first `steps` steps; candidates, whose own nobody asks for, have 0.
std::vector<double> memory_of(const SnapshotGraph& graph, std::int64_t steps, const Samples& test) {
  std::vector<double> memory(test.step.size(), never);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (test.candidate_of[i] >= 0) continue;
    for (std::int64_t t = steps - 1; t >= 0 && memory[i] == never; --t) {
      const Snapshot& snapshot = *graph.snapshots[static_cast<std::size_t>(t)];
      if (!has_edge(snapshot, test.vertices[2 * i], test.vertices[2 * i + 1])) continue;
      memory[i] = t + 1 == steps ? in_last_step : in_earlier_step;
    }
  }
  return memory;
}

/// Share of the positives that an input step has as an edge, the last one or, unless `last`, any; NaN of none.
double known_share(const Samples& test, bool last) {
  double positives = 0, known = 0;
  for (std::size_t i = 0; i < test.label.size(); ++i) {
    if (test.label[i] != 1) continue;
    positives += 1;
    known += test.memory[i] >= (last ? in_last_step : in_earlier_step) ? 1 : 0;
  }
  return known / positives;
}

class LinkPrediction final : public Task {
 public:
  explicit LinkPrediction(const LinkPredictionParameters& parameters) : p_(parameters) {}

  TaskData draw(const SnapshotGraph& graph, std::uint64_t seed) const override {
    require_two_steps(graph.steps());
    TaskData data;
    data.steps = graph.steps() - 1;
    data.train.arity = data.test.arity = 2;
    const std::vector<double> popular = popularity(graph, data.steps);
    const NegativePool pool = negative_pool(popular);
    const bool only_new = p_.positives == "new" || (p_.positives == "auto" && !graph.repeats.empty());
    for (Step t = 0; t < data.steps; ++t) draw_step(graph, pool, {t, t, only_new}, p_.theta, seed, data.train);
    const auto last = static_cast<Step>(data.steps - 1);
    draw_step(graph, pool, {last + 1, last, only_new}, p_.theta, seed, data.test);
    draw_candidates(*graph.snapshots.back(), pool, last, p_, seed, data.test);
    data.test.memory = memory_of(graph, data.steps, data.test);
    for (std::size_t i = 0; i < data.test.step.size(); ++i) {
      data.test.baseline.push_back(popular[static_cast<std::size_t>(data.test.vertices[2 * i + 1])]);
    }
    if (data.train.count() == 0) {
      throw InvalidRequest("/task/theta",
                           fmt::format("no training pair was drawn: theta = {} of the {}edges of each of the {} "
                                       "training steps rounds to none; set task.theta higher or take fewer, longer "
                                       "windows",
                                       p_.theta, only_new ? "new " : "", data.steps));
    }
    return data;
  }

  TaskCounts count(const GraphShape& shape) const override {
    const std::vector<std::int64_t> edges = step_edges(shape);
    const auto steps = static_cast<std::int64_t>(edges.size());
    require_two_steps(steps);
    if (p_.positives == "new") {
      throw InvalidRequest("/task/positives", "the shape " + shape.name +
                                                  " does not say which edges of a step are new; leave positives out, "
                                                  "or take a graph");
    }
    TaskCounts counts{steps - 1, {2, p_.theta, {}}, {2, p_.theta, {}}};
    for (Step t = 0; t < steps; ++t) {
      const auto step = static_cast<std::size_t>(t);
      const std::int64_t loops = shape.self_loops_per_step.empty() ? 0 : shape.self_loops_per_step[step];
      const std::int64_t drawn = std::llround(p_.theta * static_cast<double>(edges[step] - loops));
      if (t + 1 < steps) {
        counts.train.steps.push_back({t, drawn, drawn, 0});
      } else {
        const std::int64_t ranked = std::min<std::int64_t>(drawn, p_.ranked);
        counts.test.steps.push_back({t - 1, drawn, drawn + ranked * p_.ranking_negatives, 0});
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
    std::vector<double> scores(test.step.size());
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = outputs[2 * i + 1] - outputs[2 * i];
    const Ranking model = split(scores, test), trivial = split(test.baseline, test);
    const std::vector<double> logits(outputs.begin(),
                                     outputs.begin() + 2 * static_cast<std::ptrdiff_t>(model.label.size()));
    std::map<std::string, double> all = {{"accuracy", accuracy(logits, model.label, 2)},
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
    return all;
  }

  std::vector<std::string> metric_names() const override {
    std::vector<std::string> names = {"accuracy",      "auc",          "ap",          "popularity_auc",
                                      "popularity_ap", "edgebank_auc", "edgebank_ap", "repeated_share",
                                      "seen_share"};
    if (p_.ranking_negatives > 0) names.insert(names.end(), {"mrr", "popularity_mrr"});
    return names;
  }

 private:
  /// Scores of the pairs with a label of their own, and of what is ranked.
  struct Ranking {
    std::vector<double> pair, ranked, candidate;
    std::vector<double> bank;  // of the pairs: 1 if a training step has it as an edge
    std::vector<std::int32_t> label, candidate_of;
  };

  /// Pairs come before candidates, and positives before other pairs (`draw`).
  Ranking split(const std::vector<double>& scores, const Samples& test) const {
    Ranking result;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (test.candidate_of[i] >= 0) {
        result.candidate.push_back(scores[i]);
        result.candidate_of.push_back(test.candidate_of[i]);
        continue;
      }
      result.pair.push_back(scores[i]);
      result.label.push_back(test.label[i]);
      result.bank.push_back(test.memory[i] == never ? 0.0 : 1.0);
      if (test.label[i] == 1 && static_cast<int>(i) < p_.ranked) result.ranked.push_back(scores[i]);
    }
    return result;
  }

  static void require_two_steps(std::int64_t steps) {
    if (steps >= 2) return;
    throw InvalidRequest("/workload", "link prediction needs at least two steps (train and test), this graph has " +
                                          std::to_string(steps));
  }

  NegativePool negative_pool(const std::vector<double>& popular) const {
    NegativePool pool{popular.size(), {}};
    for (std::size_t v = 0; p_.negatives == "targets" && v < popular.size(); ++v) {
      if (popular[v] > 0) pool.targets.push_back(static_cast<VertexId>(v));
    }
    return pool;
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

}  // namespace
}  // namespace strobe
