// Link prediction as ESDG section 6.4 trains it: of every training step t a share theta of the edges with label 1 and as
// many vertex pairs that are not edges of G_t with label 0; the test pairs are drawn in the same way from the step after
// the last training step and are scored with the last training step's embeddings (decisions E18). The head is a fully
// connected layer on the two embeddings side by side.
// Invariants: samples depend on (graph, theta, seed) only; pairs have u != v; positives of a step are distinct.
// Cost: O(m_t) per step for the choice, O(1) expected tries per negative on a sparse step.
#include <algorithm>
#include <cmath>

#include "core/random.hpp"
#include "models/ops.hpp"
#include "models/task.hpp"

namespace strobe {
namespace {

struct LinkPredictionParameters {
  double theta = 0.1;
};

const FieldTable& link_prediction_fields() {
  static const FieldTable table =
      make_fields<LinkPredictionParameters>()
          .real("theta", &LinkPredictionParameters::theta, "", "share of each step's edges taken as positives", 0.0, 1.0);
  return table;
}

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

/// `wanted` distinct positions of [0, edges) by a partial Fisher-Yates shuffle, self-loops left out.
std::vector<std::int64_t> choose_edges(const Snapshot& snapshot, double theta, const RandomStream& random) {
  std::vector<std::int64_t> edges;
  for (std::int64_t v = 0; v + 1 < static_cast<std::int64_t>(snapshot.row_offsets.size()); ++v) {
    const auto row = static_cast<std::size_t>(v);
    for (std::int64_t e = snapshot.row_offsets[row]; e < snapshot.row_offsets[row + 1]; ++e) {
      if (snapshot.columns[static_cast<std::size_t>(e)] != v) edges.push_back(e);
    }
  }
  const auto wanted = static_cast<std::size_t>(std::llround(theta * static_cast<double>(edges.size())));
  for (std::size_t i = 0; i < wanted; ++i) {
    std::swap(edges[i], edges[i + random.below(i, edges.size() - i)]);
  }
  edges.resize(wanted);
  return edges;
}

void draw_step(const Snapshot& snapshot, std::int64_t vertices, Step drawn, Step read, double theta, std::uint64_t seed,
               Samples& samples) {
  const RandomStream positive(seed, random_purpose::positives, static_cast<std::uint32_t>(drawn));
  const RandomStream negative(seed, random_purpose::negatives, static_cast<std::uint32_t>(drawn));
  const std::vector<std::int64_t> edges = choose_edges(snapshot, theta, positive);
  for (const std::int64_t edge : edges) {
    append(samples, snapshot.columns[static_cast<std::size_t>(edge)], row_of(snapshot, edge), read, 1);
  }
  const auto n = static_cast<std::uint64_t>(vertices);
  // A step so dense that non-edges are rare would search long; give each negative a bounded number of tries.
  const std::uint64_t tries = 64 * (edges.size() + 16);
  std::size_t found = 0;
  for (std::uint64_t i = 0; found < edges.size() && i < tries; ++i) {
    const auto u = static_cast<VertexId>(negative.below(2 * i, n));
    const auto v = static_cast<VertexId>(negative.below(2 * i + 1, n));
    if (u == v || has_edge(snapshot, u, v)) continue;
    append(samples, u, v, read, 0);
    ++found;
  }
  if (found < edges.size()) {
    throw InvalidRequest("/task/theta", "step " + std::to_string(drawn) + " has too few non-edges to draw negatives from");
  }
}

class LinkPrediction final : public Task {
 public:
  explicit LinkPrediction(const LinkPredictionParameters& parameters) : p_(parameters) {}

  TaskData draw(const SnapshotGraph& graph, std::uint64_t seed) const override {
    if (graph.steps() < 2) {
      throw InvalidRequest("/workload", "link prediction needs at least two steps (train and test), this graph has " +
                                            std::to_string(graph.steps()));
    }
    TaskData data;
    data.steps = graph.steps() - 1;
    data.train.arity = data.test.arity = 2;
    for (Step t = 0; t < data.steps; ++t) {
      draw_step(*graph.snapshots[static_cast<std::size_t>(t)], graph.vertices, t, t, p_.theta, seed, data.train);
    }
    const auto last = static_cast<Step>(data.steps - 1);
    draw_step(*graph.snapshots.back(), graph.vertices, last + 1, last, p_.theta, seed, data.test);
    if (data.train.count() == 0) {
      throw InvalidRequest("/task/theta", "no training pair was drawn: the training steps have too few edges for theta");
    }
    return data;
  }

  std::vector<ParameterShape> parameters(std::int64_t embedding_width) const override {
    return {glorot("head.weight", 2 * embedding_width, 2), {"head.bias", 1, 2, 0.0}};
  }

  Var head(Tape& tape, const Parameters& parameters, const Var& cells) const override {
    return dense(tape, cells, parameters.at("head.weight"), parameters.at("head.bias"), Activation::none);
  }

  std::int64_t classes() const override { return 2; }

  std::map<std::string, double> metrics(const std::vector<double>& logits,
                                        const std::vector<std::int32_t>& labels) const override {
    std::vector<double> scores(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) scores[i] = logits[2 * i + 1] - logits[2 * i];
    return {{"accuracy", accuracy(logits, labels, 2)}, {"auc", area_under_roc(scores, labels)}};
  }

  std::vector<std::string> metric_names() const override { return {"accuracy", "auc"}; }

 private:
  LinkPredictionParameters p_;
};

const Register<TaskTag> registered{{
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
