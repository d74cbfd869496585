// planted: sizes and seeds, the law as counted from the events, and the posterior of states against an enumeration of
// all their sequences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_graph.hpp"
#include "workloads/graph/event_data.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

EventGraph planted(const Json& parameters, std::uint64_t seed = 1) {
  return load_events("planted", parameters, seed).value();
}

TEST(Planted, IsAFunctionOfParametersAndSeed) {
  const Json small = {{"vertices", 200}, {"events", 3000}};
  const EventGraph graph = planted(small, 3), again = planted(small, 3), other = planted(small, 4);
  EXPECT_EQ(graph.vertices, 200);
  EXPECT_EQ(graph.events(), 3000);
  EXPECT_EQ(graph.source, again.source);
  EXPECT_EQ(graph.target, again.target);
  EXPECT_EQ(graph.time, again.time);
  EXPECT_EQ(graph.vertex_features, again.vertex_features);
  EXPECT_NE(graph.target, other.target);
  EXPECT_NE(graph.vertex_features, other.vertex_features);
  EXPECT_TRUE(graph.two_sided);
  for (std::int64_t e = 0; e < graph.events(); ++e) {
    ASSERT_LT(graph.source[e], 40);
    ASSERT_GE(graph.target[e], 40);
    ASSERT_LT(graph.target[e], 200);
    if (e > 0) {
      ASSERT_LT(graph.time[e - 1], graph.time[e]);
    }
  }
  // More events begin with the fewer ones, up to their rate.
  const EventGraph longer = planted({{"vertices", 200}, {"events", 6000}, {"span", 2e6}}, 3);
  EXPECT_TRUE(std::equal(graph.target.begin(), graph.target.end(), longer.target.begin()));
}

TEST(Planted, FeaturesOfEventsAreHalfThoseOfTheirCommunity) {
  const EventGraph graph = planted({{"vertices", 200}, {"events", 4000}, {"communities", 4}, {"edge_features", 5}}, 2);
  ASSERT_EQ(graph.edge_feature_width, 5);
  std::vector<std::vector<double>> mean(4, std::vector<double>(5, 0));
  std::vector<double> count(4, 0);
  std::vector<float> row(5);
  const auto visit = [&](const auto& call) {
    for (EdgeId e = 0; e < graph.events(); ++e) {
      edge_feature_row(graph, e, row.data());
      call(graph.planted.community_of(graph.target[e]));
    }
  };
  visit([&](std::int64_t own) {
    count[own] += 1;
    for (int f = 0; f < 5; ++f) mean[own][f] += row[f];
  });
  double within = 0, apart = 0;
  visit([&](std::int64_t own) {
    for (int f = 0; f < 5; ++f) within += std::pow(row[f] - mean[own][f] / count[own], 2) / (5 * 4000.0);
  });
  for (int f = 0; f < 5; ++f) apart = std::max(apart, std::abs(mean[0][f] / count[0] - mean[1][f] / count[1]));
  EXPECT_NEAR(within, 1.0 / 12, 0.003) << "half of a uniform value of [-1, 1)";
  EXPECT_GT(apart, 0.1);
}

TEST(Planted, ItsLawComesBackFromABinaryFile) {
  const test::TemporaryFolder folder;
  const EventGraph graph = planted({{"vertices", 60}, {"events", 400}, {"communities", 5}, {"noise", 0.2}}, 2);
  const std::string path = folder.file("p.strobe");
  write_binary_graph(graph, path);
  const EventGraph read = load_events(path, Json::object()).value();
  EXPECT_EQ(read.planted, graph.planted);
  EXPECT_EQ(read.planted.communities, 5);
}

TEST(Planted, NoiseDriftAndTempoAreThoseRequested) {
  const Json parameters = {{"vertices", 3000}, {"sources", 1000}, {"events", 200000}, {"communities", 8},
                           {"drift", 0.2},     {"noise", 0.0},    {"tempo", 3},       {"span", 5e5}};
  const EventGraph graph = planted(parameters);
  EXPECT_NEAR(graph.time[graph.events() - 1], 5e5, 1e4) << "expected time of the last event";
  std::map<VertexId, std::pair<std::int64_t, double>> newest;  // community and time of a source's last event
  double moved = 0, stayed = 0, wait_even = 0, wait_odd = 0, even = 0, odd = 0;
  std::map<std::int64_t, int> often;
  for (std::int64_t e = 0; e < graph.events(); ++e) {
    const std::int64_t own = (graph.target[e] - 1000) % 8;
    ++often[own];
    const auto found = newest.find(graph.source[e]);
    if (found != newest.end()) {
      ASSERT_TRUE(own == found->second.first || own == (found->second.first + 1) % 8) << "without noise";
      (own == found->second.first ? stayed : moved) += 1;
      const double wait = graph.time[e] - found->second.second;
      (own % 2 == 0 ? wait_even : wait_odd) += wait;
      (own % 2 == 0 ? even : odd) += 1;
    }
    newest[graph.source[e]] = {own, graph.time[e]};
  }
  EXPECT_NEAR(moved / (moved + stayed), 0.2, 0.006) << "five deviations";
  EXPECT_NEAR((wait_even / even) / (wait_odd / odd), 3, 0.08);
  for (const auto& [community, count] : often) EXPECT_NEAR(count, 25000, 2500) << community;
  const EventGraph noisy = planted(
      {{"vertices", 3000}, {"sources", 1000}, {"events", 200000}, {"communities", 8}, {"drift", 0.0}, {"noise", 0.4}});
  // Without drift a source's events are of one community, except the noise: 0.4 of them, and 1/8 of these fall in it.
  std::map<VertexId, std::map<std::int64_t, double>> counts;
  for (std::int64_t e = 0; e < noisy.events(); ++e) counts[noisy.source[e]][(noisy.target[e] - 1000) % 8] += 1;
  double most = 0;
  for (const auto& [source, of] : counts) {
    double largest = 0;
    for (const auto& [community, count] : of) largest = std::max(largest, count);
    most += largest;
  }
  EXPECT_NEAR(most / 200000, 0.65, 0.01);
}

TEST(Planted, PairsRepeatNoMoreOftenThanTheirCommunitiesSay) {
  const EventGraph graph = planted({{"vertices", 1500}, {"sources", 500}, {"events", 50000}, {"communities", 10}});
  // Given its communities, an event repeats a pair with the share of the community that the source has already hit.
  std::map<VertexId, std::set<VertexId>> known;
  std::map<VertexId, std::map<std::int64_t, double>> hit;
  double repeats = 0, expected = 0, variance = 0;
  for (std::int64_t e = 0; e < graph.events(); ++e) {
    const VertexId u = graph.source[e], v = graph.target[e];
    const std::int64_t own = (v - 500) % 10;
    const double share = hit[u][own] / 100;
    expected += share, variance += share * (1 - share);
    if (known[u].insert(v).second)
      hit[u][own] += 1;
    else
      repeats += 1;
  }
  EXPECT_NEAR(repeats, expected, 5 * std::sqrt(variance));
}

/// The probability that the next event of a source is `target`, by the sum over all sequences of its states.
double enumerated(const PlantedLinks& law, const std::vector<std::pair<double, VertexId>>& past, double time,
                  VertexId target) {
  double joint = 0, all = 0;
  const std::int64_t k = law.communities;
  const auto emits = [&](std::int64_t state, VertexId v) {
    const bool own = (v - law.first_target) % k == state;
    double members = 0;
    for (VertexId w = 0; w < law.targets; ++w) members += w % k == state ? 1 : 0;
    return law.noise / static_cast<double>(law.targets) + (own ? (1 - law.noise) / members : 0);
  };
  const auto waits = [&](std::int64_t state, double wait) {
    const double rate = state % 2 == 0 ? law.rate : law.rate * law.tempo;
    return rate * std::exp(-rate * wait);
  };
  const std::function<void(std::size_t, std::int64_t, double)> walk = [&](std::size_t n, std::int64_t state, double p) {
    const double before = n == 0 ? 0 : past[n - 1].first;
    if (n == past.size()) {
      p *= waits(state, time - before);
      all += p, joint += p * emits(state, target);
      return;
    }
    p *= waits(state, past[n].first - before) * emits(state, past[n].second);
    walk(n + 1, state, p * (1 - law.drift));
    walk(n + 1, (state + 1) % k, p * law.drift);
  };
  for (std::int64_t state = 0; state < k; ++state) walk(0, state, 1.0 / static_cast<double>(k));
  return joint / all;
}

TEST(Planted, ThePosteriorIsTheSumOverAllSequencesOfStates) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const std::int64_t communities = 2 + static_cast<std::int64_t>(seed);
    const EventGraph graph = planted({{"vertices", 17},
                                      {"sources", 3},
                                      {"events", 30},
                                      {"communities", communities},
                                      {"drift", 0.1 + 0.2 * static_cast<double>(seed)},
                                      {"noise", 0.15},
                                      {"tempo", seed % 2 == 0 ? 0.2 : 5.0}},
                                     seed);
    PlantedFilter filter(graph.planted);
    std::map<VertexId, std::vector<std::pair<double, VertexId>>> past;
    for (std::int64_t e = 0; e < graph.events(); ++e) {
      const VertexId u = graph.source[e];
      filter.look(u, graph.time[e]);
      double sum = 0;
      for (VertexId v = 0; v < 17; ++v) sum += filter.probability(v);
      EXPECT_NEAR(sum, 1, 1e-12);
      if (past[u].size() <= 10) {
        for (VertexId v = 3; v < 17; ++v)
          EXPECT_NEAR(filter.probability(v), enumerated(graph.planted, past[u], graph.time[e], v), 1e-12);
      }
      filter.learn(graph.target[e]);
      past[u].emplace_back(graph.time[e], graph.target[e]);
    }
  }
}

TEST(Planted, ProbabilitiesAreCalibrated) {
  const EventGraph graph = planted({{"events", 50000}});
  PlantedFilter filter(graph.planted);
  // The expected and the actual log probability of what happened differ by chance only.
  double surprise = 0, variance = 0;
  for (std::int64_t e = 0; e < graph.events(); ++e) {
    filter.look(graph.source[e], graph.time[e]);
    const auto& states = filter.states();
    double mean = 0, square = 0;
    for (std::size_t z = 0; z < states.size(); ++z) {
      const auto first = graph.planted.first_target + static_cast<VertexId>(z);
      const double p = filter.probability(first), share = p * static_cast<double>(graph.planted.size_of(z));
      mean += share * std::log(p), square += share * std::log(p) * std::log(p);
    }
    surprise += std::log(filter.probability(graph.target[e])) - mean;
    variance += square - mean * mean;
    filter.learn(graph.target[e]);
  }
  EXPECT_LT(std::abs(surprise), 4 * std::sqrt(variance));
}

TEST(Planted, AMillionEventsComeInSeconds) {
  const EventGraph graph = planted({{"vertices", 50000}, {"events", 1000000}});
  EXPECT_EQ(graph.events(), 1000000);
  EXPECT_EQ(graph.planted.targets, 40000);
}

TEST(Planted, RefusesTooFewTargetsAndTooManyEvents) {
  const auto refused = [](const Json& parameters, const std::string& words) {
    try {
      planted(parameters);
      ADD_FAILURE() << "accepted " << parameters.dump();
    } catch (const InvalidRequest& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused({{"vertices", 20}, {"sources", 10}}, "too few targets");
  refused({{"vertices", 20}, {"sources", 30}}, "too few targets");
  refused({{"events", 1000000000000}}, "ask for fewer");
}

}  // namespace
}  // namespace strobe
