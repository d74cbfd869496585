// bursty_events: what is promised of arrivals, targets, labels and classes, counted from the events themselves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "tests/workloads/generators/bursty_support.hpp"
#include "workloads/continuous/recent_repeats.hpp"
#include "workloads/graph/event_data.hpp"

namespace strobe {
namespace {

using test::bursty;
using test::full_bursty;

/// Standard deviation over mean of the times between consecutive events, of all or of each source (all gaps together).
double variation_of_gaps(const EventGraph& events, bool of_sources) {
  std::map<VertexId, double> last;
  double count = 0, sum = 0, squares = 0;
  for (std::size_t e = 0; e < events.source.size(); ++e) {
    const VertexId source = of_sources ? events.source[e] : 0;
    if (const auto before = last.find(source); before != last.end()) {
      const double gap = events.time[e] - before->second;
      count += 1, sum += gap, squares += gap * gap;
    }
    last[source] = events.time[e];
  }
  const double mean = sum / count;
  return std::sqrt(squares / count - mean * mean) / mean;
}

TEST(BurstyStatistics, RepeatsAreAsManyAsAsked) {
  for (const double asked : {0.0, 0.3, 0.85}) {
    for (const int sides : {1, 2}) {
      for (const double skew : {0.0, 1.5}) {
        const EventGraph events =
            bursty({{"vertices", 60}, {"events", 40000}, {"sides", sides}, {"repeat", asked}, {"skew", skew}}, 3);
        const RecentRepeats found = count_recent_repeats(events);
        const double count = found.asked;
        const double sigma = std::sqrt(asked * (1 - asked) / count);
        EXPECT_NEAR(static_cast<double>(found.repeated) / count, asked, 3 * sigma) << sides << " " << skew;
        EXPECT_GT(count, 39900);
      }
    }
  }
}

TEST(BurstyStatistics, RepeatsAreCountedAmongTheLastEightTargets) {
  std::vector<std::tuple<int, int, double>> rows;
  for (int i = 0; i < 9; ++i) rows.emplace_back(0, 2 + i, i);  // 2 is now the ninth from the end
  rows.emplace_back(0, 2, 9), rows.emplace_back(0, 4, 10), rows.emplace_back(1, 4, 11);
  EXPECT_EQ(count_recent_repeats(test::make_events(20, rows)), (RecentRepeats{10, 1})) << "4 alone; 1 had none before";
}

TEST(BurstyStatistics, ArrivalsAreBurstyWhenEventsSetOffOthers) {
  const Json parameters = {{"vertices", 200}, {"events", 40000}, {"span", 1e6}, {"burst_decay", 20}, {"skew", 0}};
  const auto with = [&](double burst) {
    Json all = parameters;
    all["burst"] = burst;
    return bursty(all, 5);
  };
  const EventGraph even = with(0), burst = with(0.8);
  // The gaps of a Poisson process are exponential: deviation and mean are equal, up to about 1 / sqrt(events).
  EXPECT_NEAR(variation_of_gaps(even, false), 1, 0.03);
  EXPECT_NEAR(variation_of_gaps(even, true), 1, 0.05);
  EXPECT_GT(variation_of_gaps(burst, false), 1.3);
  EXPECT_GT(variation_of_gaps(burst, true), 2);
}

/// In a Hawkes process the number of events in long windows has variance / mean = 1 / (1 - burst)^2.
TEST(BurstyStatistics, CountsVaryAsTheBranchingRatioSays) {
  for (const double burst : {0.0, 0.5}) {
    const EventGraph events =
        bursty({{"vertices", 200}, {"events", 400000}, {"span", 4e5}, {"burst", burst}, {"burst_decay", 2}}, 8);
    std::vector<double> counts(4000, 0);
    for (const double time : events.time)
      counts[std::min<std::size_t>(static_cast<std::size_t>(time / 100), 3999)] += 1;
    double squares = 0;
    for (const double count : counts) squares += (count - 100) * (count - 100);
    const double ratio = squares / 4000 / 100, expected = 1 / ((1 - burst) * (1 - burst));
    EXPECT_NEAR(ratio, expected, 0.12 * expected) << burst;
  }
}

TEST(BurstyStatistics, LabelsHaveTheirShareAndReflectBursts) {
  for (const double share : {0.02, 0.5, 0.97}) {
    const EventGraph events =
        bursty({{"vertices", 100}, {"events", 50000}, {"labels", share}, {"burst", 0.6}, {"burst_decay", 1}}, 2);
    const double ones = std::count(events.event_label.begin(), events.event_label.end(), 1);
    // The number of events that others set off varies by about 1 / (1 - burst) times what independent ones would.
    EXPECT_NEAR(ones / 50000, share, 4 * std::sqrt(share * (1 - share) / 50000)) << share;
    if (share > 0.5) continue;
    std::map<VertexId, double> last;
    double soon = 0, soon_ones = 0;
    for (std::size_t e = 0; e < events.source.size(); ++e) {
      const auto before = last.find(events.source[e]);
      if (before != last.end() && events.time[e] - before->second < 2) soon += 1, soon_ones += events.event_label[e];
      last[events.source[e]] = events.time[e];
    }
    EXPECT_GT(soon_ones / soon, 1.2 * share) << "labels follow bursts";
  }
  EXPECT_TRUE(bursty({{"events", 100}}).event_label.empty()) << "without a share there are no labels";
}

TEST(BurstyStatistics, SkewMakesSomeSourcesAndTargetsBusy) {
  const auto busiest = [](double skew, bool of_sources) {
    const EventGraph events = bursty({{"vertices", 400}, {"events", 40000}, {"skew", skew}, {"repeat", 0}}, 4);
    std::vector<double> count(400, 0);
    for (const VertexId v : of_sources ? events.source : events.target) count[v] += 1;
    return *std::max_element(count.begin(), count.end()) / 200;  // mean: 200 events a vertex of its side
  };
  for (const bool of_sources : {true, false}) {
    EXPECT_LT(busiest(0, of_sources), 2) << of_sources;
    EXPECT_GT(busiest(1.2, of_sources), 8) << of_sources;
  }
}

/// Among events that are no repeats, four in five and a fair share of the others go to the preferred topic.
TEST(BurstyStatistics, TargetsFollowPreferencesThatDrift) {
  const Json parameters = {{"vertices", 2000}, {"sources", 400}, {"events", 40000}, {"repeat", 0},
                           {"drift", 10},      {"skew", 0},      {"classes", 8}};
  const EventGraph events = bursty(parameters, 6);
  const EventTopics topics = events.event_class_source.topics;
  EXPECT_GT(topics.topics, 10);
  double preferred = 0, as_at_first = 0, changes = 0;
  for (std::size_t e = 0; e < events.source.size(); ++e) {
    const std::int64_t found = topics.of_target(events.target[e]);
    preferred += found == topics.of_source(events.source[e], events.time[e]);
    as_at_first += events.time[e] > 0.3e6 && found == topics.of_source(events.source[e], 0);
  }
  EXPECT_NEAR(preferred / 40000, 0.8, 0.05);
  EXPECT_LT(as_at_first / 40000, 0.1) << "three periods later hardly anybody looks for the same";
  for (VertexId u = 0; u < 400; ++u)
    for (int i = 0; i < 1000; ++i) changes += topics.of_source(u, i * 1e3) != topics.of_source(u, (i + 1) * 1e3);
  const double kinds = topics.topics;
  EXPECT_NEAR(changes / 400, 10 * (1 - 1 / kinds), 0.3) << "ten changes a source, some to the same topic";
}

/// Counts of classes by topic of the source predict classes of later events better than those of another topic.
TEST(BurstyStatistics, ClassesAreSeveralAndReflectTopics) {
  Json parameters = full_bursty;
  parameters["classes"] = 56, parameters["classes_per_event"] = 6, parameters["vertices"] = 3000;
  const EventGraph events = bursty(parameters, 7);
  const EventTopics topics = events.event_class_source.topics;
  std::map<std::int64_t, std::vector<double>> counts;
  double own = 0, any = 0;
  for (EdgeId e = 0; e < events.events(); ++e) {
    const std::size_t at = e;
    std::uint64_t bits = 0;
    ASSERT_TRUE(event_classes(events, e, bits));
    ASSERT_EQ(std::popcount(bits), 6);
    ASSERT_EQ(bits >> 56, 0u);
    const std::int64_t topic = topics.of_source(events.source[at], events.time[at]);
    auto& count = counts.try_emplace(topic, 56, 0.0).first->second;
    if (e >= 15000) {
      std::vector<std::size_t> order(56);
      for (std::size_t c = 0; c < 56; ++c) order[c] = c;
      std::partial_sort(order.begin(), order.begin() + 3, order.end(),
                        [&](std::size_t a, std::size_t b) { return count[a] > count[b]; });
      for (int i = 0; i < 3; ++i) own += bits >> order[i] & 1;
      any += 3 * 6.0 / 56;
    }
    for (std::size_t c = 0; c < 56; ++c) count[c] += bits >> c & 1;
  }
  EXPECT_GT(own, 5 * any) << "the three most usual classes of a topic against chance";
  std::uint64_t bits = 1;
  EXPECT_FALSE(event_classes(bursty({{"events", 10}}), 0, bits));
  EXPECT_EQ(bits, 0u);
}

}  // namespace
}  // namespace strobe
