#include "models/tasks/link_rules.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "models/tasks/event_task.hpp"
#include "tests/workloads/reading/bounded_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// Users 0..7 hit items 8..19, often those that they hit before; many events have one time.
EventGraph visits(std::uint64_t seed, int count) {
  const RandomStream random(seed, 1);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(4 * e + which), static_cast<std::uint64_t>(n)));
    };
    const int user = draw(0, 8), item = draw(2, 3) > 0 ? 8 + (user + draw(1, 3)) % 12 : 8 + draw(1, 12);
    rows.emplace_back(user, item, static_cast<double>(e / 2));
  }
  return test::make_events(20, rows);
}

/// The rules by their definitions: everything is counted again for every candidate.
struct Judge {
  const EventGraph& graph;
  EdgeId known = 0;  // events that the rules may see
  double window_start = 0;

  double score(const std::string& rule, VertexId source, VertexId v) const {
    double own = 0, all = 0, hits = 0;
    bool recent = false;
    for (std::size_t e = 0; e < static_cast<std::size_t>(known); ++e) {
      if (graph.target[e] != v) continue;
      hits += 1, all = static_cast<double>(e + 1);
      if (graph.source[e] != source) continue;
      own = static_cast<double>(e + 1);
      recent = recent || graph.time[e] >= window_start;
    }
    if (rule == "edgebank_unlimited_mrr") return own > 0 ? 1 : 0;
    if (rule == "edgebank_window_mrr") return recent ? 1 : 0;
    if (rule == "recency_mrr") return own > 0 ? 1e9 + own : all;
    return hits;
  }
};

/// Over the events with a kept-out end where `events` names such vertices.
double judged(const EventGraph& graph, const EventCandidates& candidates, const RankedEvents& events,
              const std::string& rule, double tie) {
  double sum = 0, count = 0;
  for (EdgeId e = events.first; e < events.last; ++e) {
    EdgeId known = events.first + (e - events.first) / events.batch * events.batch;
    for (EdgeId own = events.to_event ? e : 0; own > 0; --own) {
      known = own;
      if (graph.time[own - 1] != graph.time[e]) break;
    }
    const double span = graph.time[events.train_end - 1] - graph.time[0];
    const Judge judge{graph, known, graph.time[known - 1] - 0.15 * span};
    const std::size_t at = e;
    const auto out = [&](VertexId v) { return events.kept_out[v] == 1; };
    if (!events.kept_out.empty() && !out(graph.source[at]) && !out(graph.target[at])) continue;
    count += 1;
    const double own = judge.score(rule, graph.source[at], graph.target[at]);
    double rank = 1;
    for (const VertexId other : candidates.evaluation(e, events.candidates)) {
      const double score = judge.score(rule, graph.source[at], other);
      rank += score > own ? 1 : score == own ? tie : 0;
    }
    sum += 1 / rank;
  }
  return sum / count;
}

TEST(LinkRules, EqualTheirDefinitionsOnRandomGraphs) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = visits(seed, 300);
    const EventCandidates candidates(graph, "auto", seed);
    for (const std::int64_t batch : {1, 7, 1000}) {
      for (const auto& [wanted, to_event] :
           {std::pair{std::int64_t{4}, false}, {std::int64_t{-1}, false}, {std::int64_t{4}, true}}) {
        const RankedEvents events{210, 255, 300, batch, wanted, {}, {}, to_event};
        for (const auto& [ties, share] :
             {std::pair{TieRule::average, 0.5}, {TieRule::optimistic, 0.0}, {TieRule::pessimistic, 1.0}}) {
          const auto metrics = rule_metrics(graph, candidates, events, ties);
          ASSERT_EQ(metrics.size(), 12u);
          for (const std::string& rule : rule_names()) {
            EXPECT_NEAR(metrics.at(rule), judged(graph, candidates, events, rule, share), 1e-12)
                << rule << " seed " << seed << " batch " << batch << " candidates " << wanted;
          }
        }
      }
    }
  }
}

/// The share of (destination, first candidate of any event) in the right order.
double area(const EventGraph& graph, const EventCandidates& candidates, const RankedEvents& events,
            const std::string& rule) {
  std::vector<double> own, other;
  for (EdgeId e = events.first; e < events.last; ++e) {
    const EdgeId known = events.first + (e - events.first) / events.batch * events.batch;
    const double span = graph.time[events.train_end - 1] - graph.time[0];
    const Judge judge{graph, known, graph.time[known - 1] - 0.15 * span};
    own.push_back(judge.score(rule, graph.source[e], graph.target[e]));
    other.push_back(judge.score(rule, graph.source[e], candidates.evaluation(e, 1).front()));
  }
  double right = 0;
  for (const double a : own)
    for (const double b : other) right += a > b ? 1 : a == b ? 0.5 : 0;
  return right / static_cast<double>(own.size() * other.size());
}

TEST(LinkRules, HaveTheAreaUnderTheRocCurveOfTheirScores) {
  for (const std::uint64_t seed : {1, 2}) {
    const EventGraph graph = visits(seed, 300);
    const EventCandidates candidates(graph, "auto", seed);
    const RankedEvents events{210, 255, 300, 7, 4};
    const auto metrics = rule_metrics(graph, candidates, events, TieRule::average);
    for (const std::string& rule : rule_names()) {
      const std::string name = rule.substr(0, rule.size() - 3) + "auc";
      EXPECT_NEAR(metrics.at(name), area(graph, candidates, events, rule), 1e-12) << name;
    }
  }
}

TEST(LinkRules, AreAlsoTakenOverTheEventsWithAKeptOutEnd) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = visits(seed, 300);
    const EventCandidates candidates(graph, "auto", seed);
    std::vector<char> kept_out(20, 0);
    kept_out[seed] = kept_out[8 + 2 * seed] = 1;
    const RankedEvents events{210, 255, 300, 7, 4, kept_out}, all{210, 255, 300, 7, 4};
    const auto metrics = rule_metrics(graph, candidates, events, TieRule::average);
    ASSERT_EQ(metrics.size(), 24u);
    for (const std::string& rule : rule_names()) {
      EXPECT_NEAR(metrics.at(rule), judged(graph, candidates, all, rule, 0.5), 1e-12);
      EXPECT_NEAR(metrics.at("inductive_" + rule), judged(graph, candidates, events, rule, 0.5), 1e-12);
    }
    const std::vector<char> nobody(20, 0);
    EXPECT_EQ(rule_metrics(graph, candidates, {210, 255, 300, 7, 4, nobody}, TieRule::average).size(), 12u);
  }
}

/// The events as an edge list of the Temporal Graph Benchmark, whose vertices are names.
std::string as_tgb_writes(const EventGraph& graph) {
  std::string text = "ts,src,dst\n";
  for (std::size_t e = 0; e < graph.source.size(); ++e)
    text += fmt::format("{},user{},page{}\n", graph.time[e], graph.source[e], graph.target[e]);
  return text;
}

/// TGB's board, and sums over the same file in Python; the recency rule is refreshed by every event.
void expect_published_figures(const EventGraph& graph) {
  const auto task = EventTaskRegistry::instance().find("future-links").value;
  const auto rules_at = [&](int batch) {
    return task(Json{{"candidates", "all"}, {"batch", batch}})->draw(graph, 1).rules;
  };
  auto rules = rules_at(200);
  EXPECT_NEAR(rules["validation_edgebank_unlimited_mrr"], 0.5267, 5e-5);
  EXPECT_NEAR(rules["edgebank_unlimited_mrr"], 0.4947, 5e-5);
  EXPECT_NEAR(rules["validation_edgebank_window_mrr"], 0.5997, 5e-5);
  EXPECT_NEAR(rules["edgebank_window_mrr"], 0.5710, 5e-5);
  rules = rules_at(1);
  EXPECT_NEAR(rules["validation_recency_mrr"], 0.8415, 5e-5);
  EXPECT_NEAR(rules["recency_mrr"], 0.8206, 5e-5);
}

TEST(LinkRules, PublicFiguresOfWikipediaComeOutToFourDigits) {
  const auto file =
      std::filesystem::path(STROBE_SOURCE_DIR).parent_path() / "shared/datasets/jodie-wikipedia/wikipedia.csv.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "the data set is not there: " << file;
  const EventGraph graph = *load_events(file.string(), Json::object());
  expect_published_figures(graph);
  const test::TemporaryFolder folder;
  const EventGraph renamed = *load_events(folder.write("wikipedia_edgelist.csv", as_tgb_writes(graph)), Json::object());
  EXPECT_EQ(renamed.provenance.format, "tgb");
  expect_published_figures(renamed);
}

TEST(EventCandidates, NoCandidateIsHitByTheSourceAtThatTime) {
  // User 0 hits 8, 9 and 10 at one time: none of them is a candidate of the other two.
  const EventGraph graph = test::make_events(14, {{1, 11, 0}, {0, 8, 5}, {0, 9, 5}, {0, 10, 5}, {2, 12, 6}});
  const EventCandidates candidates(graph, "auto", 3);
  std::vector<VertexId> all = candidates.evaluation(2, -1);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<VertexId>{11, 12}));
}

/// Everybody writes to everybody, also to themselves, in bursts of one time.
EventGraph messages(std::uint64_t seed, int vertices, int count) {
  const RandomStream random(seed, 3);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which) {
      return static_cast<int>(
          random.below(static_cast<std::uint64_t>(2 * e + which), static_cast<std::uint64_t>(vertices)));
    };
    rows.emplace_back(draw(0), draw(1), static_cast<double>(e / 4));
  }
  return test::make_events(vertices, rows);
}

/// TGB's rule: of the vertices that may be negatives only what the source hits at that time is left out.
std::set<VertexId> by_rule(const EventGraph& graph, const Column<VertexId>& pool, std::size_t event, bool self) {
  std::set<VertexId> left(pool.begin(), pool.end());
  for (std::size_t e = 0; e < graph.source.size(); ++e) {
    if (graph.source[e] == graph.source[event] && graph.time[e] == graph.time[event]) left.erase(graph.target[e]);
  }
  if (!self) left.erase(graph.source[event]);
  return left;
}

TEST(EventCandidates, TheSourceIsOneUnlessItIsLeftOutOrHitsItself) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = messages(seed, 9, 120), visited = visits(seed, 120);
    for (const std::string negatives : {"auto", "targets", "any"}) {
      for (const EventGraph* events : {&graph, &visited}) {
        const EventCandidates allowed(*events, negatives, seed), out(*events, negatives, seed, SelfPairs::left_out);
        int differ = 0;
        for (std::size_t e = 0; e < events->source.size(); ++e) {
          const auto drawn = [&](const EventCandidates& candidates, std::int64_t wanted) {
            const auto all = candidates.evaluation(static_cast<EdgeId>(e), wanted);
            return std::set<VertexId>(all.begin(), all.end());
          };
          EXPECT_EQ(drawn(allowed, -1), by_rule(*events, allowed.pool(), e, true)) << negatives << " " << e;
          EXPECT_EQ(drawn(out, -1), by_rule(*events, out.pool(), e, false)) << negatives << " " << e;
          EXPECT_EQ(drawn(allowed, 100), drawn(allowed, -1)) << "a number that is more than there are";
          EXPECT_FALSE(drawn(out, 4).contains(events->source[e]));
          differ += drawn(allowed, 4).contains(events->source[e]) ? 1 : 0;
        }
        const bool one_sided = events == &graph || negatives == "any";
        EXPECT_EQ(differ > 0, one_sided) << negatives;
      }
    }
  }
}

TEST(EventCandidates, AreDistinctAndTheFirstIsTheSameForEveryNumber) {
  const EventGraph graph = visits(5, 200);
  const EventCandidates candidates(graph, "targets", 9), again(graph, "targets", 9), other(graph, "targets", 10);
  int differs = 0;
  for (EdgeId e = 0; e < 200; ++e) {
    const std::vector<VertexId> all = candidates.evaluation(e, -1);
    for (const std::int64_t wanted : {1, 2, 5, 100}) {
      const std::vector<VertexId> some = candidates.evaluation(e, wanted);
      EXPECT_EQ(some.size(), std::min(all.size(), static_cast<std::size_t>(wanted)));
      EXPECT_EQ(some.front(), all.front());
      EXPECT_EQ((std::set<VertexId>(some.begin(), some.end()).size()), some.size());
      EXPECT_EQ(some, again.evaluation(e, wanted));
    }
    differs += other.evaluation(e, 5) == candidates.evaluation(e, 5) ? 0 : 1;
  }
  EXPECT_GT(differs, 150) << "another seed draws others";
}

TEST(EventCandidates, NearlyAllOfThePoolAreUniformToo) {
  const EventGraph graph = test::make_events(14, {{0, 13, 0}, {1, 12, 1}, {2, 11, 2}});
  std::map<VertexId, int> often;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const EventCandidates candidates(graph, "any", seed);
    const std::vector<VertexId> all = candidates.evaluation(0, -1);
    ASSERT_EQ(all.size(), 13u);
    EXPECT_EQ(candidates.evaluation(0, 13), all) << "as many as there are";
    for (const VertexId v : candidates.evaluation(0, 6)) ++often[v];
  }
  // Binomial with mean 400 * 6 / 13 = 185 and deviation 10: six deviations to either side.
  for (VertexId v = 0; v < 13; ++v) EXPECT_NEAR(often[v], 185, 60) << v;
}

TEST(EventCandidates, NegativesOfTrainingDifferByGroupAndAreNeverTheEventsEnds) {
  const EventGraph graph = visits(6, 200);
  const EventCandidates candidates(graph, "any", 4);
  int differs = 0;
  for (EdgeId e = 0; e < 200; ++e) {
    for (std::int64_t n = 0; n < 3; ++n) {
      const VertexId drawn = candidates.negative(e, n, 0);
      EXPECT_NE(drawn, graph.source[e]);
      EXPECT_NE(drawn, graph.target[e]);
      differs += drawn == candidates.negative(e, n, 1) ? 0 : 1;
    }
  }
  EXPECT_GT(differs, 500);
}

TEST(EventCandidates, ImpossibleDrawsAreRefusedWithAdvice) {
  const EventGraph single = test::make_events(3, {{0, 2, 0}, {1, 2, 1}});
  EXPECT_THROW(EventCandidates(single, "auto", 1), InvalidRequest);
  EXPECT_NO_THROW(EventCandidates(single, "any", 1));
  const EventGraph both = test::make_events(3, {{0, 2, 0}, {2, 1, 1}});
  EXPECT_THROW(EventCandidates(both, "sides", 1), InvalidRequest);
  // With two targets, an event between them leaves none.
  const EventGraph two = test::make_events(2, {{0, 1, 0}, {1, 0, 1}});
  const EventCandidates pair(two, "targets", 1);
  EXPECT_THROW(pair.negative(0, 0, 0), InvalidRequest);
}

/// Many sources and targets, so that most events are the first of their pair.
EventGraph many_pairs(std::uint64_t seed, std::int64_t vertices, std::uint64_t count) {
  const RandomStream random(seed, 3);
  EventGraph graph;
  graph.vertices = vertices;
  for (std::uint64_t e = 0; e < count; ++e) {
    graph.source.push_back(static_cast<VertexId>(random.below(2 * e, static_cast<std::uint64_t>(vertices))));
    graph.target.push_back(static_cast<VertexId>(random.below(2 * e + 1, static_cast<std::uint64_t>(vertices))));
    graph.time.push_back(static_cast<double>(e / 3));
  }
  return graph;
}

TEST(LinkRules, HaveTheSameBitsWithinABoundOfMemory) {
  for (const std::uint64_t seed : {11, 12}) {
    const EventGraph graph = many_pairs(seed, 60, 60'000);
    const EventCandidates candidates(graph, "any", seed);
    const std::vector<char> kept_out(60, seed == 11 ? 1 : 0);
    for (const bool to_event : {false, true}) {
      const RankedEvents events{20'000, 30'000, 60'000, 200, 5, kept_out, {}, to_event};
      const auto judge = rule_metrics(graph, candidates, events, TieRule::average);
      const test::TemporaryFolder aside;
      const BoundedReading bound(test::bounded_mib / 4, test::folder_of(aside));
      const auto metrics = rule_metrics(graph, candidates, events, TieRule::average);
      EXPECT_EQ(metrics, judge) << seed << to_event;
      EXPECT_EQ(metrics.size(), seed == 11 ? 24U : 12U);
    }
  }
}

TEST(BoundedDataMemory, RulesOfFutureLinksTakeNoPrivateMemoryThatGrows) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const EventGraph graph = many_pairs(13, 4000, 800'000);
  const EventCandidates candidates(graph, "any", 13);
  const RankedEvents events{400'000, 500'000, 800'000, 1000, 1};
  std::map<std::string, double> metrics[2];
  const auto judge = [&](int which) { metrics[which] = rule_metrics(graph, candidates, events, TieRule::average); };
  const double without = test::most_private_bytes_within(0, [&] { judge(0); });
  const double within = test::most_private_bytes_within(4 * test::bounded_mib, [&] { judge(1); });
  RecordProperty("rules", fmt::format("{:.1f} MiB, {:.1f} MiB within the bound", without / test::bounded_mib,
                                      within / test::bounded_mib));
  EXPECT_GT(without, 25.0 * test::bounded_mib);
  EXPECT_LT(within, 4.0 * test::bounded_mib) << without / test::bounded_mib << " MiB without a bound";
  EXPECT_EQ(metrics[0], metrics[1]);
}

}  // namespace
}  // namespace strobe
