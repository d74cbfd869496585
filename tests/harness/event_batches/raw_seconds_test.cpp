// Ranks that share a batch, on events as far apart in seconds as those of real files. A trained frequency is multiplied
// by seconds, and rounding with it, so what must be equal differs between fixed and trained encodings.
#include <gtest/gtest.h>

#include "harness/event_batches/batches/event_case.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;
using event_test::expect_near;
using event_test::train;
using event_test::TrainedRun;

/// Some months, with bursts and runs of events at the same second.
std::string months(const test::TemporaryFolder& folder, std::uint64_t seed, int count) {
  const RandomStream random(seed, 5);
  std::int64_t second = 1'080'000'000;  // since 1970, as in files of real events
  return event_test::jodie_file(folder, fmt::format("months{}.csv", seed), count, [&](int e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(6 * e + which), static_cast<std::uint64_t>(n)));
    };
    if (draw(0, 3) > 0) second += draw(1, 4) > 0 ? draw(2, 60) : 100'000 + draw(2, 100'000);
    return fmt::format("{},{},{},0,{}", draw(3, 15), draw(4, 20), second, draw(5, 8) / 8.0);
  });
}

std::vector<Json> models_with(const char* time_encoding) {
  std::vector<Json> all = {Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}},
                           Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"mail_dt", "event_minus_memory"}},
                           Json{{"name", "jodie"}, {"memory", 6}, {"time", 4}},
                           Json{{"name", "jodie"}, {"memory", 6}, {"time", 4}, {"mail_dt", "event_minus_memory"}},
                           Json{{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}};
  for (Json& model : all) model["time_encoding"] = time_encoding;
  return all;
}

Json sharing(int ranks, int batch) {
  return {{"ranks", ranks}, {"strategy", {{"name", "event_batch"}, {"i", ranks}, {"batch", batch / ranks}}}};
}

Json with_model(Json changes, const Json& model) {
  changes["model"] = model;
  return changes;
}

void expect_same(const TrainedRun& shared, const TrainedRun& one, const std::string& what) {
  expect_near(shared.result.loss.per_epoch, one.result.loss.per_epoch, 1e-10, what + ": losses");
  expect_near(shared.weights, one.weights, 1e-10, what + ": weights");
  EXPECT_TRUE(shared.result.exact) << what;
}

TEST(RawSeconds, RanksThatShareABatchAreOneRankWithFixedEncodings) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::string visits = months(folder, seed, 260 + 13 * static_cast<int>(seed));
    for (const Json& model : models_with("fixed")) {
      const TrainedRun one =
          train(folder, event_case(visits, with_model({{"strategy", {{"name", "sequential"}, {"batch", 24}}}}, model)));
      for (const int ranks : {2, 3}) {
        Json changes = with_model(sharing(ranks, 24), model);
        const std::string what = fmt::format("{} at {}, seed {}", model.dump(), ranks, seed);
        expect_same(train(folder, event_case(visits, changes)), one, what);
        changes.update({{"device", "sim"}, {"numerics", "cpu"}, {"cluster", "g4dn-t4"}});
        expect_same(train(folder, event_case(visits, changes)), one, what + ", simulated");
      }
    }
  }
}

/// Before rounding is enlarged, trained encodings keep the law too: the first update is that of one rank.
TEST(RawSeconds, TheFirstUpdateOfTrainedEncodingsIsThatOfOneRank) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t seed : {4, 5}) {
    const std::string visits = months(folder, seed, 240);
    const int batch = 168;  // all training events
    ASSERT_EQ(begin_event_case(event_case(visits)).training_events(), batch);
    const Json once = {{"epochs", 1}, {"optimizer", {{"name", "sgd"}, {"rate", 0.01}}}};
    for (const Json& model : models_with("trained")) {
      Json alone = with_model(once, model);
      alone["strategy"] = {{"name", "sequential"}, {"batch", batch}};
      const TrainedRun one = train(folder, event_case(visits, alone));
      for (const int ranks : {2, 3, 7}) {
        Json shared = with_model(once, model);
        shared.update(sharing(ranks, batch));
        expect_same(train(folder, event_case(visits, shared)), one, fmt::format("{} at {}", model.dump(), ranks));
      }
    }
  }
}

TEST(RawSeconds, RowsOnSeveralRanksSayThatRoundingIsEnlarged) {
  const test::TemporaryFolder folder;
  const std::string visits = months(folder, 6, 240), brief = event_test::short_visits(folder, 6, 240);
  const auto says = [&](const std::string& file, const Json& changes) {
    const CaseResult result = run_case(event_case(file, changes));
    EXPECT_EQ(result.status, "ok") << result.reason;
    return std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
      return note.starts_with("trained time encodings enlarge rounding");
    });
  };
  for (const Json& model : models_with("trained"))
    EXPECT_TRUE(says(visits, with_model(sharing(2, 24), model))) << model;
  for (const Json& model : models_with("fixed")) EXPECT_FALSE(says(visits, with_model(sharing(2, 24), model))) << model;
  EXPECT_FALSE(says(visits, {{"strategy", {{"name", "event_batch"}, {"batch", 24}}}}));
  EXPECT_FALSE(says(brief, sharing(2, 24)));
  Json copies = sharing(2, 24);
  copies["strategy"] = {{"name", "event_batch"}, {"k", 2}, {"batch", 24}};
  EXPECT_FALSE(says(visits, copies)) << "it does not claim to be exact";
  Json shapes = sharing(2, 24);
  shapes.update({{"device", "sim"}, {"numerics", "none"}, {"cluster", "g4dn-t4"}});
  EXPECT_FALSE(says(visits, shapes));
}

}  // namespace
}  // namespace strobe
