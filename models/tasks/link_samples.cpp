#include "models/tasks/link_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/tasks/growing_samples.hpp"
#include "models/tasks/pair_samples.hpp"
#include "workloads/graph/outlying_times.hpp"

namespace strobe {
namespace {

void append(GrowingSamples& samples, VertexId u, VertexId v, Step read_step, std::int32_t label) {
  samples.vertices.push_back(u);
  samples.vertices.push_back(v);
  samples.step.push_back(read_step);
  samples.label.push_back(label);
}

/// Adds the target counts of a step's edges: [N].
void add_popularity(const Snapshot& snapshot, std::vector<double>& count) {
  for (std::size_t v = 0; v < count.size(); ++v) {
    count[v] += static_cast<double>(snapshot.row_offsets[v + 1] - snapshot.row_offsets[v]);
  }
}

/// The last step up to and including `read` that has the edge, encoded as in Samples::memory.
double memory_of(const SnapshotGraph& graph, Step read, VertexId source, VertexId target) {
  for (Step t = read; t >= 0; --t) {
    if (!has_edge(*graph.snapshots[t], source, target)) continue;
    return t == read ? LinkMemory::in_last_step : LinkMemory::in_earlier_step;
  }
  return LinkMemory::never;
}

/// Draws the samples of one graph.
class PairDraw {
 public:
  PairDraw(const SnapshotGraph& graph, const LinkPredictionParameters& parameters, const StepSplit& split,
           std::uint64_t seed)
      : graph_(graph),
        p_(parameters),
        split_(split),
        seed_(seed),
        only_new_(p_.positives == "new" || (p_.positives == "auto" && !graph.repeats.empty())),
        pool_(make_pool()) {}

  TaskData draw() {
    data_.steps = graph_.steps() - 1;
    data_.train.arity = data_.validation.arity = data_.test.arity = 2;
    data_.notes.push_back("negatives=" + kind_);
    GrowingSamples trained;
    for (Step t = 0; t < split_.train; ++t) draw_step(t, t, trained);
    data_.train = trained.finish(2);
    if (data_.train.count() == 0) refuse_no_training();
    draw_part("validation", split_.train, split_.validation, data_.validation);
    draw_part("test", split_.train + split_.validation, split_.test, data_.test);
    return std::move(data_);
  }

 private:
  const Snapshot& snapshot(Step t) const { return *graph_.snapshots[t]; }

  [[noreturn]] void refuse_no_training() const {
    const std::string cause = outlying_times_note(graph_.provenance.notes);
    if (!cause.empty()) throw InvalidRequest("/workload/outliers", "no training pair was drawn: " + cause);
    throw InvalidRequest("/task/theta",
                         fmt::format("no training pair was drawn: theta = {} of the {}edges of each of the {} "
                                     "training steps rounds to none; set task.theta higher or take fewer, longer "
                                     "windows",
                                     p_.theta, only_new_ ? "new " : "", split_.train));
  }

  NegativePool make_pool() {
    kind_ = p_.negatives;
    if (kind_ == "auto") kind_ = graph_.side.empty() ? "any" : "sides";
    if (kind_ == "sides") {
      if (!graph_.side.empty()) return NegativePool(graph_.side);
      throw InvalidRequest("/task/negatives",
                           "this graph has no sides: some vertex is the source of one edge and the target of another, "
                           "or edges have no direction; take negatives=any or targets");
    }
    std::vector<VertexId> targets;
    std::vector<double> popular(graph_.vertices, 0.0);
    for (Step t = 0; kind_ == "targets" && t < split_.train; ++t) add_popularity(snapshot(t), popular);
    for (std::size_t v = 0; v < popular.size(); ++v) {
      if (popular[v] > 0) targets.push_back(static_cast<VertexId>(v));
    }
    return NegativePool(graph_.vertices, std::move(targets));
  }

  /// Pairs of step `drawn` of the graph, for the embeddings of step `read`.
  ChosenEdges draw_step(Step drawn, Step read, GrowingSamples& samples) const {
    const Snapshot* before = only_new_ && drawn > 0 ? &snapshot(drawn - 1) : nullptr;
    const auto key = static_cast<std::uint32_t>(drawn);
    ChosenEdges edges =
        choose_edges(snapshot(drawn), before, p_.theta, RandomStream(seed_, random_purpose::positives, key));
    const auto negatives =
        draw_negatives(snapshot(drawn), pool_, edges, RandomStream(seed_, random_purpose::negatives, key));
    if (negatives.size() < edges.pairs.size()) {
      throw InvalidRequest("/task/theta",
                           fmt::format("step {} has too few non-edges to draw {} negatives; take narrower windows, "
                                       "whose steps are less dense, or set task.theta lower, until the step has "
                                       "no positive",
                                       drawn, edges.pairs.size()));
    }
    for (const auto& [u, v] : edges.pairs) append(samples, u, v, read, 1);
    for (const auto& [u, v] : negatives) append(samples, u, v, read, 0);
    return edges;
  }

  /// The `count` steps from `first` on, each for the embeddings of the step before it.
  void draw_part(const std::string& part, std::int64_t first, std::int64_t count, Samples& samples) {
    if (count == 0) return;
    std::vector<StepEdges> steps;
    std::int64_t eligible = 0;
    GrowingSamples drawn;
    for (auto s = static_cast<Step>(first); s < first + count; ++s) {
      const std::int64_t at = drawn.count();
      const ChosenEdges edges = draw_step(s, s - 1, drawn);
      steps.push_back({s, at, static_cast<std::int64_t>(edges.pairs.size())});
      eligible += edges.eligible;
    }
    while (drawn.candidate_of.size() < drawn.step.size()) drawn.candidate_of.push_back(-1);
    if (p_.ranking_negatives > 0) rank(steps, drawn);
    samples = drawn.finish(2);
    add_memory(samples);
    explain(part, count, eligible, samples);
  }

  /// The positives of step `drawn`: samples [at, at + count).
  struct StepEdges {
    Step drawn;
    std::int64_t at, count;
  };

  void rank(const std::vector<StepEdges>& steps, GrowingSamples& samples) const {
    std::int64_t positives = 0, before = 0;
    for (const StepEdges& step : steps) positives += step.count;
    const std::int64_t ranked = std::min<std::int64_t>(positives, p_.ranked);
    const auto quota = [&](std::int64_t edges) {
      return static_cast<std::int64_t>(static_cast<__int128>(edges) * ranked / std::max<std::int64_t>(positives, 1));
    };
    for (const StepEdges& step : steps) {
      const std::int64_t count = quota(before + step.count) - quota(before);
      before += step.count;
      std::vector<VertexId> sources;
      std::vector<std::uint32_t> keys;
      for (std::int64_t k = step.at; k < step.at + count; ++k) {
        sources.push_back(samples.vertices[2 * static_cast<std::size_t>(k)]);
        keys.push_back(static_cast<std::uint32_t>(k));
      }
      const auto drawn = draw_candidates(snapshot(step.drawn), pool_, sources, keys,
                                         static_cast<std::uint64_t>(p_.ranking_negatives), seed_);
      for (std::size_t k = 0; k < drawn.size(); ++k) {
        for (const VertexId w : drawn[k]) {
          append(samples, sources[k], w, step.drawn - 1, 0);
          samples.candidate_of.push_back(static_cast<std::int32_t>(keys[k]));
        }
      }
    }
  }

  /// Baselines of pairs, and the memory of earlier steps about them. Pairs and candidates each ascend by step.
  void add_memory(Samples& samples) const {
    std::vector<double> popular(graph_.vertices, 0.0);
    static_assert(LinkMemory::never == 0);
    GrowingColumn<double> baseline, memory;
    baseline.resize(samples.step.size()), memory.resize(samples.step.size());
    for (const bool candidates : {false, true}) {
      std::fill(popular.begin(), popular.end(), 0.0);
      Step counted = 0;
      for (std::size_t i = 0; i < samples.step.size(); ++i) {
        if ((samples.candidate_of[i] >= 0) != candidates) continue;
        for (; counted <= samples.step[i]; ++counted) add_popularity(snapshot(counted), popular);
        const VertexId u = samples.vertices[2 * i], v = samples.vertices[2 * i + 1];
        baseline[i] = popular[v];
        if (!candidates) memory[i] = memory_of(graph_, samples.step[i], u, v);
      }
    }
    samples.baseline = baseline.finish(), samples.memory = memory.finish();
  }

  /// The reason why no pair of the part was drawn.
  std::string why_none(const std::string& part, std::int64_t steps, std::int64_t eligible) const {
    const std::string cause = outlying_times_note(graph_.provenance.notes);
    if (!cause.empty()) return fmt::format("no {} pair was drawn: {}", part, cause);
    const std::string one = only_new_ ? "new edge" : "edge", several = one + "s";
    const std::string why = fmt::format("no {} pair was drawn: ", part);
    if (eligible == 0 && steps == 1) return why + fmt::format("the {} step has no {}", part, one);
    if (eligible == 0) return why + fmt::format("none of the {} {} steps has a {}", steps, part, one);
    if (steps == 1) {
      return why + fmt::format("{} of {} {} rounds to none", p_.theta, eligible, eligible == 1 ? one : several);
    }
    return why + fmt::format("{} of the {} of each of the {} {} steps rounds to none", p_.theta, several, steps, part);
  }

  /// Notes for the row: samples that are missing or few.
  void explain(const std::string& part, std::int64_t steps, std::int64_t eligible, const Samples& samples) {
    const std::string prefix = part == "test" ? "" : part + "_";
    if (samples.count() == 0) {
      data_.absent[prefix] = why_none(part, steps, eligible);
      data_.notes.push_back(data_.absent[prefix]);
    } else if (p_.ranking_negatives > 0) {
      explain_ranking(part, prefix, samples);
    }
  }

  void explain_ranking(const std::string& part, const std::string& prefix, const Samples& samples) {
    const std::vector<std::int64_t> counts = candidate_counts(samples);
    const std::int64_t ranked =
        std::min<std::int64_t>(std::count(samples.label.begin(), samples.label.end(), 1), p_.ranked);
    const auto full = std::count_if(counts.begin(), counts.end(), [&](auto k) { return k >= p_.ranking_negatives; });
    const bool some_have_none = static_cast<std::int64_t>(counts.size()) < ranked;
    if (full == ranked) return;
    const auto least = std::min_element(counts.begin(), counts.end());
    data_.notes.push_back(fmt::format("{} of {} ranked {} edges have fewer than {} candidates, {} at least{}",
                                      ranked - full, ranked, part, p_.ranking_negatives, some_have_none ? 0 : *least,
                                      some_have_none ? "; those without any are left out of mrr" : ""));
    if (!counts.empty()) return;
    const std::string why = fmt::format("no ranked {} edge has a candidate: each source leads to every vertex", part);
    for (const std::string& name : ranking_metrics()) data_.absent[prefix + name] = why;
  }

  const SnapshotGraph& graph_;
  const LinkPredictionParameters& p_;
  const StepSplit split_;
  const std::uint64_t seed_;
  const bool only_new_;
  std::string kind_;  // of negatives, never auto
  const NegativePool pool_;
  TaskData data_;
};

}  // namespace

std::vector<std::int64_t> candidate_counts(const Samples& samples) {
  std::map<std::int32_t, std::int64_t> of_edge;  // few edges are ranked
  for (const std::int32_t k : samples.candidate_of) {
    if (k >= 0) ++of_edge[k];
  }
  std::vector<std::int64_t> counts;
  for (const auto& [edge, count] : of_edge) counts.push_back(count);
  return counts;
}

std::vector<std::string> ranking_metrics() {
  return {"mrr", "popularity_mrr", "mrr_chance", "ranking_candidates_mean", "ranking_candidates_min"};
}

TaskData draw_link_samples(const SnapshotGraph& graph, const LinkPredictionParameters& parameters,
                           const StepSplit& split, std::uint64_t seed) {
  return PairDraw(graph, parameters, split, seed).draw();
}

}  // namespace strobe
