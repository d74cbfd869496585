// Evaluation by all ranks, where events and memory lie by node. The judge is the evaluation by one rank, which holds
// everything: metrics and files must have the same bits.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/groups/group_plan.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"
#include "harness/event_batches/trainer/evaluation_order.hpp"
#include "harness/training/make_plan.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "tests/harness/fakes.hpp"

namespace strobe {
namespace {

using event_test::event_case;
using event_test::random_visits;
using event_test::train;
using event_test::TrainedRun;

Case case_on_nodes(const std::string& visits, std::int64_t ranks, std::int64_t nodes, const Json& more,
                   const Json& how = Json::object()) {
  Json strategy = {{"name", "event_batch"}, {"i", ranks}, {"k", 1}, {"batch", 9}};
  if (nodes > 1) strategy.update({{"memory_layout", "distributed"}, {"nodes", nodes}});
  strategy.update(how);
  Json changes = {{"strategy", strategy}, {"ranks", ranks}, {"epochs", 2}};
  changes.update(more);
  return event_case(visits, changes);
}

/// All metrics of both runs, epoch by epoch. NaN is equal to NaN.
void expect_same_metrics(const TrainedRun& run, const TrainedRun& judge, const std::string& what) {
  ASSERT_FALSE(judge.result.metrics.empty()) << what;
  ASSERT_EQ(run.result.metrics.size(), judge.result.metrics.size()) << what;
  for (const auto& [name, curve] : judge.result.metrics) {
    const std::vector<double>& values = run.result.metrics.at(name).per_epoch;
    ASSERT_EQ(values.size(), curve.per_epoch.size()) << what << name;
    for (std::size_t e = 0; e < values.size(); ++e)
      EXPECT_TRUE(values[e] == curve.per_epoch[e] || (std::isnan(values[e]) && std::isnan(curve.per_epoch[e])))
          << what << " " << name << " after epoch " << e << ": " << values[e] << " and " << curve.per_epoch[e];
  }
  EXPECT_EQ(run.weights, judge.weights) << what;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

TEST(JointEvaluation, MetricsHaveTheBitsOfOneRankForEveryModelAndTask) {
  const test::TemporaryFolder folder;
  const Json tgn = {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}};
  const Json jodie = {{"name", "jodie"}, {"memory", 6}, {"time", 4}};
  const Json tgat = {{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}};
  Json of_asker = tgn;
  of_asker["mail_dt"] = "event_minus_memory";
  const std::vector<Json> all{{{"model", tgn}},
                              {{"model", jodie}},
                              {{"model", tgat}},
                              {{"model", of_asker}, {"precision", "fp32"}},
                              {{"model", tgn}, {"task", {{"candidates", "all"}, {"batch", 7}}}},
                              {{"model", tgn}, {"task", {{"kept_out", 0.2}}}},
                              {{"model", jodie}, {"task", {{"evaluation_negatives", "historical"}}}},
                              {{"model", tgat}, {"task", {{"evaluation_negatives", "inductive"}, {"links", "new"}}}},
                              {{"model", jodie}, {"task", {{"name", "event-classification"}, {"batch", 30}}}},
                              {{"model", tgn}, {"device", "sim"}, {"numerics", "cpu"}, {"cluster", "g4dn-t4"}}};
  const std::string visits[] = {random_visits(folder, 61, 240), random_visits(folder, 62, 240)};
  std::size_t draw = 0;
  for (const Json& more : all) {
    for (const auto& [ranks, nodes] : {std::pair{2, 2}, {4, 2}, {3, 3}}) {
      const std::string& some = visits[draw++ % 2];
      const TrainedRun judge = train(folder, case_on_nodes(some, ranks, 1, more));
      const TrainedRun run = train(folder, case_on_nodes(some, ranks, nodes, more));
      expect_same_metrics(run, judge, fmt::format("{} {} {} {}", draw, more.dump(), ranks, nodes));
    }
  }
}

TEST(JointEvaluation, PairsOfOptionsKeepTheBits) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 63, 260);
  const std::vector<Json> hows{{{"presample", "memory"}},
                               {{"evaluate_batches", 2}},
                               {{"evaluate_batches", 1}, {"presample", "memory"}},
                               {{"evaluate_every", 2}, {"prefetch", 3}},
                               {{"i", 2}, {"j", 2}, {"evaluate_batches", 3}}};
  for (const Json& how : hows) {
    const Json more = {{"epochs", 3}};
    const TrainedRun judge = train(folder, case_on_nodes(visits, 4, 1, more, how));
    expect_same_metrics(train(folder, case_on_nodes(visits, 4, 2, more, how)), judge, how.dump());
    expect_same_metrics(train(folder, case_on_nodes(visits, 4, 4, more, how)), judge, how.dump());
  }
}

/// With many candidates a batch is scored in several steps, which different ranks take.
TEST(JointEvaluation, ABatchOfSeveralStepsKeepsTheBits) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 64, 700, 40, 330);
  const Json more = {{"model", {{"name", "tgn-attn"}, {"memory", 4}, {"time", 3}, {"neighbours", 10}}},
                     {"task", {{"candidates", "all"}, {"batch", 70}}},
                     {"precision", "fp32"},
                     {"epochs", 1}};
  const Case request = case_on_nodes(visits, 4, 2, more, {{"batch", 40}});
  const EventCase c = begin_event_case(request);
  ASSERT_LT(events_scored_at_once(c, -1), 70);
  const TrainedRun judge = train(folder, case_on_nodes(visits, 4, 1, more, {{"batch", 40}}));
  expect_same_metrics(train(folder, request), judge, "steps");
}

TEST(JointEvaluation, FilesHaveTheBytesOfOneRank) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 65, 220);
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"ranks"}, {"ranks", "embeddings"}, {"memory", "ranks"}, {"scores"}}) {
    std::map<std::string, std::string> files[2];
    for (const std::int64_t nodes : {1, 2}) {
      ModelOutputs outputs;
      for (const std::string& name : names)
        outputs.files[name] = folder.file(fmt::format("{}{}.{}", name, nodes, name == "ranks" ? "csv" : "out"));
      train(folder, case_on_nodes(visits, 4, nodes, Json::object()), outputs);
      for (const auto& [name, path] : outputs.files) files[nodes - 1][name] = bytes_of(path);
    }
    for (const std::string& name : names) {
      EXPECT_GT(files[0][name].size(), 100u) << name;
      EXPECT_EQ(files[0][name], files[1][name]) << name;
    }
  }
}

TEST(JointEvaluation, AStoppedRunGoesOnBitForBit) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 66, 240);
  const auto of = [&](int epochs) { return case_on_nodes(visits, 4, 2, {{"epochs", epochs}}); };
  const TrainedRun whole = train(folder, of(3));
  ModelOutputs outputs;
  outputs.checkpoint = folder.file("state.safetensors");
  ASSERT_EQ(run_case(of(1), nullptr, outputs).status, "ok");
  outputs.resume_training = true;
  expect_same_metrics(train(folder, of(3), outputs), whole, "resumed");
}

/// One rank's side of collectives without the other ranks. It counts the groups that are made.
class GroupCounter final : public Communicator {
 public:
  GroupCounter(Device& device, int ranks) : Communicator(device, device.rank(), ranks, 0) {}
  GroupCounter(GroupCounter& parent, MemberRanks members, Rank rank)
      : Communicator(parent.device(), rank, std::move(members), 0) {}
  bool lists_peers() const override { return true; }

  int groups_made = 0;

 private:
  std::shared_ptr<void> do_start(const Collective&) override { return nullptr; }
  Completion do_wait(const Collective&, const std::shared_ptr<void>&) override { return {}; }
  std::unique_ptr<Communicator> do_split(const RankGroups& groups, const OwnGroup& own) override {
    ++groups_made;
    return std::make_unique<GroupCounter>(*this, members_of(groups[own.index]), own.rank);
  }
};

/// Backends keep what they make for a group until the launch ends, so a thousand evaluations must not make a thousand.
TEST(JointEvaluation, EvaluationsMakeNoGroupsOfRanks) {
  const test::TemporaryFolder folder;
  const Json more = {{"model", {{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}}};
  for (const int some : {0, 2}) {
    const auto plan =
        make_plan(case_on_nodes(random_visits(folder, 68, 240), 2, 2, more, {{"evaluate_batches", some}}));
    test::AccountingDevice device(0, 2);
    GroupCounter communicator(device, 2);
    const std::unique_ptr<Trainer> trainer = plan->schedule->trainer(device, communicator);
    const int before = communicator.groups_made;
    EXPECT_GT(before, 0);
    for (int epoch = 0; epoch < 4; ++epoch) trainer->evaluate({epoch, epoch == 3});
    EXPECT_EQ(communicator.groups_made, before) << some;
  }
}

/// Daemons get room for a bound of what steps read and write. The judge counts all draws of the evaluation.
TEST(JointEvaluation, DaemonsHaveRoomForEveryStep) {
  const test::TemporaryFolder folder;
  const Json tgn = {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}};
  Json of_asker = tgn;
  of_asker["mail_dt"] = "event_minus_memory";
  const std::vector<Json> all{{{"model", tgn}},
                              {{"model", of_asker}},
                              {{"model", tgn}, {"task", {{"candidates", "all"}, {"batch", 1}}}},
                              {{"model", of_asker}, {"task", {{"candidates", "all"}, {"batch", 70}}}},
                              {{"model", {{"name", "jodie"}, {"memory", 6}, {"time", 4}}},
                               {"task", {{"name", "event-classification"}, {"batch", 30}}}}};
  for (const Json& more : all) {
    for (const std::uint64_t seed : {69, 70}) {
      const Case request = case_on_nodes(random_visits(folder, seed, 240), 4, 2, more);
      const GroupPlan plan = plan_of_groups(std::make_shared<const EventCase>(begin_event_case(request)));
      const std::shared_ptr<const RemoteRows> judge = plan.evaluation.rows->get();
      const std::uint64_t row = 3 * plan.memory.row_bytes();
      for (const HelperRequest& daemon : memory_daemons(plan)) {
        for (const ChannelShape& channel : daemon.channels) {
          if (channel.name == "read0") {
            EXPECT_GE(channel.answer_bytes, judge->most_read() * row) << more;
          }
          if (channel.name == "write") {
            EXPECT_GE(channel.request_bytes, request_rows_at(judge->most_written()) + judge->most_written() * row);
          }
        }
      }
    }
  }
}

/// Compares step `n` of an order with a piece [at, end) of the batch that begins at `begin`.
void expect_step(const EvaluationStep& step, EdgeId begin, EdgeId at, EdgeId piece_end, EdgeId end, bool scored,
                 bool passes) {
  ASSERT_EQ(step.requests.size(), static_cast<std::size_t>(scored) + (passes ? 1U : 0U));
  EXPECT_EQ(step.scores, scored);
  EXPECT_EQ(step.passed, passes ? end - begin : 0);
  if (scored) {
    EXPECT_EQ(step.requests[0].first, at);
    EXPECT_EQ(step.requests[0].count, piece_end - at);
    EXPECT_EQ(step.requests[0].batch_first, begin);
    EXPECT_FALSE(step.requests[0].writes);
  }
  if (!passes) return;
  EXPECT_EQ(step.requests.back().first, begin);
  EXPECT_EQ(step.requests.back().count, end - begin);
  EXPECT_TRUE(step.requests.back().writes);
}

/// Compares all steps of the case's evaluation with loops over batches and their pieces.
void expect_plain_loops(const EventCase& c, EdgeId batch) {
  const std::int64_t at_once = events_scored_at_once(c, c.data.task->evaluation_candidates);
  const EvaluationOrder order = whole_evaluation(c);
  const bool has_memory = c.model->traits().memory > 0;
  const TimeSplit& split = c.data.task->split;
  std::int64_t n = 0;
  const auto walk = [&](EdgeId first, EdgeId last, bool scored) {
    for (EdgeId begin = first; begin < last; begin += batch) {
      const EdgeId end = std::min<EdgeId>(last, begin + batch);
      for (EdgeId at = begin; at < end; at += scored ? at_once : batch) {
        const bool passes = has_memory && (!scored || at + at_once >= end);
        expect_step(order.step(n++), begin, at, std::min<EdgeId>(at + at_once, end), end, scored, passes);
      }
    }
  };
  if (has_memory) walk(0, split.train_end, false);
  walk(split.train_end, split.validation_end, true);
  walk(split.validation_end, c.data.graph->events(), true);
  EXPECT_EQ(order.steps(), n) << batch;
}

TEST(EvaluationOrder, ListsTheStepsOfPlainLoops) {
  const test::TemporaryFolder folder;
  for (const auto& [name, candidates] : {std::pair{"tgn-attn", "9"}, {"tgn-attn", "all"}, {"tgat", "all"}}) {
    Json model = {{"name", name}, {"time", 3}, {"neighbours", 10}};
    model[std::string(name) == "tgat" ? "hidden" : "memory"] = 4;
    for (const int batch : {1, 13, 64, 1000}) {
      const Json more = {{"model", model}, {"task", {{"candidates", candidates}, {"batch", batch}}}};
      expect_plain_loops(begin_event_case(event_case(random_visits(folder, 67, 500, 40, 300), more)), batch);
    }
  }
}

}  // namespace
}  // namespace strobe
