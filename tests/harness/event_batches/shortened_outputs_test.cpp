// Scores of judged events that keep only what metrics read: every metric, rank and remark as from all scores.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/random.hpp"
#include "harness/event_batches/trainer/evaluation_pass.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

/// 400 events among 40 vertices, two at a time.
EventGraph pairs_of_letters(std::uint64_t seed) {
  const RandomStream random(seed, 3);
  std::vector<std::tuple<int, int, double>> rows;
  for (std::uint64_t e = 0; e < 400; ++e)
    rows.emplace_back(static_cast<int>(random.below(2 * e, 40)), static_cast<int>(random.below(2 * e + 1, 40)),
                      static_cast<double>(e / 2));
  return test::make_events(40, rows);
}

/// Scores of `events` events in steps of up to 9, of up to `most` columns; `kinds` different scores.
ComingOutputs scored(const EventTask& task, std::uint64_t seed, std::int64_t events, std::int64_t most,
                     std::uint64_t kinds, bool keeps_all) {
  const RandomStream random(seed, 5);
  std::uint64_t next = 0;
  ComingOutputs outputs(task, events, keeps_all);
  for (std::int64_t done = 0; done < events;) {
    const auto count = std::min<std::int64_t>(events - done, 1 + static_cast<std::int64_t>(random.below(next++, 9)));
    const std::int64_t columns = most - static_cast<std::int64_t>(random.below(next++, most > 6 ? 3 : 1));
    std::vector<double> values;
    std::vector<std::int64_t> counts;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool alone = most > 6 && random.below(next++, 20) == 0;  // no candidate
      counts.push_back(alone ? 1 : columns - static_cast<std::int64_t>(random.below(next++, most > 6 ? 3 : 1)));
      for (std::int64_t c = 0; c < columns; ++c)
        values.push_back(0.1 * static_cast<double>(random.below(next++, kinds)));
    }
    outputs.add(values.data(), columns, counts);
    done += count;
  }
  return outputs;
}

TEST(ShortenedOutputs, HaveTheMetricsAndRanksOfAllScores) {
  const std::vector<std::pair<Json, std::int64_t>> cases{{Json::object(), 12},           {{{"ties", "optimistic"}}, 50},
                                                         {{{"ties", "pessimistic"}}, 9}, {{{"kept_out", 0.15}}, 12},
                                                         {{{"links", "new"}}, 12},       {{{"candidates", "1"}}, 2},
                                                         {{{"protocol", "dyglib"}}, 3},  {{{"protocol", "tgn"}}, 3}};
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = pairs_of_letters(seed);
    for (const auto& [options, most] : cases) {
      const auto& entry = EventTaskRegistry::instance().find("future-links");
      const auto task = entry.value(options);
      const EventTaskData data = task->draw(graph, seed);
      const EdgeId first = data.split.validation_end;
      const std::int64_t events = graph.events() - first;
      for (const std::uint64_t kinds : {1, 7, 1'000'000}) {
        const ComingOutputs all = scored(*task, seed, events, most, kinds, true);
        const ComingOutputs some = scored(*task, seed, events, most, kinds, false);
        const auto expected = task->metrics(graph, data, first, all.outputs());
        const auto found = task->metrics(graph, data, first, some.outputs());
        ASSERT_GE(expected.size(), 3u) << options;
        ASSERT_EQ(found.size(), expected.size());
        for (const auto& [name, value] : expected)
          EXPECT_TRUE(found.at(name) == value) << options << name << " " << value << " " << found.at(name);
        EXPECT_EQ(task->ranks(some.outputs()), task->ranks(all.outputs()));
        EXPECT_EQ(some.all_equal(), all.all_equal());
        EXPECT_EQ(some.all_equal(), kinds == 1);
        EXPECT_EQ(static_cast<std::int64_t>(some.outputs().values.capacity()),
                  std::min<std::int64_t>(3, most) * events);
      }
    }
  }
}

TEST(ShortenedOutputs, KeepScoresThatAreNoNumbers) {
  const auto task = EventTaskRegistry::instance().find("future-links").value(Json::object());
  const EventGraph graph = pairs_of_letters(1);
  const EventTaskData data = task->draw(graph, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ComingOutputs outputs(*task, 1, false);
  const std::vector<double> values{1, 0, 0, 0, nan};
  outputs.add(values.data(), 5, {5});
  EXPECT_TRUE(std::isnan(task->metrics(graph, data, data.split.validation_end, outputs.outputs()).at("mrr")));
  EXPECT_FALSE(outputs.all_equal());
}

TEST(ShortenedOutputs, AreAllOutputsWhereATaskReadsAll) {
  EventGraph graph = pairs_of_letters(1);
  std::vector<std::int8_t> labels;
  for (std::int64_t e = 0; e < graph.events(); ++e) labels.push_back(static_cast<std::int8_t>(e % 5));
  graph.event_label = labels;
  const auto task = EventTaskRegistry::instance().find("event-classification").value(Json::object());
  const ComingOutputs outputs = scored(*task, 1, 80, 5, 9, false);
  EXPECT_EQ(outputs.outputs().values.size(), 400u);
  EXPECT_TRUE(outputs.outputs().reciprocal.empty());
}

}  // namespace
}  // namespace strobe
