// Samples on cells that exist, compared with a plain filter of the task's samples, and the notes of a case on them.
#include "harness/full_batch/plan/existing_samples.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "harness/full_batch/plan/data_plan.hpp"
#include "tests/workloads/graph/random_steps.hpp"

namespace strobe {
namespace {

std::unique_ptr<Task> make_task(const std::string& name, const Json& options = Json::object()) {
  return TaskRegistry::instance().find(name).value(options);
}

/// The content of a sample, without its position.
using Sample = std::tuple<Step, std::vector<VertexId>, std::int32_t, std::vector<double>>;

Sample sample_at(const Samples& samples, std::size_t i) {
  const std::size_t arity = samples.arity;
  std::vector<VertexId> vertices(samples.vertices.begin() + static_cast<std::ptrdiff_t>(i * arity),
                                 samples.vertices.begin() + static_cast<std::ptrdiff_t>((i + 1) * arity));
  std::vector<double> numbers;
  for (const auto* column : {&samples.value, &samples.weight, &samples.baseline, &samples.memory})
    if (!column->empty()) numbers.push_back(std::isnan((*column)[i]) ? -1e9 : (*column)[i]);
  return {samples.step[i], std::move(vertices), samples.label[i], std::move(numbers)};
}

bool reads_existing(const Samples& samples, std::size_t i, const Presence& presence) {
  bool all = true;
  const Sample sample = sample_at(samples, i);
  for (const VertexId v : std::get<1>(sample)) all = all && presence.exists(v, samples.step[i]);
  return all;
}

/// Fails unless `kept` has, in order, the samples of `drawn` that read existing cells, with candidates of the same
/// edges.
void expect_kept(const Samples& drawn, const Samples& kept, const Presence& presence) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < drawn.step.size(); ++i) {
    const std::int32_t edge = drawn.candidate_of.empty() ? -1 : drawn.candidate_of[i];
    if (!reads_existing(drawn, i, presence)) continue;
    if (edge >= 0 && !reads_existing(drawn, static_cast<std::size_t>(edge), presence)) continue;
    ASSERT_LT(next, kept.step.size());
    EXPECT_EQ(sample_at(kept, next), sample_at(drawn, i));
    if (edge >= 0) {
      EXPECT_EQ(sample_at(kept, static_cast<std::size_t>(kept.candidate_of[next])),
                sample_at(drawn, static_cast<std::size_t>(edge)));
    } else if (!drawn.candidate_of.empty()) {
      EXPECT_EQ(kept.candidate_of[next], -1);
    }
    ++next;
  }
  EXPECT_EQ(next, kept.step.size());
  EXPECT_EQ(kept.candidate_of.size(), drawn.candidate_of.empty() ? 0 : next);
}

TaskData draw_existing(const Task& task, const SnapshotGraph& graph, std::uint64_t seed, const Presence& presence,
                       const std::string& kind) {
  const auto draw = [&](const SnapshotGraph& on) { return task.draw(on, seed); };
  return draw_existing_samples(task, draw, graph, presence, kind);
}

TEST(ExistingSamples, AreThoseOfTheDrawThatReadExistingCells) {
  std::int64_t gone = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const SnapshotGraph graph = test::random_steps(14, 9, 30, seed);
    for (const char* kind : {"seen", "lifetime", "active"}) {
      const auto presence = presence_of(graph, kind);
      for (const auto& [name, options] :
           {std::pair{"link-prediction", Json{{"theta", 0.5}, {"split", "40/20/40"}, {"ranking_negatives", 4}}},
            std::pair{"vertex-regression", Json{{"cells", "all"}, {"split", "40/20/40"}}}}) {
        const TaskData drawn = make_task(name, options)->draw(graph, seed);
        for (const Samples* samples : {&drawn.train, &drawn.validation, &drawn.test}) {
          const Samples kept = keep_existing(*samples, *presence);
          expect_kept(*samples, kept, *presence);
          gone += samples->count() - kept.count();
        }
      }
    }
  }
  EXPECT_GT(gone, 1000) << "the graphs are dense";
}

/// Classes alternate; vertices of class 1 have fewer edges.
SnapshotGraph labelled(std::uint64_t seed) {
  SnapshotGraph graph = test::random_steps(14, 9, 12, seed);
  for (std::int64_t v = 0; v < graph.vertices; ++v) graph.vertex_label.push_back(v % 3 == 0 ? 1 : 0);
  return graph;
}

TEST(ExistingSamples, ClassesWeighTheSameAmongThoseThatAreLeft) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SnapshotGraph graph = labelled(seed);
    const auto presence = presence_of(graph, "active");
    const auto task = make_task("vertex-classification", {{"cells", "all"}});
    const TaskData left = draw_existing(*task, graph, seed, *presence, "active");
    const TaskData active = make_task("vertex-classification", {{"cells", "active"}})->draw(graph, seed);
    ASSERT_LT(left.train.count(), task->draw(graph, seed).train.count());
    EXPECT_EQ(left.train.vertices, active.train.vertices) << "an active cell is one with an edge";
    EXPECT_EQ(left.train.weight, active.train.weight);
    EXPECT_EQ(left.test.step, active.test.step);
    EXPECT_EQ(left.test.baseline, active.test.baseline);
    double of_class[2] = {0, 0};
    for (std::size_t i = 0; i < left.train.weight.size(); ++i) of_class[left.train.label[i]] += left.train.weight[i];
    EXPECT_NEAR(of_class[0], of_class[1], 1e-12);
  }
}

TEST(ExistingSamples, ClassesOfCellsKeepTheirOwn) {
  SnapshotGraph graph = labelled(3);
  for (std::int64_t t = 0; t < graph.steps(); ++t)
    for (std::int64_t v = 0; v < graph.vertices; ++v)
      graph.cell_label.push_back(static_cast<std::int8_t>((v + t) % 3 == 2 ? -1 : (v + t) % 3));
  const auto presence = presence_of(graph, "lifetime");
  const auto task = make_task("vertex-classification");
  const TaskData left = draw_existing(*task, graph, 1, *presence, "lifetime");
  std::set<std::pair<Step, VertexId>> expected, found;
  for (Step t = 0; t < graph.steps(); ++t)
    for (VertexId v = 0; v < graph.vertices; ++v)
      if (presence->exists(v, t) && (v + t) % 3 != 2) expected.insert({t, v});
  for (const Samples* samples : {&left.train, &left.test}) {
    for (std::size_t i = 0; i < samples->step.size(); ++i) {
      found.insert({samples->step[i], samples->vertices[i]});
      EXPECT_EQ(samples->label[i], (samples->vertices[i] + samples->step[i]) % 3);
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(ExistingSamples, MetricsThatTheyCannotGiveAreAbsentWithTheirReason) {
  int one_class = 0, both = 0;
  const auto task = make_task("link-prediction", {{"theta", 0.5}, {"ranking_negatives", 0}});
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const SnapshotGraph graph = test::random_steps(14, 6, 9, seed);
    const auto presence = presence_of(graph, "active");
    const TaskData drawn = task->draw(graph, seed);
    const Samples kept = keep_existing(drawn.test, *presence);
    if (kept.count() == 0 || keep_existing(drawn.train, *presence).count() == 0) {
      EXPECT_THROW(draw_existing(*task, graph, seed, *presence, "active"), InvalidRequest);
      continue;
    }
    const TaskData left = draw_existing(*task, graph, seed, *presence, "active");
    const bool mixed = std::set<std::int32_t>(kept.label.begin(), kept.label.end()).size() == 2;
    (mixed ? both : one_class) += 1;
    EXPECT_EQ(left.why_absent("auc").empty(), mixed);
    EXPECT_EQ(left.why_absent("accuracy"), "");
  }
  EXPECT_GT(one_class, 2);
  EXPECT_GT(both, 2);
}

DataPlan data_of(Json json) {
  json.emplace("model", "cd-gcn");
  const Case c = case_from_json(json, "");
  return load_data(c, choose_model(c), {});
}

bool any_note(const DataPlan& data, const std::string& fragment) {
  return std::any_of(data.notes.begin(), data.notes.end(),
                     [&](const std::string& note) { return note.find(fragment) != std::string::npos; });
}

TEST(ExistingSamples, ACaseCountsAndNamesWhatIsLeftOut) {
  const Json base = {{"workload", {{"name", "chess"}, {"window", "180d"}}}};
  const DataPlan all = data_of(base);
  EXPECT_EQ(all.presence, nullptr);
  EXPECT_FALSE(any_note(all, "presence"));
  for (const char* kind : {"seen", "lifetime", "active"}) {
    Json json = base;
    json["presence"] = kind;
    const DataPlan data = data_of(json);
    ASSERT_NE(data.presence, nullptr);
    EXPECT_EQ(data.graph->presence, data.presence);
    const std::int64_t gone = all.samples->train.count() - data.samples->train.count();
    ASSERT_GT(gone, 0);
    expect_kept(all.samples->train, data.samples->train, *data.presence);
    expect_kept(all.samples->test, data.samples->test, *data.presence);
    EXPECT_TRUE(any_note(data, "training samples read cells that do not exist and are left out"));
    EXPECT_EQ(any_note(data, "looks ahead"), std::string(kind) != "seen");
    std::int64_t cells = 0;
    for (Step t = 0; t < data.trained_steps; ++t)
      for (VertexId v = 0; v < data.graph->vertices; ++v) cells += data.presence->exists(v, t) ? 1 : 0;
    EXPECT_EQ(data.trained_cells(), static_cast<double>(cells));
    EXPECT_LT(data.trained_cells(), all.trained_cells());
    EXPECT_EQ(data.trained_edges, all.trained_edges);
    EXPECT_LT(data.graph->nonzeros(), all.graph->nonzeros()) << "self-loops of what does not exist";
  }
}

TEST(ExistingSamples, ATaskWithoutAnyIsRefused) {
  try {
    data_of({{"workload", {{"name", "ucsocial"}, {"window", "1d"}}}, {"presence", "active"}});
    FAIL() << "no test sample of this case reads existing cells only";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/presence");
    EXPECT_NE(error.message().find("all 204 test samples"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("take another presence"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace strobe
