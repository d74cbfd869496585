// Outputs of a run on a model of events, other than its metrics: memory, embeddings and ranks of the evaluation pass.
// The numbers of events and vertices join them with each other and with dumped samples.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "harness/event_batches/trainer/evaluation_pass.hpp"
#include "harness/schedule/host_values.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;

std::unique_ptr<Device> cpu_of(const EventCase& c) {
  DeviceRequest request;
  request.precision = c.fp64() ? ElementType::f64 : ElementType::f32;
  return DeviceRegistry::instance().find("cpu").value(request);
}

const Json& shown_models() {
  static const Json models = {
      {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}},
      {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}, {"mail_dt", "event_minus_memory"}},
      {{"name", "jodie"}, {"memory", 6}, {"time", 4}}};
  return models;
}

/// A plain evaluation: batches begin at 0, at the validation events and at the test events.
struct WrittenOut {
  std::vector<double> ranks, memory, mails;
  MemoryClock clock{0};
};

WrittenOut evaluate(const EventCase& c, Device& device, const Parameters& parameters, std::vector<EdgeId> begins) {
  WrittenOut seen;
  EventWalk walk(c, c.data, device);
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(c.request.seed);
  pass.training = false;
  const EventTaskData& task = *c.data.task;
  begins.push_back(c.data.graph->events());
  for (std::size_t part = 0; part + 1 < begins.size(); ++part) {
    for (EdgeId at = begins[part]; at < begins[part + 1]; at += task.evaluation_batch) {
      const std::int64_t count = std::min(task.evaluation_batch, begins[part + 1] - at);
      if (at >= task.split.train_end) {
        Tape tape(device, false);
        const PendingDraw draw = walk.start_draw({at, count, at, true, -1, task.evaluation_candidates, false});
        const Tensor scores = walk.pass(tape, parameters, draw, pass).outputs->value;
        EventOutputs outputs{host_values(device, scores), {}, draw.drawn->counts};
        for (std::int64_t i = 0; i < count; ++i) outputs.first.push_back(i * scores.columns());
        for (const double rank : c.task->ranks(outputs)) seen.ranks.push_back(rank);
      }
      Tape tape(device, false);
      const PendingDraw draw = walk.start_draw({at, count, at, false, -1, 0, true});
      walk.write(walk.pass(tape, parameters, draw, pass));
    }
  }
  seen.memory = walk.memory()->memory(), seen.mails = walk.memory()->mails(), seen.clock = walk.clock();
  return seen;
}

TEST(EventViews, MemoryAndRanksAreThoseOfTheEvaluationBitForBit) {
  const test::TemporaryFolder folder;
  int other_batches_differ = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::string visits = event_test::random_visits(folder, seed, 333 + static_cast<int>(seed));
    for (const Json& model : shown_models()) {
      for (const int batch : {1, 7, 20}) {
        const EventCase c =
            begin_event_case(event_case(visits, {{"model", model}, {"seed", seed}, {"task", {{"batch", batch}}}}));
        const auto device = cpu_of(c);
        const Parameters parameters(*device, c.parameters, seed);
        EvaluationPass replay(c, *device);
        replay.keep({"embeddings", "memory", "ranks"});
        const auto metrics = replay.metrics_and_views(parameters);
        const EventViews& views = replay.views(parameters);
        const TimeSplit& split = c.data.task->split;
        const WrittenOut plain = evaluate(c, *device, parameters, {0, split.train_end, split.validation_end});
        EXPECT_EQ(views.ranks, plain.ranks);
        ASSERT_EQ(views.memory.size(), 5u);
        EXPECT_EQ(views.memory[0].values, plain.memory) << model.dump() << " batch " << batch;
        EXPECT_EQ(views.memory[1].values, plain.clock.updated);
        EXPECT_EQ(views.memory[2].values, plain.mails);
        EXPECT_EQ(views.memory[3].values, plain.clock.mail_time);
        EXPECT_TRUE(std::equal(plain.clock.mail_event.begin(), plain.clock.mail_event.end(),
                               views.memory[4].values.begin(), views.memory[4].values.end()));
        EXPECT_EQ(EvaluationPass(c, *device).metrics(parameters), metrics) << "what is kept changes nothing";
        const double tested = c.data.graph->events() - split.validation_end;
        double mrr = 0;
        for (std::size_t i = split.validation_end - split.train_end; i < views.ranks.size(); ++i)
          mrr += 1 / views.ranks[i] / tested;
        EXPECT_NEAR(metrics.at("mrr"), mrr, 1e-12);
        other_batches_differ += evaluate(c, *device, parameters, {0}).memory == plain.memory ? 0 : 1;
      }
    }
  }
  EXPECT_GT(other_batches_differ, 10) << "batches that are counted from event 0 leave another memory";
}

/// The file of --dump-samples: the vertex at place 0 of group 0 or of the candidates, by event.
std::map<EdgeId, VertexId> first_negatives(const std::string& path) {
  std::map<EdgeId, VertexId> first;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line.substr(0, 29), "event,part,group,place,vertex");
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (cells.at(3) == "0" && (cells.at(2) == "0" || cells.at(2) == "-1")) {
      EXPECT_TRUE(first.emplace(std::stoll(cells.at(0)), std::stoi(cells.at(4))).second) << line;
    }
  }
  return first;
}

/// Embeddings of every event's source, destination and of the vertex that `others` names, in batches of an evaluation.
std::vector<double> embeddings_beside(const EventCase& c, Device& device, const Parameters& parameters,
                                      const std::map<EdgeId, VertexId>& others) {
  std::vector<double> all;
  EventWalk walk(c, c.data, device);
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(c.request.seed);
  pass.training = false;
  const TimeSplit& split = c.data.task->split;
  const auto width = c.model->traits().embedding;
  const auto end_of = [&](EdgeId e) {
    const EdgeId end = e < split.train_end        ? split.train_end
                       : e < split.validation_end ? split.validation_end
                                                  : c.data.graph->events();
    return std::min(end, e + c.data.task->evaluation_batch);
  };
  for (EdgeId batch = 0; batch < c.data.graph->events(); batch = end_of(batch)) {
    for (EdgeId e = batch; e < end_of(batch); ++e) {
      const auto other = others.find(e);
      const auto given = std::make_shared<std::vector<VertexId>>(1, other == others.end() ? -1 : other->second);
      Tape tape(device, false);
      const PendingDraw draw = walk.start_draw({e, 1, batch, true, -1, 1, false, 0, given});
      const std::vector<double> rows = host_values(device, walk.pass(tape, parameters, draw, pass).embeddings->value);
      all.insert(all.end(), rows.begin(), rows.end());
      if (other == others.end()) all.insert(all.end(), static_cast<std::size_t>(width), 0.0);
    }
    Tape tape(device, false);
    const PendingDraw draw = walk.start_draw({batch, end_of(batch) - batch, batch, false, -1, 0, true});
    walk.write(walk.pass(tape, parameters, draw, pass));
  }
  return all;
}

TEST(EventViews, TheNegativeInEmbeddingsIsTheFirstThatIsDumped) {
  const test::TemporaryFolder folder;
  for (const double kept_out : {0.0, 0.15}) {
    for (const Json& model : shown_models()) {
      const std::string visits = event_test::random_visits(folder, 4, 301);
      const EventCase c = begin_event_case(event_case(
          visits, {{"model", model}, {"task", {{"training_negatives", 2}, {"batch", 17}, {"kept_out", kept_out}}}}));
      ModelOutputs outputs;
      outputs.files["samples"] = folder.file("samples.csv");
      outputs.files["embeddings"] = folder.file("z.npy");
      ASSERT_EQ(run_case(c.request, nullptr, outputs).status, "ok");
      const auto others = first_negatives(outputs.files["samples"]);
      const std::int64_t left_out = c.data.task->split.train_end - c.training_events();
      EXPECT_EQ(others.size(), static_cast<std::size_t>(c.data.graph->events() - left_out));
      EXPECT_EQ(left_out > 0, kept_out > 0);
      const auto device = cpu_of(c);
      const Parameters parameters(*device, c.parameters, 5);
      EvaluationPass replay(c, *device);
      replay.keep({"embeddings"});
      const auto& kept = replay.views(parameters).embeddings;
      const std::vector<double> shown(kept.begin(), kept.end());
      const std::vector<double> wanted = embeddings_beside(c, *device, parameters, others);
      ASSERT_EQ(shown.size(), wanted.size());
      for (std::size_t i = 0; i < shown.size(); ++i) ASSERT_NEAR(shown[i], wanted[i], 1e-12) << i;
    }
  }
}

/// Vertices whose numbers in the file are 100, 110, ... and 300, 305, ...
std::string renumbered_visits(const test::TemporaryFolder& folder) {
  std::string text = "source,target,time\n";
  const RandomStream random(8, random_purpose::test);
  for (std::uint64_t e = 0; e < 200; ++e)
    text += fmt::format("{},{},{}\n", 100 + 10 * random.below(2 * e, 9), 300 + 5 * random.below(2 * e + 1, 11), e);
  return folder.write("ids.csv", text);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void expect_ids_of_ranks(const std::string& path, const EventCase& c) {
  const EventGraph& graph = *c.data.graph;
  const std::vector<std::string> lines = lines_of(path);
  const TimeSplit& split = c.data.task->split;
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(graph.events() - split.train_end) + 1);
  EXPECT_EQ(lines.front(), "event,part,source,destination,candidates,rank,source_id,destination_id");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t e = static_cast<std::size_t>(split.train_end) + i - 1;
    const auto u = graph.source[e], v = graph.target[e];
    const std::string part = static_cast<EdgeId>(e) < split.validation_end ? "validation" : "test";
    EXPECT_EQ(lines[i].find(fmt::format("{},{},{},{},", e, part, u, v)), 0u) << lines[i];
    const std::string ids = fmt::format(",{},{}", graph.original_id[u], graph.original_id[v]);
    EXPECT_EQ(lines[i].substr(lines[i].size() - ids.size()), ids);
  }
}

TEST(EventViews, EveryOutputNumbersVerticesAndEventsAlike) {
  const test::TemporaryFolder folder;
  ModelOutputs outputs;
  outputs.files["samples"] = folder.file("samples.csv"), outputs.files["ranks"] = folder.file("ranks.csv");
  outputs.files["memory"] = folder.file("m.safetensors"), outputs.files["embeddings"] = folder.file("z.npy");
  outputs.checkpoint = folder.file("state.safetensors");
  const Case c = event_case(renumbered_visits(folder), {{"model", {{"name", "jodie"}, {"memory", 4}, {"time", 3}}},
                                                        {"task", {{"candidates", "all"}}}});
  ASSERT_EQ(run_case(c, nullptr, outputs).status, "ok");
  const EventCase planned = begin_event_case(c);
  const EventGraph& graph = *planned.data.graph;
  std::vector<std::string> ids{"row,id"};
  for (std::size_t v = 0; v < graph.original_id.size(); ++v)
    ids.push_back(fmt::format("{},{}", v, graph.original_id[v]));
  for (const char* list : {"m.ids.csv", "z.ids.csv", "state.ids.csv"}) EXPECT_EQ(lines_of(folder.file(list)), ids);
  const std::vector<std::string> samples = lines_of(outputs.files["samples"]);
  EXPECT_EQ(samples.front(), "event,part,group,place,vertex,id");
  EXPECT_GT(samples.size(), 1000u);
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const std::string& line = samples[i];
    const std::size_t id = line.rfind(','), vertex = line.rfind(',', id - 1);
    EXPECT_EQ(graph.original_id[std::stoul(line.substr(vertex + 1))], std::stoll(line.substr(id + 1))) << line;
  }
  expect_ids_of_ranks(outputs.files["ranks"], planned);
}

TEST(EventViews, RanksAndScoresInFilesAreThoseOfTheEventsThatMetricsTake) {
  const test::TemporaryFolder folder;
  for (const char* links : {"all", "new"}) {
    ModelOutputs outputs;
    outputs.files["ranks"] = folder.file("ranks.csv");
    const Case c = event_case(event_test::random_visits(folder, 4, 400), {{"task", {{"links", links}}}});
    const CaseResult result = run_case(c, nullptr, outputs);
    ASSERT_EQ(result.status, "ok") << result.reason;
    std::map<std::string, double> reciprocal, events;
    const std::vector<std::string> lines = lines_of(outputs.files["ranks"]);
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::string part = lines[i].find(",test,") == std::string::npos ? "validation_mrr" : "mrr";
      std::size_t begin = 0;
      for (int comma = 0; comma < 5; ++comma) begin = lines[i].find(',', begin) + 1;
      reciprocal[part] += 1 / std::stod(lines[i].substr(begin)), events[part] += 1;
    }
    const EventCase planned = begin_event_case(c);
    const auto device = cpu_of(planned);
    const Parameters parameters(*device, planned.parameters, 4);
    EvaluationPass replay(planned, *device);
    replay.keep({"scores"});
    const std::map<std::string, double> metrics = replay.metrics_and_views(parameters);
    for (const SavedMatrix& part : replay.views(parameters).scores) {
      const std::string metric = part.name + "mrr";
      EXPECT_NEAR(result.metrics.at(metric).per_epoch.back(), reciprocal[metric] / events[metric], 1e-12) << links;
      EXPECT_EQ(static_cast<double>(result.metric_samples.at(metric)), events[metric]);
      double sum = 0, count = 0;
      for (auto at = part.values.begin(); at != part.values.end(); at += 1 + static_cast<std::ptrdiff_t>(*at)) {
        double rank = 1;
        for (auto other = at + 2; other < at + 1 + static_cast<std::ptrdiff_t>(*at); ++other)
          rank += *other > at[1] ? 1 : *other == at[1] ? 0.5 : 0;
        sum += 1 / rank, count += 1;
      }
      EXPECT_EQ(count, events[metric]) << links;
      EXPECT_NEAR(metrics.at(metric), sum / count, 1e-12) << links;
    }
  }
}

/// Batches of `size` of the events [first, last), and those whose first event has the time of the one before.
struct Begins {
  int amid = 0, all = 0;
  void add(const std::vector<int>& times, EdgeId first, EdgeId last, EdgeId size) {
    for (EdgeId e = first; e < last; e += size, ++all)
      amid += e > 0 && times[e] == times[static_cast<std::size_t>(e) - 1] ? 1 : 0;
  }
};

TEST(EventViews, BatchesThatBeginAmidAnInstantAreCountedInANote) {
  const test::TemporaryFolder folder;
  for (const int at_once : {1, 4, 10}) {
    std::string text = "source,target,time\n";
    const RandomStream random(9, random_purpose::test);
    std::vector<int> times;
    for (std::uint64_t e = 0; e < 200; ++e) {
      times.push_back(static_cast<int>(e) / at_once);
      text += fmt::format("{},{},{}\n", random.below(2 * e, 9), 20 + random.below(2 * e + 1, 11), times.back());
    }
    const std::string file = folder.write(fmt::format("instants{}.csv", at_once), text);
    for (const char* model : {"jodie", "tgat"}) {
      const Case c = event_case(file, {{"task", {{"candidates", "3"}, {"batch", 7}}},
                                       {"model", {{"name", model}}},
                                       {"epochs", 1},
                                       {"strategy", {{"batch", 9}}}});
      const CaseResult result = run_case(c);
      ASSERT_EQ(result.status, "ok") << result.reason;
      const TimeSplit split = begin_event_case(c).data.task->split;
      Begins trained, judged;
      trained.add(times, 0, split.train_end, 9);
      judged.add(times, split.train_end, split.validation_end, 7);
      judged.add(times, split.validation_end, 200, 7);
      const std::string notes = fmt::format("{}", fmt::join(result.notes, "\n"));
      for (const auto& [begins, which] : {std::pair{trained, "training"}, {judged, "validation and test"}}) {
        const std::string words = fmt::format("{} of {} {} batches begin", begins.amid, begins.all, which);
        EXPECT_EQ(notes.find(words) != std::string::npos, begins.amid > 0) << words << " in " << notes;
      }
      EXPECT_EQ(trained.amid > 0, at_once > 1);
    }
  }
}

}  // namespace
}  // namespace strobe
