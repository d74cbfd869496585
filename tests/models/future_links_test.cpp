// Future links for models of snapshots: which events are asked about, which step's embeddings score them, the
// candidates, and the metrics of the scores. Each is computed again by brute force on random streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/ops/ops.hpp"
#include "models/tasks/event_candidates.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/future_links/decoder.hpp"
#include "models/tasks/future_links/ranking.hpp"
#include "models/tasks/task.hpp"
#include "tests/models/differences.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

/// Events between users 0..7 and items 8..19, bursts of two at one time, with repeats.
EventGraph bursts(std::uint64_t seed, int count) {
  const RandomStream random(seed, random_purpose::test);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(4 * e + which), static_cast<std::uint64_t>(n)));
    };
    const int user = draw(0, 8);
    rows.emplace_back(user, draw(1, 2) > 0 ? 8 + user : 8 + draw(2, 12), static_cast<double>(e / 2));
  }
  return test::make_events(20, rows);
}

/// Ways to cut 300 events of 150 seconds.
std::vector<Windowing> cuts() {
  std::vector<Windowing> all(6);
  all[0].duration = "7";
  all[1].count = 30;
  all[2].events = 11;
  all[3].duration = "10", all[3].stride = "4";
  all[4].count = 25, all[4].cumulative = true;
  all[5].count = 40, all[5].edge_life = 3;
  return all;
}

/// The last step whose window ends by `time`, searched from the end.
Step complete_before(const SnapshotGraph& graph, double time) {
  for (Step t = static_cast<Step>(graph.steps()) - 1; t >= 0; --t) {
    if (graph.step_end[t] <= time) return t;
  }
  return -1;
}

std::unique_ptr<Task> links(const Json& options) {
  return TaskRegistry::instance().find("future-links").value(options);
}

struct Sample {
  Step step;
  VertexId source, target;
  std::int32_t label, candidate_of;
  friend bool operator==(const Sample&, const Sample&) = default;
};

std::vector<Sample> listed(const Samples& samples) {
  std::vector<Sample> all;
  for (std::size_t i = 0; i < samples.step.size(); ++i)
    all.push_back({samples.step[i], samples.vertices[2 * i], samples.vertices[2 * i + 1], samples.label[i],
                   samples.candidate_of[i]});
  return all;
}

/// Every judged event of [first, last) with its candidates, by the rule's words.
std::vector<Sample> judged(const EventGraph& events, const SnapshotGraph& graph, const EventCandidates& candidates,
                           EdgeId first, EdgeId last, EdgeId batch, std::int64_t wanted) {
  std::vector<Sample> all;
  for (EdgeId e = first; e < last; ++e) {
    const auto at = static_cast<std::size_t>(e), head = static_cast<std::size_t>(first + (e - first) / batch * batch);
    const Step step = complete_before(graph, events.time[head]);
    const auto own = static_cast<std::int32_t>(all.size());
    all.push_back({step, events.source[at], events.target[at], 1, -1});
    for (const VertexId c : candidates.evaluation(e, wanted)) all.push_back({step, events.source[at], c, 0, own});
  }
  return all;
}

TEST(FutureLinksOfSnapshots, AskAboutTheEventsOfModelsOfEventsWithCompleteStepsOnly) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph events = bursts(seed, 300);
    for (const Windowing& cut : cuts()) {
      const SnapshotGraph graph = make_snapshots(events, cut);
      const auto task = links({{"candidates", "5"}, {"batch", 20}});
      const TaskData data = task->draw_of_events(graph, events, seed);
      const EventTaskData of_events = EventTaskRegistry::instance()
                                          .find("future-links")
                                          .value({{"candidates", "5"}, {"batch", 20}})
                                          ->draw(events, seed);
      const TimeSplit split = of_events.split;
      EXPECT_EQ(listed(data.validation),
                judged(events, graph, *of_events.candidates, split.train_end, split.validation_end, 20, 5));
      EXPECT_EQ(listed(data.test),
                judged(events, graph, *of_events.candidates, split.validation_end, events.events(), 20, 5));
      EXPECT_EQ(data.rules, of_events.rules);
      EXPECT_LE(data.steps, graph.steps());
      // No step that scores an event has seen an event of its batch or a later one.
      for (const Samples* part : {&data.validation, &data.test}) {
        for (const Step step : part->step) ASSERT_GE(step, 0);
      }
    }
  }
}

TEST(FutureLinksOfSnapshots, TrainOnEveryEventAfterTheFirstStepAsOftenAsItHappens) {
  for (const std::uint64_t seed : {4, 5}) {
    const EventGraph events = bursts(seed, 300);
    for (const Windowing& cut : cuts()) {
      const SnapshotGraph graph = make_snapshots(events, cut);
      const TaskData data = links({{"training_negatives", 3}})->draw_of_events(graph, events, seed);
      const EventCandidates candidates(events, "auto", seed);
      std::map<std::tuple<Step, VertexId, VertexId, int>, double> expected;
      double left_out = 0;
      for (EdgeId e = 0; e < split_by_shares(events, 0.7, 0.15).train_end; ++e) {
        const std::size_t at = e;
        const Step step = complete_before(graph, events.time[at]);
        left_out += step < 0 ? 1 : 0;
        if (step < 0) continue;
        expected[{step, events.source[at], events.target[at], 1}] += 1;
        for (int n = 0; n < 3; ++n) expected[{step, events.source[at], candidates.negative(e, n, 0), 0}] += 1;
      }
      std::map<std::tuple<Step, VertexId, VertexId, int>, double> drawn;
      const Samples& train = data.train;
      for (std::size_t i = 0; i < train.step.size(); ++i)
        drawn[{train.step[i], train.vertices[2 * i], train.vertices[2 * i + 1], train.label[i]}] += train.weight[i];
      EXPECT_EQ(drawn, expected);
      EXPECT_EQ(train.step.size(), expected.size());
      EXPECT_EQ(data.notes.empty(), left_out == 0);
    }
  }
}

TEST(FutureLinksOfSnapshots, ScoresAreRankedEventByEvent) {
  const EventGraph events = bursts(7, 300);
  Windowing cut;
  cut.count = 30;
  const SnapshotGraph graph = make_snapshots(events, cut);
  for (const std::string ties : {"optimistic", "average", "pessimistic"}) {
    const auto task = links({{"candidates", "6"}, {"ties", ties}});
    const Samples test = task->draw_of_events(graph, events, 7).test;
    const RandomStream random(3, random_purpose::test);
    std::vector<double> outputs, score;
    for (std::size_t i = 0; i < test.step.size(); ++i) {
      score.push_back(static_cast<double>(random.below(i, 5)));  // many ties
      outputs.insert(outputs.end(), {0.5, 0.5 + score.back()});
    }
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < test.step.size(); ++i) {
      if (test.candidate_of[i] >= 0) continue;
      double rank = 1;
      for (std::size_t j = 0; j < test.step.size(); ++j) {
        if (test.candidate_of[j] != static_cast<std::int32_t>(i)) continue;
        rank += score[j] > score[i] ? 1 : 0;
        rank += score[j] == score[i] ? tie_share(tie_rule(ties)) : 0;
      }
      sum += 1 / rank, count += 1;
    }
    const auto metrics = task->metrics(outputs, test);
    EXPECT_NEAR(metrics.at("mrr"), sum / count, 1e-12);
    EXPECT_EQ(task->metric_samples(test).at("mrr"), static_cast<std::int64_t>(count));
    EXPECT_EQ(task->metric_samples(test).at("recency_mrr"), static_cast<std::int64_t>(count));
  }
}

TEST(FutureLinksOfSnapshots, BatchesThatBeginAmidAnInstantAreNoted) {
  const EventGraph events = bursts(8, 300);
  Windowing cut;
  cut.count = 30;
  const SnapshotGraph graph = make_snapshots(events, cut);
  for (const int batch : {4, 7}) {
    const TaskData data = links({{"batch", batch}})->draw_of_events(graph, events, 1);
    const TimeSplit split = split_by_shares(events, 0.7, 0.15);
    int begins = 0, amid = 0;
    for (const auto& [first, last] :
         {std::pair{split.train_end, split.validation_end}, {split.validation_end, events.events()}}) {
      for (EdgeId e = first; e < last; e += batch, ++begins)
        amid += events.time[e] == events.time[static_cast<std::size_t>(e) - 1] ? 1 : 0;
    }
    EXPECT_EQ(amid > 0, batch == 7) << "two events at a time";
    std::string notes;
    for (const std::string& note : data.notes) notes += note + "\n";
    const std::string words = std::to_string(amid) + " of " + std::to_string(begins) + " validation and test batches";
    EXPECT_EQ(notes.find(words) != std::string::npos, amid > 0) << notes;
    EXPECT_EQ(std::count(data.notes.begin(), data.notes.end(), ""), 0);
  }
}

TEST(FutureLinksOfSnapshots, RefuseSplitsThatCannotBeJudged) {
  const EventGraph events = bursts(1, 100);
  Windowing one;
  one.count = 1;
  const auto refused = [](const auto& call, const std::string& where, const std::string& words) {
    try {
      call();
      ADD_FAILURE() << "accepted: " << words;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), where);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const SnapshotGraph graph = make_snapshots(events, one);
  const auto on = [&](const Json& options, const EventGraph& stream) {
    return [&graph, options, &stream] { links(options)->draw_of_events(graph, stream, 1); };
  };
  refused(on(Json::object(), events), "/workload", "narrower windows");
  refused(on({{"kept_out", 0.1}}, events), "/task/kept_out", "models of events");
  for (const char* candidates : {"none", "0", "-1", "5x", ""})
    refused(on({{"candidates", candidates}}, events), "/task/candidates", "or all");
  refused([&] { links(Json::object())->draw(graph, 1); }, "/task", "link-prediction");
  refused([] { links({{"negatives", "targets"}})->count({}); }, "/task/negatives", "the shape");
}

/// The decoder written out for one pair.
double written_out(const Parameters& p, const Tensor& x, std::int64_t u, std::int64_t v) {
  const auto of = [&](const char* name) { return p.at(name)->value.template data<double>(); };
  const std::int64_t width = x.columns();
  double score = of("decoder.output_bias")[0];
  for (std::int64_t j = 0; j < width; ++j) {
    double hidden = of("decoder.source_bias")[j] + of("decoder.destination_bias")[j];
    for (std::int64_t i = 0; i < width; ++i)
      hidden += x.data<double>()[u * width + i] * of("decoder.source")[i * width + j] +
                x.data<double>()[v * width + i] * of("decoder.destination")[i * width + j];
    score += std::max(hidden, 0.0) * of("decoder.output")[j];
  }
  return score;
}

TEST(FutureLinksOfSnapshots, HaveTheDecoderOfModelsOfEvents) {
  const auto device = cpu();
  const auto task = links(Json::object());
  for (const std::int64_t width : {1, 4, 6}) {
    const Parameters parameters(*device, task->parameters(width), 5);
    const Tensor x = random_tensor(*device, 9, width, 2);
    const std::vector<std::int64_t> u = {0, 3, 3, 8, 1}, v = {1, 8, 2, 2, 0};
    const std::vector<Tensor> lists = {device->move_in(u.data(), 5, 1, ElementType::i64),
                                       device->move_in(v.data(), 5, 1, ElementType::i64)};
    Tape tape(*device, false);
    const Var logits = task->head(tape, parameters, Tape::constant(x), lists, 5);
    for (std::size_t i = 0; i < u.size(); ++i) {
      EXPECT_EQ(logits->value.data<double>()[2 * i], 0);
      EXPECT_NEAR(logits->value.data<double>()[2 * i + 1], written_out(parameters, x, u[i], v[i]), 1e-13);
    }
    check_gradients(*device, {x}, [&](Tape& recorded, const std::vector<Var>& inputs) {
      return task->head(recorded, parameters, inputs[0], lists, 5);
    });
  }
}

TEST(FutureLinksOfSnapshots, AModelIsComparedWithTheRuleAndTheBestPossible) {
  ReferenceLevels levels;
  const auto remarks = [&](const std::map<std::string, std::vector<double>>& metrics, SeenHistory seen = {}) {
    return remarks_on_levels(metrics, levels, seen);
  };
  EXPECT_NE(remarks({{"mrr", {0.2, 0.3}}, {"recency_mrr", {0.4, 0.4}}}).at(0).find("does not beat"), std::string::npos);
  EXPECT_TRUE(remarks({{"mrr", {0.2, 0.5}}, {"recency_mrr", {0.4, 0.4}}}).empty());
  EXPECT_NE(remarks({{"mrr", {0.5}}, {"recency_mrr", {0.4}}}, {true, false}).at(0).find("sees earlier events"),
            std::string::npos);
  EXPECT_TRUE(remarks({{"mrr", {0.5}}, {"recency_mrr", {0.4}}}, {true, true}).empty());
  EXPECT_TRUE(remarks({{"mrr", {0.2}}}).empty());
  const std::string popular = remarks({{"mrr", {0.5}}, {"recency_mrr", {0.4}}, {"popularity_mrr", {0.6}}}).at(0);
  EXPECT_NE(popular.find("does not beat"), std::string::npos) << "with new links another rule is the best";
  EXPECT_NE(popular.find("popularity rule"), std::string::npos) << popular;
  levels.best_possible["mrr"] = 0.45;
  EXPECT_NE(remarks({{"mrr", {0.5}}, {"recency_mrr", {0.4}}}).at(0).find("looks ahead"), std::string::npos);
  EXPECT_TRUE(remarks({{"mrr", {0.44}}, {"recency_mrr", {0.4}}}).empty());
}

}  // namespace
}  // namespace strobe
