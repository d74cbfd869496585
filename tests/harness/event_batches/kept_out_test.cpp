// The inductive split: training never sees kept-out vertices and their events. An evaluation replays all events, and
// its metrics of kept-out vertices follow from its scores.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "backends/communicator.hpp"
#include "core/errors.hpp"
#include "harness/event_batches/trainer/evaluation_pass.hpp"
#include "harness/schedule/host_values.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "workloads/graph/event_data.hpp"

namespace strobe {
namespace {

using event_test::event_case;

const Json keeping_out = {{"kept_out", 0.15}};

/// The lines of a file, the header first.
std::vector<std::string> left_lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string all_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Numbers of the events [first, last) that have a kept-out end, or (`wanted` false) have none.
std::vector<EdgeId> touching(const EventCase& c, EdgeId first, EdgeId last, bool wanted) {
  const EventGraph& graph = *c.data.graph;
  std::vector<EdgeId> found;
  for (EdgeId e = first; e < last; ++e) {
    bool touches = false;
    for (const VertexId v : {graph.source[e], graph.target[e]}) touches = touches || c.data.task->kept_out[v] == 1;
    if (touches == wanted) found.push_back(e);
  }
  return found;
}

std::unique_ptr<Device> cpu_of_case(const EventCase& c) {
  DeviceRequest request;
  request.precision = c.fp64() ? ElementType::f64 : ElementType::f32;
  return DeviceRegistry::instance().find("cpu").value(request);
}

const std::vector<Json>& models_of_events() {
  static const std::vector<Json> models = {{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}},
                                           {{"name", "tgn-attn"},
                                            {"memory", 6},
                                            {"time", 4},
                                            {"neighbours", 3},
                                            {"sampling", "uniform"},
                                            {"dropout", 0.2},
                                            {"output", "merge"},
                                            {"mail_dt", "event_minus_memory"}},
                                           {{"name", "jodie"}, {"memory", 6}, {"time", 4}},
                                           {{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}};
  return models;
}

/// The vertices and events of a batch, in any role.
struct Met {
  std::set<std::int64_t> vertices;
  std::set<EdgeId> events;

  void add(const EventData& data, const BatchDraw& drawn) {
    vertices.insert(drawn.vertices.begin(), drawn.vertices.end());
    vertices.insert(drawn.written.begin(), drawn.written.end());
    for (const EdgeId e : drawn.mail_events) events.insert(data.number(e));
    for (const DrawnLevel& level : drawn.levels) {
      for (const EdgeId e : level.events) events.insert(data.number(e));
    }
    for (EdgeId e = drawn.request.first; e < drawn.request.first + drawn.request.count; ++e)
      events.insert(data.number(e));
  }
};

/// The vertices and events of two sweeps over `data`.
Met met_in(const EventCase& c, const EventData& data) {
  BatchDrawer drawer(c, data);
  Workers workers(1);
  Met met;
  for (const std::int64_t group : {0, 1}) {
    MemoryClock clock(data.graph->vertices);
    for (EdgeId first = 0; first < data.task->split.train_end; first += 32) {
      BatchDraw drawn;
      const std::int64_t count = std::min<std::int64_t>(32, data.task->split.train_end - first);
      drawer.draw({first, count, first, true, group, 0, true}, clock, workers, drawn);
      met.add(data, drawn);
    }
  }
  return met;
}

TEST(KeptOut, TrainingMeetsNoneOfTheVerticesAndNoneOfTheirEvents) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::string visits = event_test::random_visits(folder, seed, 400);
    for (const Json& model : models_of_events()) {
      const EventCase c =
          begin_event_case(event_case(visits, {{"task", keeping_out}, {"model", model}, {"seed", seed}}));
      const auto wrong = [&](const Met& met) {
        return std::count_if(met.vertices.begin(), met.vertices.end(),
                             [&](std::int64_t v) { return c.data.task->kept_out[v] != 0; });
      };
      const std::vector<EdgeId> left = touching(c, 0, c.data.task->split.train_end, false);
      ASSERT_LT(left.size(), static_cast<std::size_t>(c.data.task->split.train_end));
      ASSERT_EQ(c.training_events(), static_cast<EdgeId>(left.size()));
      const Met met = met_in(c, c.training);
      EXPECT_EQ(wrong(met), 0) << model.dump() << " seed " << seed;
      EXPECT_TRUE(std::equal(met.events.begin(), met.events.end(), left.begin(), left.end())) << model.dump();
      EXPECT_GT(wrong(met_in(c, c.data)), 0) << "a sweep over all events would meet them";
    }
  }
}

TEST(KeptOut, FeaturesInTrainingAreThoseOfTheEventsOwnNumbers) {
  const test::TemporaryFolder folder;
  const Json generated = {{"name", "bursty_events"}, {"vertices", 60}, {"events", 400}, {"edge_features", 3}};
  for (const Json& workload : {generated, Json{{"name", event_test::random_visits(folder, 4, 400)}}}) {
    const EventCase c = begin_event_case(
        event_case("ucsocial", {{"workload", workload}, {"task", keeping_out}, {"model", models_of_events()[0]}}));
    const std::vector<EdgeId> left = touching(c, 0, c.data.task->split.train_end, false);
    ASSERT_GE(left.size(), 132u) << "the batch below is one of training";
    ASSERT_GT(left[100], 100) << "events before this one are left out";
    const auto device = cpu_of_case(c);
    BatchDrawer drawer(c, c.training);
    BatchLoader loader(c.training, *device);
    MemoryClock clock(c.training.graph->vertices);
    Workers workers(1);
    const auto drawn = std::make_shared<BatchDraw>();
    drawer.draw({100, 32, 100, true, 0, 0, true}, clock, workers, *drawn);
    const BatchInput input = loader.load(drawn);
    input.await_on(*device);
    const std::vector<double> rows = host_values(*device, input.embed.levels[0].edge);
    const std::vector<EdgeId>& events = drawn->levels[0].events;
    const std::size_t width = c.data.graph->edge_feature_width;
    ASSERT_EQ(rows.size(), events.size() * width);
    ASSERT_GT(events.size(), 50u);
    std::vector<float> wanted(width);
    for (std::size_t s = 0; s < events.size(); ++s) {
      edge_feature_row(*c.data.graph, left[events[s]], wanted.data());
      for (std::size_t f = 0; f < width; ++f) ASSERT_EQ(rows[s * width + f], static_cast<double>(wanted[f]));
    }
  }
}

/// The file of `visits` without events of kept-out vertices, in training and later, and a case on it with the same
/// parts as `c`.
EventCase case_without(const EventCase& c, const std::string& visits, const test::TemporaryFolder& folder,
                       const Json& model) {
  const std::vector<std::string> lines = left_lines_of(visits);
  const TimeSplit& split = c.data.task->split;
  std::vector<std::string> kept{lines.front()};
  std::array<double, 3> parts{};
  for (const EdgeId e : touching(c, 0, c.data.graph->events(), false)) {
    kept.push_back(lines[static_cast<std::size_t>(e) + 1]);
    parts[e < split.train_end ? 0 : e < split.validation_end ? 1 : 2] += 1;
  }
  const double all = parts[0] + parts[1] + parts[2];
  const std::string shares = fmt::format("{:.15g}/{:.15g}/{:.15g}", parts[0] / all, parts[1] / all, parts[2] / all);
  return begin_event_case(event_case(folder.write("without.csv", joined(kept)),
                                     {{"task", {{"split", shares}}}, {"model", model}, {"seed", c.request.seed}}));
}

/// Negatives of training, as numbers of items in the file. Items are numbered after the last user.
std::vector<std::int64_t> training_negatives(const EventCase& c) {
  std::vector<std::int64_t> all;
  const EventGraph& graph = *c.data.graph;
  const VertexId last_user = *std::max_element(graph.source.begin(), graph.source.end());
  const std::int64_t first_item = graph.original_id[last_user] + 1;
  for (EdgeId e = 0; e < c.training_events(); ++e) {
    for (const std::int64_t group : {0, 1, 2}) {
      const VertexId v = c.training.task->candidates->negative(e, 0, group);
      all.push_back(graph.original_id[v] - first_item);
    }
  }
  return all;
}

TEST(KeptOut, TrainsAsOnAFileThatNeverHadTheirEvents) {
  const test::TemporaryFolder folder;
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= 8 && checked < 3; ++seed) {
    const std::string visits = event_test::random_visits(folder, seed, 500, 14, 16);
    const EventCase first = begin_event_case(event_case(visits, {{"task", keeping_out}, {"seed", seed}}));
    if (first.training.number(0) != 0) continue;  // the other file would lack the event at which times begin
    ++checked;
    for (const Json& model : models_of_events()) {
      const Json changes = {{"task", keeping_out}, {"model", model}, {"seed", seed}};
      const EventCase whole = begin_event_case(event_case(visits, changes));
      const EventCase without = case_without(whole, visits, folder, model);
      ASSERT_EQ(without.training_events(), whole.training_events());
      ASSERT_EQ(training_negatives(without), training_negatives(whole)) << "the same vertices may be drawn";
      const CaseResult a = run_case(whole.request), b = run_case(without.request);
      ASSERT_EQ(a.status, "ok") << a.reason;
      EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch) << model.dump() << " seed " << seed;
    }
  }
  EXPECT_EQ(checked, 3);
}

TEST(KeptOut, WhatTheirTrainingEventsAreLikeChangesNeitherLossesNorWeights) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::string visits = event_test::random_visits(folder, seed, 400);
    const EventCase c = begin_event_case(event_case(visits, {{"task", keeping_out}, {"seed", seed}}));
    std::vector<std::string> lines = left_lines_of(visits);
    int changed = 0;
    for (const EdgeId e : touching(c, 30, c.data.task->split.train_end, true)) {  // earlier events name every vertex
      std::string& line = lines[static_cast<std::size_t>(e) + 1];
      std::array<int, 3> head{};
      char comma = 0;
      std::istringstream(line) >> head[0] >> comma >> head[1] >> comma >> head[2];
      const std::size_t source = c.data.graph->source[e];
      // The kept-out end stays, and the other end changes.
      (c.data.task->kept_out[source] != 0 ? head[1] : head[0]) = (head[0] * 5 + head[1] + 3) % 20;
      line = fmt::format("{},{},{},1,7.5,-3.25", head[0], head[1], head[2]);
      ++changed;
    }
    ASSERT_GT(changed, 10);
    const std::string other = folder.write("changed.csv", joined(lines));
    ModelOutputs before, after;
    before.weights = folder.file("before.safetensors"), after.weights = folder.file("after.safetensors");
    before.files["embeddings"] = folder.file("before.npy"), after.files["embeddings"] = folder.file("after.npy");
    const CaseResult a = run_case(event_case(visits, {{"task", keeping_out}, {"seed", seed}}), nullptr, before);
    const CaseResult b = run_case(event_case(other, {{"task", keeping_out}, {"seed", seed}}), nullptr, after);
    EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch) << "seed " << seed;
    EXPECT_TRUE(all_of(before.weights) == all_of(after.weights)) << "seed " << seed;
    EXPECT_FALSE(all_of(before.files["embeddings"]) == all_of(after.files["embeddings"]))
        << "an evaluation replays them";
  }
}

TEST(KeptOut, InductiveMetricsAreAddedAndOthersStay) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 5, 400);
  const EventCase plain = begin_event_case(event_case(visits)),
                  split = begin_event_case(event_case(visits, {{"task", keeping_out}}));
  const auto device = cpu_of_case(plain);
  const Parameters parameters(*device, plain.parameters, 3);
  const auto usual = EvaluationPass(plain, *device).metrics(parameters),
             with = EvaluationPass(split, *device).metrics(parameters);
  EXPECT_EQ(with.size(), 2 * usual.size());
  for (const auto& [name, value] : usual) {
    EXPECT_EQ(with.at(name), value) << name;
    const bool validation = name.rfind("validation_", 0) == 0;
    EXPECT_EQ(with.count(validation ? "validation_inductive_" + name.substr(11) : "inductive_" + name), 1u) << name;
  }
}

/// Scores of an event's destination and of its first negative, from dumped embeddings and the decoder of
/// docs/reference/event_tasks.md.
class DecodedPairs {
 public:
  DecodedPairs(Device& device, const Parameters& parameters, std::vector<double> embeddings, std::int64_t width)
      : device_(device), parameters_(parameters), z_(std::move(embeddings)), width_(static_cast<std::size_t>(width)) {}

  double score(EdgeId event, std::size_t candidate) const {
    const std::vector<double> output = at("decoder.output");
    const auto source = dense("decoder.source", event, 0), other = dense("decoder.destination", event, 1 + candidate);
    double score = at("decoder.output_bias").front();
    for (std::size_t f = 0; f < width_; ++f) score += std::max(source[f] + other[f], 0.0) * output[f];
    return score;
  }

 private:
  std::vector<double> at(const std::string& name) const { return host_values(device_, parameters_.at(name)->value); }
  std::vector<double> dense(const std::string& name, EdgeId event, std::size_t which) const {
    const std::vector<double> weight = at(name);
    std::vector<double> out = at(name + "_bias");
    const double* const row = z_.data() + (3 * static_cast<std::size_t>(event) + which) * width_;
    for (std::size_t i = 0; i < width_; ++i) {
      for (std::size_t f = 0; f < width_; ++f) out[f] += row[i] * weight[i * width_ + f];
    }
    return out;
  }

  Device& device_;
  const Parameters& parameters_;
  std::vector<double> z_;  // [E, 3, F]
  std::size_t width_;
};

TEST(KeptOut, InductiveMetricsAreThoseOfTheScoresOfTheirEvents) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t seed : {1, 2}) {
    Json task = keeping_out;
    task["candidates"] = "1";
    const EventCase c =
        begin_event_case(event_case(event_test::random_visits(folder, seed, 400), {{"task", task}, {"seed", seed}}));
    const auto device = cpu_of_case(c);
    const Parameters parameters(*device, c.parameters, seed);
    EvaluationPass replay(c, *device);
    replay.keep({"embeddings"});
    const auto metrics = replay.metrics_and_views(parameters);
    const auto& kept = replay.views(parameters).embeddings;
    const DecodedPairs pairs(*device, parameters, {kept.begin(), kept.end()}, c.model->traits().embedding);
    const TimeSplit& split = c.data.task->split;
    const auto check = [&](const std::string& prefix, EdgeId first, EdgeId last) {
      const std::vector<EdgeId> events = touching(c, first, last, true);
      ASSERT_GT(events.size(), 5u);
      ASSERT_LT(events.size(), static_cast<std::size_t>(last - first));
      double ranks = 0, wins = 0;
      for (const EdgeId e : events) {
        ranks += pairs.score(e, 0) > pairs.score(e, 1) ? 1.0 : 0.5;
        for (const EdgeId other : events) wins += pairs.score(e, 0) > pairs.score(other, 1) ? 1 : 0;
      }
      const double count = events.size();
      EXPECT_NEAR(metrics.at(prefix + "inductive_mrr"), ranks / count, 1e-12);
      EXPECT_NEAR(metrics.at(prefix + "inductive_auc"), wins / count / count, 1e-12);
      EXPECT_EQ(c.judged_events("inductive_mrr", !prefix.empty()), static_cast<std::int64_t>(events.size()));
    };
    check("validation_", split.train_end, split.validation_end);
    check("", split.validation_end, c.data.graph->events());
  }
}

TEST(KeptOut, AStoppedRunGoesOnBitForBitAndSamplesAreOfTrainedEvents) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 6, 400);
  const auto run = [&](int epochs, const ModelOutputs& outputs) {
    return run_case(event_case(visits, {{"task", keeping_out}, {"epochs", epochs}}), nullptr, outputs);
  };
  ModelOutputs outputs, samples;
  samples.files["samples"] = folder.file("samples.csv");
  outputs.checkpoint = folder.file("state.safetensors");
  const CaseResult whole = run(4, samples);
  run(2, outputs);
  outputs.resume_training = true;
  const CaseResult rest = run(4, outputs);
  EXPECT_EQ(whole.loss.per_epoch, rest.loss.per_epoch);
  EXPECT_EQ(whole.metrics.at("inductive_mrr").per_epoch.back(), rest.metrics.at("inductive_mrr").per_epoch.back());

  const EventCase c = begin_event_case(event_case(visits, {{"task", keeping_out}}));
  std::set<EdgeId> listed;
  const auto lines = left_lines_of(samples.files["samples"]);
  for (const std::string& line : lines) {
    if (line.find(",training,") != std::string::npos) listed.insert(std::stoll(line));
  }
  const std::vector<EdgeId> left = touching(c, 0, c.data.task->split.train_end, false);
  EXPECT_TRUE(std::equal(listed.begin(), listed.end(), left.begin(), left.end()));
}

TEST(KeptOut, WhatCannotBeIsRefusedWithWhatToChange) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 1, 400);
  const auto refused = [&](const Json& changes, const std::string& where, const std::string& words) {
    try {
      run_case(event_case(visits, changes));
      FAIL() << "not refused: " << changes.dump();
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), where) << error.message();
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  };
  refused({{"task", {{"kept_out", 0.001}}}}, "/task/kept_out", "take at least");
  refused({{"task", {{"kept_out", 0.99}}}}, "/task/kept_out", "take a smaller share");
  refused({{"task", {{"kept_out", 1.0}}}}, "/task/kept_out", "between 0 and");
  const EventCase c = begin_event_case(event_case(visits, {{"task", keeping_out}}));
  refused({{"task", keeping_out}, {"strategy", {{"batch", c.training_events() + 1}}}}, "/strategy/batch",
          "keep fewer vertices out");
  EXPECT_NO_THROW(
      begin_event_case(event_case(visits, {{"task", keeping_out}, {"strategy", {{"batch", c.training_events()}}}})));
  refused({{"until", "inductive_mrr=0.5"}}, "/until", "inductive_mrr");
  const CaseResult result = run_case(event_case(visits, {{"task", keeping_out}, {"until", "inductive_mrr=0.0001"}}));
  EXPECT_EQ(result.loss.per_epoch.size(), 1u) << "the rule holds at once";
}

}  // namespace
}  // namespace strobe
