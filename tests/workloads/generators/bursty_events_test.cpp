// bursty_events: sizes, sides, seeds, threads, what is made on demand, and refusals.
#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/generators/bursty_support.hpp"
#include "workloads/continuous/recent_repeats.hpp"
#include "workloads/generators/bursty_parameters.hpp"
#include "workloads/generators/event_generation.hpp"
#include "workloads/graph/event_data.hpp"
#include "workloads/graph/sides.hpp"

namespace strobe {
namespace {

using test::bursty;
using test::expect_equal_events;
using test::full_bursty;

TEST(BurstyEvents, SizesTimesAndSidesAreThoseAskedFor) {
  for (const int sides : {1, 2}) {
    Json parameters = full_bursty;
    parameters["sides"] = sides, parameters["span"] = 5000;
    if (sides == 2) parameters["sources"] = 200;
    const EventGraph events = bursty(parameters);
    EXPECT_EQ(events.vertices, 300);
    EXPECT_EQ(events.events(), 20000);
    EXPECT_EQ(events.target.size(), 20000u);
    EXPECT_EQ(events.time.front(), 0);
    EXPECT_EQ(events.time.back(), 5000);
    EXPECT_EQ(events.original_id.size(), 300u);
    EXPECT_EQ(events.two_sided, sides == 2);
    EXPECT_EQ(events.provenance.rows, 20000);
    EXPECT_NE(events.provenance.source.find("seed 1"), std::string::npos);
    std::set<VertexId> seen;
    for (std::size_t e = 0; e < events.source.size(); ++e) {
      ASSERT_TRUE(e == 0 || events.time[e - 1] <= events.time[e]);
      ASSERT_NE(events.source[e], events.target[e]) << "a self-loop";
      seen.insert(events.source[e]), seen.insert(events.target[e]);
    }
    EXPECT_EQ(seen.size(), 300u) << "every vertex has an event";
    const EventSides side = sides_of(events);
    if (sides == 1) {
      EXPECT_TRUE(side.empty());
    } else {
      ASSERT_EQ(side.size(), 300u);
      for (std::size_t v = 0; v < side.size(); ++v) ASSERT_EQ(side[v], v < 200 ? 0 : 1) << v;
    }
  }
}

TEST(BurstyEvents, PublishedSizesAreDefaults) {
  struct Published {
    const char* like;
    std::int64_t vertices, sources, events;
    int sides;
    double span;
    int edge_features;
  };
  for (const Published& p : {Published{"wikipedia", 9227, 8227, 157474, 2, 2.7e6, 172},
                             {"reddit", 10984, 10000, 672447, 2, 2.7e6, 172},
                             {"mooc", 7144, 7047, 411749, 2, 2.6e7, 0},
                             {"flights", 13169, 0, 1927145, 1, 1e7, 0},
                             {"gdelt", 16682, 0, 191290882, 1, 1.6e8, 130}}) {
    const Json complete = complete_workload_parameters("bursty_events", {{"like", p.like}}, "");
    EXPECT_EQ(complete.at("vertices"), p.vertices) << p.like;
    EXPECT_EQ(complete.at("sources"), p.sources) << p.like;
    EXPECT_EQ(complete.at("events"), p.events) << p.like;
    EXPECT_EQ(complete.at("sides"), p.sides) << p.like;
    EXPECT_EQ(complete.at("span"), p.span) << p.like;
    EXPECT_EQ(complete.at("edge_features"), p.edge_features) << p.like;
    EXPECT_EQ(complete_workload_parameters("bursty_events", complete, ""), complete) << "complete stays complete";
    const Json own = complete_workload_parameters("bursty_events", {{"like", p.like}, {"events", 500}}, "");
    EXPECT_EQ(own.at("events"), 500) << "what is given comes first";
  }
  EXPECT_EQ(complete_workload_parameters("bursty_events", {{"like", "gdelt"}}, "").at("vertex_features"), 413);
  EXPECT_EQ(complete_workload_parameters("bursty_events", {{"like", "wikipedia"}, {"vertices", 500}}, "")["sources"], 0)
      << "8,227 sources would leave no targets";
  const EventGraph wikipedia = bursty({{"like", "wikipedia"}});
  EXPECT_EQ(wikipedia.vertices, 9227);
  EXPECT_EQ(wikipedia.events(), 157474);
  EXPECT_EQ(wikipedia.time.back(), 2.7e6);
  const EventSides side = sides_of(wikipedia);
  EXPECT_EQ(std::count(side.begin(), side.end(), 0), 8227);
  EXPECT_EQ(std::count(side.begin(), side.end(), 1), 1000);
  const RecentRepeats repeats = count_recent_repeats(wikipedia);
  EXPECT_NEAR(static_cast<double>(repeats.repeated) / static_cast<double>(repeats.asked), 0.898, 0.01) << "as its file";
}

TEST(BurstyEvents, OneSeedGivesOneGraphWithAnyNumberOfThreads) {
  const EventGraph alone = [&] {
    const test::Threads one(1);
    return bursty(full_bursty, 7);
  }();
  for (const int count : {2, 5}) {
    const test::Threads threads(count);
    expect_equal_events(alone, bursty(full_bursty, 7));
  }
  for (const std::uint64_t seed : {std::uint64_t{8}, std::uint64_t{7} + (std::uint64_t{1} << 32)}) {
    const EventGraph other = bursty(full_bursty, seed);
    EXPECT_NE(other.source, alone.source.copy());
    EXPECT_NE(other.target, alone.target.copy());
    EXPECT_NE(other.vertex_features, alone.vertex_features.copy());
  }
}

TEST(BurstyEvents, FeaturesAreMadeFromTheNumberOfTheEvent) {
  const EventGraph events = bursty(full_bursty, 7);
  EXPECT_EQ(events.edge_feature_width, 5);
  EXPECT_TRUE(events.edge_features.empty()) << "never stored";
  std::vector<float> row(5), again(5), other(5);
  double sum = 0, squares = 0;
  for (EdgeId e = events.events() - 1; e >= 0; --e) {
    edge_feature_row(events, e, row.data());
    for (const float x : row) {
      ASSERT_TRUE(x >= -1 && x < 1);
      sum += static_cast<double>(x), squares += static_cast<double>(x) * static_cast<double>(x);
    }
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.01);
  EXPECT_NEAR(squares / 1e5, 1.0 / 3, 0.01);
  edge_feature_row(events, 17, row.data());
  edge_feature_row(bursty(full_bursty, 7), 17, again.data());
  edge_feature_row(bursty(full_bursty, 9), 17, other.data());
  EXPECT_EQ(row, again);
  EXPECT_NE(row, other) << "of another seed";
  edge_feature_row(events, 18, other.data());
  EXPECT_NE(row, other) << "of another event";
}

TEST(BurstyEvents, BinaryFilesKeepTheSettingsOfFeaturesAndClasses) {
  const test::TemporaryFolder folder;
  const EventGraph events = bursty(full_bursty, 7);
  write_binary_graph(events, folder.file("a.strobe"));
  const EventGraph back = read_events(folder.file("a.strobe"));
  expect_equal_events(events, back);
  EXPECT_EQ(back.edge_feature_width, 5);
  EXPECT_TRUE(back.edge_features.empty());
  EXPECT_EQ(back.provenance.ids, "offset");
}

std::string refused_bursty(const Json& parameters) {
  try {
    bursty(parameters);
  } catch (const InvalidRequest& error) {
    return error.where();
  }
  return "";
}

TEST(BurstyEvents, ImpossibleParametersAreNamed) {
  EXPECT_EQ(refused_bursty({{"burst", 1}}), "/burst");
  EXPECT_EQ(refused_bursty({{"burst", 1.5}}), "/workload/burst");
  EXPECT_EQ(refused_bursty({{"events", 0}}), "/workload/events");
  EXPECT_EQ(refused_bursty({{"sources", 1000}}), "/sources");
  EXPECT_EQ(refused_bursty({{"sources", 2000}}), "/sources");
  EXPECT_EQ(refused_bursty({{"sources", 10}, {"sides", 1}}), "/sources");
  EXPECT_EQ(refused_bursty({{"vertices", 15}}), "/vertices") << "eight targets";
  EXPECT_EQ(refused_bursty({{"vertices", 20}}), "");
  EXPECT_EQ(refused_bursty({{"span", 10}, {"burst_decay", 11}}), "/burst_decay");
  EXPECT_EQ(refused_bursty({{"classes", 3}, {"classes_per_event", 4}}), "/classes_per_event");
  EXPECT_EQ(refused_bursty({{"like", "wikipedai"}}), "/workload/like");
  EXPECT_EQ(refused_bursty({{"windw", "1d"}}), "/workload/windw");
  EXPECT_EQ(refused_bursty({{"window", "1d"}, {"window_count", 3}}), "/workload");
  EXPECT_EQ(refused_bursty({{"events", 1}}), "");
  EXPECT_EQ(refused_bursty({{"events", 1000000000000}}), "/events") << "terabytes";
  EXPECT_EQ(refused_bursty({{"vertices", 2147483647}, {"vertex_features", 60000}}), "/vertices");
}

/// Lowers what the process may take, and takes that back.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::uint64_t bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit lower{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &lower);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(BurstyEvents, OversizedGraphsAreRefusedBeforehand) {
  const auto parameters = from_json<BurstyParameters>(bursty_fields(), bursty_preset({{"like", "gdelt"}}), "");
  EXPECT_LT(bursty_bytes(parameters), 24.0 * (1u << 30)) << "191 M events fit 24 GiB";
  EXPECT_GT(bursty_bytes(parameters), 3.5e9);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more address space than any limit";
#endif
  std::string message;
  {
    const MemoryLimit limit(std::uint64_t{3} << 30);
    try {
      bursty({{"like", "gdelt"}});
    } catch (const InvalidRequest& error) {
      message = error.what();
    }
  }
  EXPECT_NE(message.find("191,290,882 events of 16,682 vertices need"), std::string::npos) << message;
  EXPECT_NE(message.find("ask for fewer events"), std::string::npos) << message;
}

TEST(BurstyEvents, StepsAreCutLikeThoseOfAFile) {
  const Json parameters = {{"vertices", 100}, {"events", 5000}, {"labels", 0.1}, {"vertex_features", 3}};
  const SnapshotGraph slices = load_workload("bursty_events", parameters, 1);
  EXPECT_EQ(slices.steps(), 20);
  EXPECT_TRUE(test::any_note(slices, "cut into 20 equal slices"));
  Json days = parameters;
  days["window"] = "1d", days["features"] = "own";
  const SnapshotGraph steps = load_workload("bursty_events", days, 1);
  EXPECT_EQ(steps.steps(), 12) << "a million seconds";
  EXPECT_EQ(steps.feature_width, 3);
  double values = 0;
  for (const auto& snapshot : steps.snapshots)
    for (const float value : snapshot->values) values += static_cast<double>(value);
  EXPECT_EQ(values, 5000) << "every event is in one step";
  EXPECT_EQ(steps.side.size(), 100u);
  days["feature_scale"] = "log1p";
  EXPECT_EQ(load_workload("bursty_events", days, 1).steps(), 12);
  const Json complete = complete_workload_parameters("bursty_events", days, "");
  EXPECT_EQ(complete["window"], "1d");
  EXPECT_EQ(complete["feature_scale"], "log1p");
  EXPECT_EQ(complete_workload_parameters("bursty_events", complete, ""), complete);
}

TEST(BurstyEvents, ParametersAndOptionsForStepsHaveDifferentNames) {
  for (const auto& [name, entry] : EventGeneratorRegistry::instance().entries()) {
    for (const std::string& parameter : entry.parameters.names()) EXPECT_FALSE(is_step_option(parameter)) << parameter;
    const std::vector<std::string> names = event_workload_fields(name).names();
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    EXPECT_EQ(std::count(names.begin(), names.end(), "window"), 1);
  }
}

TEST(BurstyEvents, InspectionReportsEventsRepeatsAndSpan) {
  const Json report = inspect_workload("bursty_events", {{"vertices", 100}, {"events", 5000}, {"repeat", 1}}, 1);
  EXPECT_EQ(report["vertices"], 100);
  EXPECT_EQ(report["events"], 5000);
  EXPECT_EQ(report["first_time"], 0.0);
  EXPECT_EQ(report["last_time"], 1e6);
  EXPECT_EQ(report["recent_repeats"], 1.0);
  EXPECT_EQ(report["ids"], "offset");
  EXPECT_TRUE(report["sha256"].is_null());
  EXPECT_EQ(report["steps"], 20);
  const Json other = inspect_workload("bursty_events", {{"vertices", 100}, {"events", 5000}}, 2);
  EXPECT_NE(other["source"], report["source"]);
  EXPECT_NE(other["source"].get<std::string>().find("seed 2"), std::string::npos);
}

}  // namespace
}  // namespace strobe
