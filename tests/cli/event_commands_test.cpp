// Models of events on the command line: a run with its files, a task given with a workload, and contradictory requests.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/random.hpp"
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class EventCommands : public Program {
 protected:
  void SetUp() override {
    const RandomStream random(3, random_purpose::test);
    std::string text = "source,target,time\n";
    for (std::uint64_t e = 0; e < 300; ++e) {
      const std::uint64_t user = random.below(2 * e, 12), item = (user + random.below(2 * e + 1, 4)) % 15;
      text += std::to_string(user) + "," + std::to_string(100 + item) + "," + std::to_string(7 * e) + "\n";
    }
    write_text(folder_ / "visits.csv", text);
  }

  std::vector<std::string> run(std::vector<std::string> more) {
    std::vector<std::string> all = {"run",    "--workload",          "visits.csv", "--strategy", "sequential:batch=50",
                                    "--set",  "task.candidates=all", "--epochs",   "2",          "--out",
                                    "results"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(EventCommands, ARunLeavesARowAndTheFilesThatWereAskedFor) {
  const Outcome outcome =
      strobe(run({"--model", "tgn-attn:memory=6,time=4", "--dump-embeddings", "z.npy", "--dump-memory",
                  "memory.safetensors", "--dump-samples", "samples.csv", "--save-model", "model.safetensors"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json row = read_json(folder_ / "results/summary.json").at("rows").at(0);
  EXPECT_EQ(row.at("status"), "ok");
  EXPECT_EQ(row.at("task").at("name"), "future-links") << "the task of the model's family";
  EXPECT_EQ(row.at("iterations"), 5) << "210 training events in batches of 50";
  EXPECT_EQ(row.at("metrics").at("recency_mrr").size(), 3) << "warm-up and two epochs";
  EXPECT_EQ(row.at("metric_samples").at("mrr"), 45);
  EXPECT_GT(row.at("throughput").at("events_per_second").get<double>(), 0);
  EXPECT_NE(read_text(folder_ / "z.npy").find("300, 3, 6"), std::string::npos);
  const std::string memory = read_text(folder_ / "memory.safetensors");
  for (const char* name : {"\"memory\"", "\"last_update\"", "\"mails\"", "\"mail_time\"", "\"mail_event\""})
    EXPECT_NE(memory.substr(0, 2000).find(name), std::string::npos) << name;
  const std::string samples = read_text(folder_ / "samples.csv");
  EXPECT_EQ(samples.substr(0, samples.find('\n')), "event,part,group,place,vertex,id");
  EXPECT_EQ(std::count(samples.begin(), samples.end(), '\n') - 1, 210 * 10 + 90 * 14)
      << "ten groups of one negative, and all other destinations of each judged event";
}

TEST_F(EventCommands, VerticesThatAreKeptOutAreJudgedApart) {
  const Outcome outcome = strobe(
      run({"--model", "jodie:memory=6,time=4", "--task", "future-links:kept_out=0.1", "--dump-samples", "s.csv"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json row = read_json(folder_ / "results/summary.json").at("rows").at(0);
  EXPECT_EQ(row.at("task").at("kept_out"), 0.1);
  const std::int64_t judged = row.at("metric_samples").at("inductive_mrr");
  EXPECT_TRUE(judged > 0 && judged < 45) << judged;
  for (const char* metric : {"inductive_mrr", "inductive_ap", "inductive_auc", "validation_inductive_mrr",
                             "inductive_recency_mrr", "validation_inductive_recency_mrr", "mrr"})
    EXPECT_EQ(row.at("metrics").at(metric).size(), 3) << metric;
  const std::string samples = read_text(folder_ / "s.csv");
  const auto of_training = [&] {
    std::int64_t lines = 0;
    for (std::size_t at = samples.find(",training,"); at != std::string::npos; at = samples.find(",training,", at + 1))
      ++lines;
    return lines / 10;
  }();
  EXPECT_LT(of_training, 210) << "events of a kept-out vertex are not trained on";
  const Outcome plan = strobe(run({"--model", "jodie", "--task", "future-links:kept_out=0.1", "--dry-run", "--json"}));
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("\"training_events\": " + std::to_string(of_training)), std::string::npos) << plan.out;
  expect_refusal(strobe(run({"--model", "jodie", "--task", "future-links:kept_out=0.99"})), 2, {"kept_out", "smaller"});
  const Outcome without = strobe(run({"--model", "jodie", "--task", "future-links:kept_out=0", "--dry-run"}));
  EXPECT_EQ(without.out.find("kept_out"), std::string::npos) << "the id of a case without it is the one that it had";
  for (const std::string value : {"allowed", "left_out"}) {
    const Outcome pairs = strobe(run({"--model", "jodie", "--task", "future-links:self_pairs=" + value, "--dry-run"}));
    ASSERT_EQ(pairs.status, 0) << pairs.err;
    EXPECT_EQ(pairs.out.find("self_pairs") != std::string::npos, value == "left_out") << pairs.out;
  }
}

TEST_F(EventCommands, InspectTellsWhatRulesComeTo) {
  const Outcome outcome = strobe({"inspect", "visits.csv", "--task", "future-links:candidates=all,batch=10", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json task = Json::parse(outcome.out).at("task");
  EXPECT_EQ(task.at("training_events"), 210);
  EXPECT_EQ(task.at("may_be_negatives"), 15);
  for (const char* rule : {"recency_mrr", "validation_popularity_mrr", "edgebank_window_mrr"})
    EXPECT_GT(task.at(rule).get<double>(), 0) << rule;
}

TEST_F(EventCommands, RequestsThatDoNotFitSayWhatToChange) {
  expect_refusal(strobe({"run", "--workload", "visits.csv:window_count=5", "--model", "tgn-attn"}), 2,
                 {"window_count"});
  expect_refusal(strobe({"run", "--workload", "visits.csv", "--model", "t-gcn", "--strategy", "sequential:batch=5"}), 2,
                 {"batch is an option of models of events", "tgn-attn"});
  expect_refusal(strobe({"run", "--workload", "visits.csv", "--model", "jodie", "--strategy", "vertex"}), 2,
                 {"model jodie is for events", "t-gcn"});
  expect_refusal(strobe({"run", "--workload", "visits.csv", "--model", "jodie", "--strategy", "sequential:batch=900"}),
                 2, {"only 210 are trained on"});
  expect_refusal(strobe({"run", "--workload", "visits.csv", "--model", "tgn-attn", "--task", "event-classification"}),
                 2, {"needs a label of every event"});
  write_text(folder_ / "labels.csv",
             "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
             "0,0,0,0\n1,1,1,1\n0,1,2,0\n1,0,3,0\n");
  expect_refusal(
      strobe({"run", "--workload", "labels.csv", "--model", "jodie", "--task", "event-classification:labels=several"}),
      2, {"a single label of each event", "labels=single"});
  expect_refusal(strobe({"inspect", "visits.csv", "--task", "link-prediction"}), 2, {"future-links"});
  expect_refusal(strobe({"inspect", "uniform", "--task", "future-links"}), 2, {"has no events"});
}

TEST_F(EventCommands, FilesThatAModelHasNotAreRefusedByItsNameBeforeARunBegins) {
  std::string labelled = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n";
  for (int e = 0; e < 60; ++e) labelled += fmt::format("{},{},{},{},0\n", e % 5, e % 7, e, e % 2);
  write_text(folder_ / "labels.csv", labelled);
  const auto dump = [&](const std::string& flag, const std::string& model, std::vector<std::string> more) {
    std::vector<std::string> all = {"run", "--model", model, flag, "x", "--out", "refused"};
    all.insert(all.end(), more.begin(), more.end());
    return strobe(all);
  };
  const std::vector<std::string> events = {"--workload", "visits.csv", "--strategy", "sequential:batch=50"},
                                 steps = {"--workload", "visits.csv:window_count=5"},
                                 classes = {"--workload",           "labels.csv", "--task",
                                            "event-classification", "--strategy", "sequential:batch=9"};
  expect_refusal(dump("--dump-memory", "tgat", events), 2, {"--dump-memory: model tgat with task future-links has no"});
  expect_refusal(dump("--dump-placement", "jodie", events), 2, {"--dump-placement: model jodie", "model of snapshots"});
  for (const char* flag : {"--dump-memory", "--dump-ranks", "--dump-schedule"})
    expect_refusal(dump(flag, "t-gcn", steps), 2, {std::string(flag) + ": model t-gcn", "a model of events"});
  for (const char* flag : {"--dump-ranks", "--dump-samples"})
    expect_refusal(dump(flag, "jodie", classes), 2, {std::string(flag) + ": model jodie with task event-class"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "refused")) << "a request that is refused leaves no run";
  expect_refusal(strobe({"run", "--workload", "visits.csv:window_count=5", "--model", "t-gcn", "--dump-schedule", "x",
                         "--dry-run"}),
                 2, {"--dump-schedule: model t-gcn"});
}

}  // namespace
}  // namespace strobe::cli_test
