// The answer engine, on rows that are made up, so that every number is known.
#include "results/answer/answer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "core/errors.hpp"
#include "tests/results/made_run.hpp"

namespace strobe {
namespace {

using testing_results::MadeCase;
using testing_results::MadeRun;
using testing_results::TemporaryFolder;

Answers ask(const std::vector<std::string>& folders, const std::string& field, const AnswerOptions& options = {}) {
  std::vector<LoadedRun> runs;
  for (const std::string& folder : folders) runs.push_back(load_run(folder));
  return answer(runs, field, options);
}

std::string sentences(const Answer& answer) {
  std::string text;
  for (const std::string& sentence : answer.sentences) text += sentence + "\n";
  return text;
}

const Contender& contender(const Answer& answer, const std::string& value) {
  for (const Contender& one : answer.contenders)
    if (one.value == value) return one;
  throw Error("no contender " + value);
}

TEST(Answer, TheFastestIsFirstAndTheRatioIsTheQuotientOfTheTimes) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  // The machine drifts by half; each strategy keeps its place.
  run.add({.strategy = "vertex", .rounds = {2.0, 3.0, 2.02, 3.03, 2.01}});
  run.add({.strategy = "snapshot", .rounds = {1.0, 1.5, 1.0, 1.5, 1.0}});
  run.add({.strategy = "pss", .rounds = {1.01, 1.49, 1.0, 1.52, 0.99}});
  const Answers all = ask({folder.file("run")}, "strategy");
  ASSERT_EQ(all.questions.size(), 1u);
  const Answer& found = all.questions[0];
  EXPECT_EQ(found.common, (std::vector<std::string>{"chess", "tm-gcn"}));
  EXPECT_EQ(found.unit, WorkUnit::epoch);
  EXPECT_EQ(found.contenders.front().value, "snapshot");
  const Contender& vertex = contender(found, "vertex");
  EXPECT_EQ(vertex.slower.verdict, Verdict::slower);
  EXPECT_NEAR(vertex.slower.ratio, 2, 0.02);
  EXPECT_GT(vertex.slower.interval.low, 1.9) << "rounds of one session compare pair by pair";
  for (std::size_t i = 1; i < found.contenders.size(); ++i) {
    const Contender& one = found.contenders[i];
    EXPECT_DOUBLE_EQ(one.slower.ratio, one.unit_seconds / found.contenders.front().unit_seconds);
  }
  EXPECT_NE(sentences(found).find("On 2 ranks, snapshot is 2.01 ± "), std::string::npos) << sentences(found);
  EXPECT_NE(sentences(found).find(" times as fast as vertex per epoch."), std::string::npos) << sentences(found);
  EXPECT_NE(sentences(found).find("pss is as fast as snapshot per epoch within 5 %."), std::string::npos);
  EXPECT_NE(found.why.find("less compute"), std::string::npos) << found.why;
}

TEST(Answer, EpochsOfOtherWorkCompareByTheUnitThatTheyShare) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  run.add({.strategy = "snapshot", .rounds = {0.73}, .cells = 12500, .simulated = true});
  run.add({.strategy = "hybrid_batch", .rounds = {0.545}, .cells = 160, .simulated = true});
  const Answer found = ask({folder.file("run")}, "strategy").questions.at(0);
  EXPECT_EQ(found.unit, WorkUnit::cell);
  EXPECT_EQ(found.contenders.front().value, "snapshot");
  EXPECT_NEAR(contender(found, "hybrid_batch").slower.ratio, 0.545 / 160 / (0.73 / 12500), 1e-6);
  EXPECT_NE(sentences(found).find("snapshot is 58.3 times as fast as hybrid_batch per cell."), std::string::npos)
      << sentences(found);
  EXPECT_EQ(found.why, "") << "phases of epochs of other work say nothing";
}

TEST(Answer, TimesWithoutAUnitInCommonAreNotCompared) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  run.add({.strategy = "snapshot", .rounds = {0.73}, .cells = 12500, .simulated = true});
  run.add({.strategy = "vertex", .rounds = {0.80}, .cells = 12500, .simulated = true});
  run.add({.strategy = "event_batch", .rounds = {0.1}, .events = 400, .updates = 4, .simulated = true});
  run.add({.strategy = "dynahb", .rounds = {0.1}, .cells = 0, .updates = 10, .simulated = true});
  const Answer found = ask({folder.file("run")}, "strategy").questions.at(0);
  EXPECT_NE(sentences(found).find("work in an epoch of dynahb is not known."), std::string::npos) << sentences(found);
  EXPECT_TRUE(std::isnan(contender(found, "event_batch").slower.ratio));
  EXPECT_NE(sentences(found).find("The time of event_batch is not compared: its epoch is 4 updates on 400 events, one "
                                  "of snapshot is 1 update on 12500 cells."),
            std::string::npos)
      << sentences(found);
  EXPECT_NE(sentences(found).find("snapshot is 1.10 times as fast as vertex"), std::string::npos) << sentences(found);
}

Json named(const char* slot, const std::string& name) { return {{slot, {{"name", name}}}}; }

TEST(Answer, DifferentModelsAreComparedByTheTimeToAMetricAlone) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run"), until(folder, "until");
  for (const auto& [model, seconds, reached] : {std::tuple{"t-gcn", 1.0, 20.0}, {"dysat", 3.0, 10.0}}) {
    run.add({.rounds = {seconds}, .settings = named("model", model), .simulated = true});
    for (const std::int64_t seed : {1, 2})
      until.add(
          {.rounds = {seconds}, .seed = seed, .settings = named("model", model), .until = reached, .simulated = true});
  }
  const Answer refused = ask({folder.file("run")}, "model").questions.at(0);
  EXPECT_EQ(refused.common, (std::vector<std::string>{"chess"}));
  EXPECT_EQ(refused.apart, "models");
  EXPECT_TRUE(std::isnan(contender(refused, "dysat").slower.ratio));
  EXPECT_EQ(sentences(refused),
            "Epochs of t-gcn and dysat are not compared: they are different models; run them with --until METRIC=VALUE "
            "to compare the time to a metric.\n");
  const Answer found = ask({folder.file("until")}, "model").questions.at(0);
  EXPECT_EQ(found.contenders.front().value, "dysat") << "its epoch is longer, but it is there first";
  EXPECT_EQ(sentences(found),
            "On 2 ranks, dysat reaches mrr=0.3 first, in 10 s; t-gcn takes 2.00 times as long.\n"
            "Epochs of dysat and t-gcn are not compared: they are different models.\n");
}

TEST(Answer, DifferentTasksAreNotComparedByTheTimeToAMetricEither) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const char* task : {"link-prediction", "future-links"})
    run.add({.rounds = {1.0}, .settings = named("task", task), .until = 20, .simulated = true});
  const Answer found = ask({folder.file("run")}, "task").questions.at(0);
  EXPECT_EQ(found.apart, "tasks");
  EXPECT_TRUE(std::isnan(contender(found, "future-links").slower.ratio));
  EXPECT_TRUE(std::isnan(contender(found, "future-links").later.ratio));
  EXPECT_DOUBLE_EQ(contender(found, "future-links").until_seconds, 20) << "what was measured is still reported";
  EXPECT_EQ(sentences(found),
            "On 2 ranks, the times to mrr=0.3 are not compared: link-prediction and future-links draw different "
            "samples for the metric.\n"
            "Epochs of link-prediction and future-links are not compared: they are different tasks.\n");
}

TEST(Answer, TimesToAMetricOverOtherSamplesAreNotCompared) {
  const TemporaryFolder folder;
  MadeRun models(folder, "models"), tasks(folder, "tasks");
  for (const auto& [model, samples] : {std::pair{"t-gcn", 400}, {"dysat", 300}})
    models.add({.rounds = {1.0},
                .settings = named("model", model),
                .until = 20,
                .simulated = true,
                .metric_samples = {{"validation_mrr", samples}}});
  for (const char* negatives : {"any", "sides"})
    tasks.add({.rounds = {1.0},
               .settings = {{"task", {{"name", "link-prediction"}, {"negatives", negatives}}}},
               .until = 20,
               .simulated = true});
  EXPECT_NE(sentences(ask({folder.file("models")}, "model").questions.at(0))
                .find("the metric is taken over 400 samples in one case and over 300 in the other."),
            std::string::npos);
  const Answer found = ask({folder.file("tasks")}, "task.negatives").questions.at(0);
  EXPECT_NE(
      sentences(found).find("the metric's samples differ: task.negatives is any in one case and sides in the other."),
      std::string::npos)
      << sentences(found);
  EXPECT_EQ(found.unit, WorkUnit::epoch) << "epochs of one task do compare";
}

TEST(Answer, PredictionsDifferWhereTheirBandsSaySoForAllTimesInThem) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform;
  int decided = 0;
  for (int i = 0; i < 200; ++i) {
    const double a = 1 + uniform(random), b = a * (1 + 3 * uniform(random));
    const ConfidenceInterval of_a{a * (1 - uniform(random) / 2), a * (1 + uniform(random))};
    const ConfidenceInterval of_b{b * (1 - uniform(random) / 2), b * (1 + uniform(random))};
    const TimeRatio found = compare_trials(predicted(a, of_a), predicted(b, of_b), {});
    EXPECT_DOUBLE_EQ(found.ratio, b / a);
    EXPECT_EQ(found.verdict == Verdict::slower, of_b.low > of_a.high && b > 1.05 * a) << a << " " << b;
    EXPECT_FALSE(compare_trials(predicted(a, of_a), predicted(b, std::nullopt), {}).band.has_value());
    decided += found.verdict == Verdict::slower ? 1 : 0;
  }
  EXPECT_GT(decided, 20);
  EXPECT_LT(decided, 180);
}

TEST(Answer, BandsOfSeveralSeedsAndOtherUnitsGoIntoTheSentence) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const std::int64_t seed : {1, 2}) {
    run.add({.strategy = "a", .rounds = {1.0}, .seed = seed, .simulated = true, .band = {{0.9, 1.2}}});
    run.add({.strategy = "b", .rounds = {1.0}, .cells = 250, .seed = seed, .simulated = true, .band = {{0.9, 1.2}}});
    run.add({.strategy = "c", .rounds = {1.1}, .seed = seed, .simulated = true, .band = {{0.9, 1.2}}});
  }
  const Answer found = ask({folder.file("run")}, "strategy").questions.at(0);
  EXPECT_EQ(sentences(found),
            "On 2 ranks, a is 4.00 (3.00 to 5.33 within the 90 % bands) times as fast as b per cell.\n"
            "c cannot be distinguished from a per cell (the 90 % bands of the predictions overlap).\n");
}

TEST(Answer, ParametersOfOneModelAreStillComparedByEpoch) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const int hidden : {6, 64})
    run.add({.rounds = {hidden / 6.0},
             .settings = {{"model", {{"name", "t-gcn"}, {"hidden", hidden}}}},
             .simulated = true});
  EXPECT_EQ(ask({folder.file("run")}, "model").questions.at(0).unit, WorkUnit::epoch);
  EXPECT_EQ(ask({folder.file("run")}, "model.hidden").questions.at(0).unit, WorkUnit::epoch);
}

TEST(Answer, WithoutAUnitTheFirstContenderIsNotComparedWithItself) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  run.add({.strategy = "snapshot", .rounds = {0.7}, .cells = 12500, .simulated = true});
  run.add({.strategy = "event_batch", .rounds = {0.1}, .events = 400, .updates = 4, .simulated = true});
  const Answer found = ask({folder.file("run")}, "strategy").questions.at(0);
  EXPECT_EQ(found.sentences.size(), 1u) << sentences(found);
}

TEST(Answer, FactsOfAKindOfTrainingAreToldByTheirTable) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const std::int64_t seed : {1, 2}) {
    const double lost = 0.1 * static_cast<double>(seed);
    run.add({.strategy = "a", .rounds = {1.0}, .seed = seed, .simulated = true, .facts = {{"mails_lost_share", lost}}});
    run.add({.strategy = "b",
             .rounds = {2.0},
             .seed = seed,
             .simulated = true,
             .facts = {{"mails_lost_share", 0.5}, {"cached_bytes", {7, 9}}}});
  }
  const Answers all = ask({folder.file("run")}, "strategy");
  EXPECT_EQ(all.questions.at(0).facts, (std::vector<std::string>{"mails_lost_share is 0.15 for a and 0.5 for b"}));
  const Json json = answers_to_json(all);
  const Json& contenders = json.at("questions").at(0).at("contenders");
  EXPECT_DOUBLE_EQ(contenders.at(0).at("facts").at("mails_lost_share").get<double>(), 0.15) << "the mean over seeds";
  EXPECT_EQ(contenders.at(1).at("facts").at("cached_bytes"), (Json{7, 9}));
  std::vector<std::string> keys;
  for (const Json& field : json.at("facts")) keys.push_back(field.at("key"));
  EXPECT_EQ(keys, (std::vector<std::string>{"mails_lost_share", "cached_bytes"}));
  EXPECT_NE(json.at("facts").at(0).at("help"), "");
  EXPECT_NE(answers_text(all).find("\nmails_lost_share is 0.15 for a and 0.5 for b.\n"), std::string::npos);
}

TEST(Answer, ASettingThatAStrategyLacksIsNoDifference) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  run.add({.strategy = "snapshot", .rounds = {1.0}, .settings = {{"nb", "1"}}, .simulated = true});
  run.add({.strategy = "snapshot", .rounds = {1.5}, .settings = {{"nb", "4"}}, .simulated = true});
  run.add({.strategy = "hybrid_batch", .rounds = {2.0}, .settings = {{"host_threads", 1}}, .simulated = true});
  const Answers all = ask({folder.file("run")}, "strategy");
  ASSERT_EQ(all.questions.size(), 1u);
  std::vector<std::string> values;
  for (const Contender& one : all.questions[0].contenders) values.push_back(one.value);
  EXPECT_EQ(values, (std::vector<std::string>{"snapshot nb=1", "snapshot nb=4", "hybrid_batch"}));
}

TEST(Answer, ASettingThatAllHaveSeparatesQuestions) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const char* nb : {"1", "4"})
    for (const char* strategy : {"snapshot", "vertex"})
      run.add({.strategy = strategy, .rounds = {1.0}, .settings = {{"nb", nb}}, .simulated = true});
  const Answers all = ask({folder.file("run")}, "strategy");
  ASSERT_EQ(all.questions.size(), 2u);
  EXPECT_EQ(all.questions[1].common.back(), "nb 4");
}

TEST(Answer, SeedsArePooledAndTheirSpreadCounts) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const std::int64_t seed : {1, 2, 3}) {
    run.add({.strategy = "vertex", .rounds = {1.0}, .seed = seed, .simulated = true});
    run.add({.strategy = "chunk", .rounds = {2.0 + 0.01 * static_cast<double>(seed)}, .seed = seed, .simulated = true});
    run.add({.strategy = "pss", .rounds = {seed == 1 ? 1.5 : 0.9}, .seed = seed, .simulated = true});
  }
  const Answer found = ask({folder.file("run")}, "strategy").questions.at(0);
  EXPECT_EQ(found.contenders.size(), 3u);
  EXPECT_EQ(contender(found, "chunk").seeds, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(contender(found, "chunk").slower.verdict, Verdict::slower);
  EXPECT_EQ(contender(found, "pss").slower.verdict, Verdict::unsure) << "it is faster under two seeds of three";
}

TEST(Answer, TimesToAMetricSayWhoReachesItFirst) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const std::int64_t seed : {1, 2, 3}) {
    const double drift = 1 + 0.01 * static_cast<double>(seed);
    run.add({.strategy = "vertex", .rounds = {1.0}, .seed = seed, .until = 30 * drift, .simulated = true});
    run.add({.strategy = "hybrid_batch", .rounds = {0.5}, .cells = 10, .seed = seed, .until = 10, .simulated = true});
    run.add({.strategy = "chunk", .rounds = {1.1}, .seed = seed, .until = -1, .simulated = true});
  }
  const Answer found = ask({folder.file("run")}, "strategy").questions.at(0);
  EXPECT_EQ(contender(found, "vertex").later.verdict, Verdict::slower);
  EXPECT_NEAR(contender(found, "vertex").later.ratio, 3.06, 0.01);
  EXPECT_NE(sentences(found).find("hybrid_batch reaches mrr=0.3 first, in 10 s; vertex takes 3.06 ± "),
            std::string::npos)
      << sentences(found);
  EXPECT_NE(sentences(found).find("chunk does not reach it."), std::string::npos) << sentences(found);
}

TEST(Answer, TimesToAMetricInWhichSeedsDisagreeHaveNoVerdict) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const auto& [seed, reached] : {std::pair{1, 5.0}, {2, 500.0}}) {
    run.add({.strategy = "vertex", .rounds = {1.0}, .seed = seed, .until = 10, .simulated = true});
    run.add({.strategy = "chunk", .rounds = {1.0}, .seed = seed, .until = reached, .simulated = true});
  }
  const Answer found = ask({folder.file("run")}, "strategy").questions.at(0);
  EXPECT_EQ(contender(found, "chunk").later.verdict, Verdict::unsure);
  EXPECT_NE(sentences(found).find("chunk takes 5.00 times as long (its seeds differ too much for a verdict)."),
            std::string::npos)
      << sentences(found);
}

TEST(Answer, OneProcessASideGivesNoVerdict) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  run.add({.strategy = "vertex", .rounds = {1.0}});
  run.add({.strategy = "chunk", .rounds = {2.0}});
  const Answer found = ask({folder.file("run")}, "strategy").questions.at(0);
  EXPECT_EQ(contender(found, "chunk").slower.verdict, Verdict::unsure);
  EXPECT_EQ(sentences(found),
            "On 2 ranks, vertex took the shortest time per epoch; chunk took 2.00 times as long. There is no verdict "
            "(one process a side: epochs of one process are not independent; measure with --rounds 5).\n");
}

TEST(Answer, RunsOfOtherMachinesAreRefused) {
  const TemporaryFolder folder;
  MadeRun a(folder, "a"), b(folder, "b");
  a.add({.strategy = "vertex", .rounds = {1.0, 1.0, 1.01}});
  b.add({.strategy = "chunk", .rounds = {3.0, 3.03, 3.0}});
  const std::vector<std::string> both{folder.file("a"), folder.file("b")};
  EXPECT_EQ(ask(both, "strategy").questions.at(0).contenders.at(1).value, "chunk");
  testing_results::write_text(folder.file("b/env.json"), R"({"host_class": {"text": "host B"}})");
  EXPECT_THROW(ask(both, "strategy"), NotComparable);
  EXPECT_NO_THROW(ask(both, "strategy", {.allow_different_host = true}));
  EXPECT_THROW(ask({folder.file("a")}, "strategy"), NotComparable);
  EXPECT_THROW(ask({folder.file("a")}, "strateg"), InvalidRequest);
}

using Truths = std::vector<std::pair<std::string, double>>;  // seconds of a thousand cells, by strategy

double truth_of(const Truths& truths, const std::string& strategy) {
  for (const auto& [name, seconds] : truths)
    if (name == strategy) return seconds;
  throw Error("no strategy " + strategy);
}

/// Six rounds of a machine that drifts, each with noise. The epochs of pss have half the work of the others; every
/// fifth run lacks a round of chunk.
void add_rounds(const Truths& truths, std::int64_t seed, int trial, std::mt19937_64& random, MadeRun& run) {
  std::normal_distribution<double> normal;
  std::vector<double> speeds;
  for (int round = 0; round < 6; ++round) speeds.push_back(std::exp(0.2 * normal(random)));
  for (const auto& [strategy, seconds] : truths) {
    MadeCase made;
    made.strategy = strategy;
    made.seed = seed;
    made.cells = strategy == "pss" ? 500 : 1000;
    for (const double speed : speeds)
      made.rounds.push_back(seconds * made.cells / 1000 * speed * std::exp(0.02 * normal(random)));
    if (strategy == "chunk" && trial % 5 == 0) made.rounds[3] = std::nan("");
    run.add(made);
  }
}

/// Whether a verdict contradicts the truth.
bool is_wrong(const Contender& one, const Truths& truths, const std::string& best) {
  const double ratio = truth_of(truths, one.value) / truth_of(truths, best);
  if (one.slower.verdict == Verdict::slower) return ratio <= 1;
  if (one.slower.verdict == Verdict::same) return std::abs(ratio - 1) > 0.05;
  return one.slower.verdict == Verdict::faster;
}

TEST(AnswerLaws, FalseVerdictsAreRare) {
  std::mt19937_64 random(7);
  int judged = 0, wrong = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const TemporaryFolder folder;
    MadeRun run(folder, "run");
    const double chunk = trial % 3 == 0 ? 1.0 : 1.0 + 0.3 * static_cast<double>(random() % 5);
    const Truths truths{{"vertex", 1.0}, {"chunk", chunk}, {"pss", 1.08}};
    for (std::int64_t seed = 1; seed <= 1 + trial % 2; ++seed) add_rounds(truths, seed, trial, random, run);
    const Answer found = ask({folder.file("run")}, "strategy", {.resamples = 300}).questions.at(0);
    for (const Contender& one : found.contenders) {
      if (one.slower.verdict == Verdict::none) continue;
      ++judged;
      wrong += is_wrong(one, truths, found.contenders.front().value) ? 1 : 0;
    }
  }
  EXPECT_EQ(judged, 100);
  EXPECT_LE(wrong, 2) << "at most 2 % of the verdicts";
}

}  // namespace
}  // namespace strobe
