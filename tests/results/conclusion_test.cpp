// The sentences that end a run, and the reasons and names in them, on rows that are made up.
#include "results/answer/conclusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "results/answer/answer.hpp"
#include "results/answer/reasons.hpp"
#include "results/answer/work.hpp"
#include "tests/results/made_run.hpp"

namespace strobe {
namespace {

using testing_results::MadeRun;
using testing_results::TemporaryFolder;

Row row_with_phases(const PerPhase<double>& seconds, std::uint64_t sent_bytes) {
  Row row = summarise(testing_results::case_json(), "c", testing_results::make_result());
  row.phase_seconds = seconds;
  row.epoch_seconds->mean = 0;
  for (const double each : seconds) row.epoch_seconds->mean += each;
  (*row.sent_bytes)[traffic_count] = sent_bytes;
  return row;
}

/// Why `fast` is faster than `slow`.
std::string reasons_between(const Row& fast, const Row& slow, Verdict verdict = Verdict::slower) {
  Answer answer;
  answer.unit = WorkUnit::epoch;
  answer.contenders.resize(3);
  answer.contenders[0].value = "fast", answer.contenders[0].unit_seconds = 1, answer.contenders[0].row = &fast;
  answer.contenders[1].value = "slow", answer.contenders[1].unit_seconds = 2, answer.contenders[1].row = &slow;
  answer.contenders[1].slower.verdict = verdict;
  answer.contenders[2].value = "without a time";
  return reasons_of(answer);
}

TEST(Reasons, AreThePhasesAndBytesThatMakeMostOfTheDifference) {
  const Row fast = row_with_phases({0.4, 0.25, 0, 0, 0.25, 0}, 1000);
  // 0.8 s in all: compute makes three quarters of them, waiting a quarter more, and communication a seventh less.
  const Row slow = row_with_phases({1.0, 0.375, 0, 0, 0.0, 0}, 5000);
  EXPECT_EQ(reasons_between(fast, slow),
            "Compared with slow, an epoch of fast has 600 ms less compute (400 ms against 1 s), 250 ms more wait "
            "(250 ms against 0 s), 125 ms less communicate (250 ms against 375 ms); it sends 1 kB an epoch against "
            "5 kB.");
  EXPECT_EQ(reasons_between(fast, slow, Verdict::unsure), "");
  const Row as_many_bytes = row_with_phases({1.0, 0.25, 0, 0, 0.25, 0}, 1100);
  EXPECT_EQ(reasons_between(fast, as_many_bytes),
            "Compared with slow, an epoch of fast has 600 ms less compute (400 ms against 1 s).")
      << "a tenth more bytes is no reason, and neither is a phase of equal length";
  EXPECT_EQ(reasons_between(fast, fast), "") << "no phase differs";
  Row unknown = slow;
  unknown.phase_seconds.reset();
  EXPECT_EQ(reasons_between(fast, unknown), "");
}

TEST(Conclusion, IsTheAnswerOfTheFilesOrNothing) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run"), single(folder, "single");
  run.add({.strategy = "vertex", .rounds = {1.0, 1.0, 1.01}});
  run.add({.strategy = "chunk", .rounds = {2.0, 2.0, 2.02}});
  single.add({.strategy = "vertex", .rounds = {1.0}});
  const std::string path = folder.file("run"), text = conclusion_of(path);
  EXPECT_TRUE(text.starts_with("On 2 ranks, vertex is 2.0")) << text;
  EXPECT_TRUE(text.ends_with("\n")) << text;
  EXPECT_EQ(text, conclusion_of({load_run(path)}));
  const auto none_but = [](const std::string& wanted) {
    return [wanted](const std::string& id) { return id == wanted; };
  };
  EXPECT_EQ(conclusion_of({path}, none_but("case0")), "") << "one case is no question";
  EXPECT_EQ(conclusion_of(folder.file("single")), "");
  EXPECT_EQ(conclusion_of(folder.file("absent")), "");
}

TEST(Conclusion, NamesEachOfSeveralQuestionsWithoutItsPlace) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  for (const char* numerics : {"cpu", "none"})
    for (const char* strategy : {"vertex", "chunk"})
      run.add({.strategy = strategy,
               .rounds = {*strategy == 'v' ? 1.0 : 2.0},
               .settings = {{"numerics", numerics}},
               .simulated = true});
  const std::string text = conclusion_of(folder.file("run"));
  const std::string line = "chess, tm-gcn: On 2 ranks, vertex is 2.00 times as fast as chunk per epoch.\n";
  EXPECT_EQ(text, line + line);
}

TEST(WidestInterval, IsTheLargestOfTheAnswersIntervals) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run"), alone(folder, "alone"), once(folder, "once");
  run.add({.strategy = "vertex", .rounds = {1.0, 1.0, 1.01}});
  run.add({.strategy = "chunk", .rounds = {2.0, 2.4, 2.2}});
  run.add({.strategy = "pss", .rounds = {1.5, 1.5, 1.51}});
  const Contender chunk = answer({load_run(folder.file("run"))}, "strategy").questions.at(0).contenders.back();
  ASSERT_EQ(chunk.value, "chunk");
  const WidestInterval widest = widest_interval(folder.file("run"));
  EXPECT_EQ(widest.of, "chunk");
  EXPECT_EQ(widest.than, "vertex");
  EXPECT_DOUBLE_EQ(widest.share, std::sqrt(chunk.slower.interval.high / chunk.slower.interval.low) - 1);
  alone.add({.strategy = "vertex", .rounds = {1.0}});
  EXPECT_EQ(widest_interval(folder.file("alone")).of, "");
  once.add({.strategy = "vertex", .rounds = {1.0}});
  once.add({.strategy = "chunk", .rounds = {2.0}});
  EXPECT_TRUE(std::isinf(widest_interval(folder.file("once")).share)) << "one process has no interval";
}

/// The same cases in two runs, as two revisions measure them.
TEST(Answer, ACaseOfTwoRunsIsAContenderOfEach) {
  const TemporaryFolder folder;
  MadeRun a(folder, "a"), b(folder, "b");
  for (MadeRun* run : {&a, &b})
    for (const char* strategy : {"vertex", "chunk"})
      run->add({.strategy = strategy, .rounds = {*strategy == 'v' ? 1.0 : 2.0}, .simulated = true});
  std::vector<std::string> values;
  const Answers found = answer({load_run(folder.file("a")), load_run(folder.file("b"))}, "strategy");
  ASSERT_EQ(found.questions.size(), 1u);
  for (const Contender& one : found.questions[0].contenders) values.push_back(one.value);
  EXPECT_EQ(values, (std::vector<std::string>{"vertex in " + folder.file("a"), "vertex in " + folder.file("b"),
                                              "chunk in " + folder.file("a"), "chunk in " + folder.file("b")}));
}

TEST(EpochWork, IsEqualUpToRounding) {
  EXPECT_TRUE(same_work({1000, 0, 0, 1}, {1000 * (1 + 1e-12), 0, 0, 1}));
  EXPECT_FALSE(same_work({1000, 0, 0, 1}, {1001, 0, 0, 1}));
  EXPECT_FALSE(same_work({1000, 0, 0, 1}, {0, 0, 0, 1})) << "only one side knows it";
}

TEST(Conclusion, TheNaturalFieldIsTheStrategyOrTheOnlyOneThatDiffers) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run"), widths(folder, "widths");
  run.add({.strategy = "vertex", .rounds = {1.0}, .ranks = 2});
  run.add({.strategy = "chunk", .rounds = {1.0}, .ranks = 4});
  EXPECT_EQ(natural_field(load_run(folder.file("run")).summary.rows), "strategy");
  widths.add({.strategy = "vertex", .rounds = {1.0}, .ranks = 2});
  EXPECT_EQ(natural_field(load_run(folder.file("widths")).summary.rows), "");
  widths.add({.strategy = "vertex", .rounds = {1.0}, .ranks = 4});
  EXPECT_EQ(natural_field(load_run(folder.file("widths")).summary.rows), "ranks");
}

}  // namespace
}  // namespace strobe
