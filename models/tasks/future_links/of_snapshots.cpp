// Prediction of future links by models of snapshots, judged like models of events: the same events, candidates, tie
// rule and batches of evaluation. A test event is scored with the embeddings of the last step that is over when its
// batch begins, so that a model knows nothing of the batch (Huang et al., UTG, 2024, score the event after the last
// complete snapshot). A training event is scored with those of the last step that is over before it. Training events
// with the same pair at the same step become one sample with their total weight.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "models/ops/ops.hpp"
#include "models/tasks/cut_instants.hpp"
#include "models/tasks/future_links/decoder.hpp"
#include "models/tasks/future_links/options.hpp"
#include "models/tasks/future_links/pair_history.hpp"
#include "models/tasks/future_links/ranking.hpp"
#include "models/tasks/future_links/without_model.hpp"
#include "models/tasks/growing_samples.hpp"
#include "models/tasks/protocols/protocol.hpp"
#include "models/tasks/task.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {
namespace {

/// The bytes of a sample on the host while it is drawn, placed and judged.
constexpr double bytes_per_sample = 100, bytes_per_code = 12;

/// The last step that is over at `time`; -1 = none.
Step last_complete_step(const SnapshotGraph& graph, double time) {
  const auto behind =
      std::partition_point(graph.step_end.begin(), graph.step_end.end(), [&](double end) { return end <= time; });
  return static_cast<Step>(behind - graph.step_end.begin()) - 1;
}

void add(VertexId source, VertexId target, Step step, bool is_event, std::int32_t candidate_of,
         GrowingSamples& samples) {
  samples.vertices.push_back(source);
  samples.vertices.push_back(target);
  samples.step.push_back(step);
  samples.label.push_back(is_event ? 1 : 0);
  samples.candidate_of.push_back(candidate_of);
}

void add_codes(const PairCodes& codes, GrowingSamples& samples) {
  for (const std::int32_t code : codes) samples.codes.push_back(code);
}

/// Draws the samples of one graph.
class Draw {
 public:
  Draw(const FutureLinksOptions& options, const SnapshotGraph& graph, const EventGraph& events, const TimeSplit& split,
       std::uint64_t seed)
      : options_(options),
        split_(split),
        wanted_(candidate_count(options.candidates)),
        graph_(graph),
        events_(events),
        candidates_(event_candidates(events, options, split, seed)),
        judged_(judged_flags(events, options, split)) {
    if (options.pair_history > 0) adjacency_ = make_time_csr(events);
  }

  TaskData all() {
    if (const auto given = given_candidates(options_, events_, split_, {})) {
      candidates_.give(given);
      wanted_ = given->most();
    }
    check_size();
    TaskData data;
    data.negatives_sha256 = candidates_.negatives_sha256();
    data.train = training(split_.train_end, data.notes);
    data.validation = judged("validation_", split_.train_end, split_.validation_end, data);
    data.test = judged("", split_.validation_end, events_.events(), data);
    note_cut_instants(events_, split_, options_.batch, data.notes);
    for (const Samples* samples : {&data.train, &data.validation, &data.test}) {
      for (const Step step : samples->step) data.steps = std::max<std::int64_t>(data.steps, step + 1);
    }
    return data;
  }

 private:
  double time(EdgeId event) const { return events_.time[event]; }
  VertexId source(EdgeId event) const { return events_.source[event]; }
  VertexId target(EdgeId event) const { return events_.target[event]; }

  /// The codes of the source of `event` with these vertices, or nothing. `first`: first event of its batch.
  std::vector<PairCodes> codes(EdgeId event, EdgeId first, const std::vector<VertexId>& others) const {
    if (options_.pair_history == 0) return {};
    const EdgeId before = options_.history == "event" ? events_before(events_, time(event)) : first;
    return pair_codes(events_, adjacency_, source(event), before, options_.pair_history, others);
  }

  /// Refuses what this machine could not hold, before anything is drawn.
  void check_size() const {
    const double pool = candidates_.pool().size();
    const double each = wanted_ < 0 ? pool : std::min(pool, static_cast<double>(wanted_) + 1);
    const EdgeId judged = judged_.empty() ? events_.events() - split_.train_end
                                          : std::count(judged_.begin() + split_.train_end, judged_.end(), 1);
    const double samples = each * static_cast<double>(judged);
    const double coded = options_.pair_history > 0 ? PairCodes{}.size() : 0;
    const double bytes = samples * (bytes_per_sample + coded * bytes_per_code), memory = usable_memory_bytes();
    if (bytes <= memory) return;
    throw InvalidRequest("/task/candidates",
                         fmt::format("ranking {} events among {:.0f} vertices each takes {}, this machine has {}; take "
                                     "a number of candidates, such as 49",
                                     format_count(judged), each, format_bytes(bytes), format_bytes(memory)));
  }

  static void check_trained(const GrowingSamples& samples, EdgeId end) {
    if (samples.count() > 0) return;
    throw InvalidRequest("/workload",
                         fmt::format("the first step is not over before the last of the {} training events, so no "
                                     "embedding could score one; take narrower windows",
                                     format_count(end)));
  }

  Samples training(EdgeId end, std::vector<std::string>& notes) const {
    GrowingSamples samples;
    // Steps ascend with the events, so only the pairs of the newest step are looked up.
    std::map<std::tuple<VertexId, VertexId, bool, PairCodes>, std::size_t> place;
    const auto put = [&](VertexId from, VertexId to, Step step, bool is_event, const PairCodes* codes) {
      if (samples.count() > 0 && samples.step[samples.step.size() - 1] != step) place.clear();
      const auto [position, is_new] =
          place.try_emplace({from, to, is_event, codes ? *codes : PairCodes{}}, samples.step.size());
      if (is_new) {
        add(from, to, step, is_event, -1, samples);
        if (codes) add_codes(*codes, samples);
        samples.weight.push_back(0);
      }
      samples.weight[position->second] += 1;
    };
    EdgeId early = 0;
    for (EdgeId e = 0; e < end; ++e) {
      const Step step = last_complete_step(graph_, time(e));
      if (step < 0) {
        ++early;
        continue;
      }
      std::vector<VertexId> ends{target(e)};
      for (std::int64_t n = 0; n < options_.training_negatives; ++n) ends.push_back(candidates_.negative(e, n, 0));
      const std::vector<PairCodes> of_pair = codes(e, e / options_.batch * options_.batch, ends);
      for (std::size_t i = 0; i < ends.size(); ++i)
        put(source(e), ends[i], step, i == 0, of_pair.empty() ? nullptr : &of_pair[i]);
    }
    check_trained(samples, end);
    if (early > 0) {
      notes.push_back(
          fmt::format("future-links: {} of {} training events lie in the first step, after no complete "
                      "one, and are not trained on",
                      format_count(early), format_count(end)));
    }
    return samples.finish(2);
  }

  /// The judged events of [first, last), each followed by its candidates, and what is reached on them without a model.
  Samples judged(const std::string& prefix, EdgeId first, EdgeId last, TaskData& data) const {
    GrowingSamples samples;
    for (EdgeId batch = first; batch < last; batch += options_.batch) {
      const Step step = last_complete_step(graph_, time(batch));
      for (EdgeId e = batch; e < std::min(last, batch + options_.batch); ++e) {
        if (!judged_.empty() && judged_[e] == 0) continue;
        const auto own = static_cast<std::int32_t>(samples.step.size());
        add(source(e), target(e), step, true, -1, samples);
        std::vector<VertexId> ends = candidates_.evaluation(e, wanted_);
        for (const VertexId candidate : ends) add(source(e), candidate, step, false, own, samples);
        ends.insert(ends.begin(), target(e));
        for (const PairCodes& pair : codes(e, batch, ends)) add_codes(pair, samples);
      }
    }
    if (samples.count() > 0) {
      const RankedEvents ranked{split_.train_end, first, last,    options_.batch,
                                wanted_,          {},    judged_, options_.history == "event"};
      judge_without_model(events_, candidates_, ranked, options_, prefix, data.rules, data.levels);
    }
    return samples.finish(2);
  }

  const FutureLinksOptions& options_;
  TimeSplit split_;
  std::int64_t wanted_;
  const SnapshotGraph& graph_;
  const EventGraph& events_;
  EventCandidates candidates_;
  std::vector<char> judged_;  // [E] or empty
  TimeCsr adjacency_;         // both ends of all events, where the decoder reads pairs' pasts
};

/// Scores event by event, the true destination's first.
EventOutputs by_event(const std::vector<double>& outputs, const Samples& samples) {
  std::vector<std::size_t> event(samples.step.size(), 0);
  EventOutputs scores;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const std::int32_t of = samples.candidate_of[i];
    event[i] = of < 0 ? scores.counts.size() : event[of];
    if (of < 0) scores.counts.push_back(0);
    ++scores.counts[event[i]];
  }
  scores.first.resize(scores.counts.size());
  std::exclusive_scan(scores.counts.begin(), scores.counts.end(), scores.first.begin(), std::int64_t{0});
  scores.values.resize(event.size());
  std::vector<std::int64_t> next = scores.first;
  for (std::size_t i = 0; i < event.size(); ++i) scores.values[next[event[i]]++] = outputs[2 * i + 1] - outputs[2 * i];
  return scores;
}

/// Events of the steps, their numbers added up: [T + 1]. Steps share the events of a shape as they share its edges. A
/// shape that knows no events has one for each edge.
std::vector<EdgeId> events_before_steps(const GraphStatistics& shape, const std::vector<std::int64_t>& edges) {
  const std::int64_t known = std::accumulate(edges.begin(), edges.end(), std::int64_t{0});
  const double each = known == 0 ? 0 : static_cast<double>(shape.events.value_or(known)) / static_cast<double>(known);
  std::vector<EdgeId> before(edges.size() + 1, 0);
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < edges.size(); ++t)
    before[t + 1] = std::llround(each * static_cast<double>(sum += edges[t]));
  return before;
}

/// Refuses options that need to know which vertices meet.
void check_shape(const FutureLinksOptions& options, const GraphStatistics& shape) {
  const auto refuse = [&](const std::string& option, const std::string& what, const std::string& instead) {
    throw InvalidRequest("/task/" + option,
                         fmt::format("the shape {} does not say {}; {}, or take a graph", shape.name, what, instead));
  };
  if (options.negatives != "auto" && options.negatives != "any")
    refuse("negatives", "which vertices are on which side", "leave negatives out");
  if (options.links != "all") refuse("links", "which events are the first of their pair", "take links=all");
  if (options.pair_history > 0) refuse("pair_history", "when a pair met", "take pair_history=0");
  if (options.protocol != "none") refuse("protocol", "which events there are", "leave protocol out");
}

/// The number of samples that `Draw` gives on a graph of this shape, whose steps follow each other. Events of a step
/// read the embeddings of the step before. Training events of a pair at a step are one sample. Negatives seldom are the
/// same pair.
TaskCounts counted_links(const FutureLinksOptions& options, const GraphStatistics& shape) {
  check_shape(options, shape);
  const std::vector<std::int64_t> edges = step_edges(shape);
  const std::vector<EdgeId> before = events_before_steps(shape, edges);
  const std::array<double, 3> shares = split_shares(options.split, "/task/split");
  const auto events = static_cast<double>(before.back());
  const EdgeId trained = std::llround(shares[0] * events), judged = std::llround((shares[0] + shares[1]) * events);
  const std::int64_t wanted = candidate_count(options.candidates), pool = shape.vertices.value_or(1);
  const std::int64_t candidates = wanted < 0 ? pool - 1 : std::min(pool - 1, wanted);
  TaskCounts counts{0, {2, 1.0, {}}, {2, 1.0, {}}};
  for (std::size_t t = 1; t < edges.size(); ++t) {
    const std::int64_t all = before[t + 1] - before[t];
    if (all == 0) continue;
    const auto read = static_cast<Step>(t) - 1;
    counts.steps = read + 1;
    const std::int64_t train = std::clamp<EdgeId>(trained - before[t], 0, all);
    const double part = static_cast<double>(train) / static_cast<double>(all);
    const std::int64_t pairs = std::llround(part * static_cast<double>(std::min(edges[t], all)));
    if (train > 0) counts.train.steps.push_back({read, pairs, train * options.training_negatives, 0});
    const std::int64_t test = before[t + 1] - std::clamp(judged, before[t], before[t + 1]);
    if (test > 0) counts.test.steps.push_back({read, test, test * candidates, 0});
  }
  return counts;
}

class FutureLinksOfSnapshots final : public Task {
 public:
  explicit FutureLinksOfSnapshots(const FutureLinksOptions& options) : options_(options) {
    candidate_count(options.candidates);
    if (averages_batches(options)) {
      throw InvalidRequest("/task/protocol",
                           fmt::format("protocol={} keeps vertices out of training, which models of snapshots cannot; "
                                       "take a model of events, or protocol=tgb",
                                       options.protocol));
    }
    if (options.kept_out == 0) return;
    throw InvalidRequest("/task/kept_out",
                         "kept_out is for models of events; steps hold the events of all vertices. Leave it out");
  }

  TaskData draw(const SnapshotGraph& graph, std::uint64_t) const override {
    throw InvalidRequest("/task", fmt::format("future-links is judged on events, and {} holds or makes steps; take "
                                              "link-prediction, or a workload of events",
                                              graph.provenance.name));
  }

  bool wants_events() const override { return true; }

  TaskData draw_of_events(const SnapshotGraph& graph, const EventGraph& events, std::uint64_t seed) const override {
    const std::array<double, 3> shares = split_shares(options_.split, "/task/split");
    const TimeSplit split = split_by_shares(events, shares[0], shares[1]);
    return Draw(options_, graph, events, split, seed).all();
  }

  TaskCounts count(const GraphStatistics& shape) const override { return counted_links(options_, shape); }

  std::vector<ParameterShape> parameters(std::int64_t width) const override {
    return link_decoder_parameters(width, options_.pair_history > 0);
  }

  /// Two columns, 0 and the score: their softmax is the score's logistic function.
  Var head(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
           std::int64_t count) const override {
    const Var scores = link_scores(tape, parameters, embeddings, lists, count);
    const Tensor spread = tape.device().allocate(1, 2, scores->value.type());
    for (const std::int64_t column : {0, 1})
      tape.device().run(Fill{spread.view(column, 1, 1), static_cast<double>(column)});
    return dense(tape, scores, Tape::constant(spread), nullptr, Activation::none);
  }

  std::int64_t classes() const override { return 2; }

  std::vector<double> scores(const std::vector<double>& outputs, const Samples& judged) const override {
    const EventOutputs all = by_event(outputs, judged);
    std::vector<double> flat;
    for (std::size_t i = 0; i < all.counts.size(); ++i) append_scores(all, i, flat);
    return flat;
  }

  std::map<std::string, double> metrics(const std::vector<double>& outputs, const Samples& judged) const override {
    const EventOutputs scores = by_event(outputs, judged);
    std::vector<std::size_t> all(scores.counts.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return link_metrics(scores, all, "", tie_rule(options_.ties));
  }

  std::vector<std::string> metric_names() const override { return {"mrr", "ap", "auc"}; }

  std::map<std::string, std::int64_t> metric_samples(const Samples& judged) const override {
    const auto events = std::count(judged.candidate_of.begin(), judged.candidate_of.end(), -1);
    std::map<std::string, std::int64_t> samples;
    for (const std::string& name : metric_names()) samples[name] = events;
    for (const std::string& name : rule_names()) samples[name] = events;
    return samples;
  }

  std::int64_t evaluation_batch() const override { return options_.batch; }

  std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& metrics,
                                   const ReferenceLevels& levels) const override {
    return remarks_on_levels(metrics, levels, {false, options_.history == "event"});
  }

 private:
  FutureLinksOptions options_;
};

const Register<TaskTag> future_links_task_registered{{
    "future-links",
    "events to come: each destination among candidates, compared with rules that learn nothing",
    "Rossi et al., Temporal Graph Networks, 2020; Huang et al., Temporal Graph Benchmark, NeurIPS'23",
    future_links_fields(),
    TaskTag::Value(
        [](const Json& parameters) -> std::unique_ptr<Task> {
          return std::make_unique<FutureLinksOfSnapshots>(future_links_options(parameters));
        },
        {"snapshots", "events"}),
    {},
}};

}  // namespace
}  // namespace strobe
