// Counts of real files that stand beside the source tree when they are there; skipped with a reason when not.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "workloads/workload.hpp"

namespace strobe {
namespace {

struct Dataset {
  const char* file;
  const char* format;
  std::int64_t events, vertices;
  std::int64_t self_loops, duplicates;  // -1 = not known
  bool sorted;
  const char* window;
  std::int64_t windows, non_empty, largest_window;  // 0 = not known; the largest counts events
  double first = -1, last = -1;                     // times, -1 = not known
  const char* ids = "auto";
};

const Dataset table[] = {
    {"sx-mathoverflow/sx-mathoverflow.txt.gz", "snap", 506550, 24818, 116109, 27, false, "30d", 79, 79, 10154},
    {"sx-mathoverflow/sx-mathoverflow.txt.gz", "snap", 506550, 24818, 116109, 27, false, "7d", 336, 336, 2566},
    {"email-Eu-core-temporal/email-Eu-core-temporal.txt.gz", "snap", 332334, 986, -1, 4998, false, "7d", 115, 78, 9694},
    {"email-Eu-core-temporal/email-Eu-core-temporal.txt.gz", "snap", 332334, 986, -1, 4998, false, "1d", 804, 526,
     2270},
    {"konect-chess/out.chess.csv", "konect", 65053, 7301, -1, -1, true, "31d", 98, 0, 0},
    {"konect-opsahl-ucsocial/out.opsahl-ucsocial", "konect", 59835, 1899, -1, 37, true, "7d", 28, 0, 0},
    {"konect-munmun_digg_reply/out.munmun_digg_reply", "konect", 87627, 30398, -1, -1, false, "1d", 0, 0, 0},
    {"bitcoin-otc/soc-sign-bitcoinotc.csv.gz", "snap-signed", 35592, 5881, 0, 0, true, "1200000s", 138, 138, 1433,
     1289241911.72836, 1453684323.75728},
    {"bitcoin-otc/soc-sign-bitcoinotc.with-header.csv", "snap-signed", 35592, 5881, 0, 0, true, "1200000s", 138, 138,
     1433, 1289241911.72836, 1453684323.75728},
    {"netrepo-fb-forum/fb-forum.edges", "network-repository", 33720, 899, 34, 4, true, "7d", 24, 24, 0, 1084585996,
     1098798101},
    {"netrepo-fb-forum/fb-forum.edges", "network-repository", 33720, 899 + 522, 0, 4, true, "7d", 24, 24, 0, 1084585996,
     1098798101, "offset"},
    {"netrepo-ia-contacts_hypertext2009/ia-contacts_hypertext2009.edges", "network-repository", 20818, 113, 0, 0, true,
     "1d", 3, 3, 0, 20, 212360},
    {"netrepo-ia-enron-employees/ia-enron-employees.edges", "network-repository", 50572, 151, 3484, 24106, true, "7d",
     0, 0, 0, 926389620, 1024674019},
    {"sociopatterns-SFHH/tij_SFHH.dat_", "sociopatterns", 70261, 403, 0, 0, true, "1h", 32, 0, 0, 32520, 146820},
    {"jodie-wikipedia/wikipedia.csv.gz", "jodie", 157474, 9227, 0, 0, true, "1d", 31, 31, 6087, 0, 2678373},
    {"jodie-format-fixture/lastfm.csv", "jodie", 39, 45, 0, 0, true, "1h", 12, 0, 0, 0, 41282},
    {"jodie-format-fixture/lastfm.csv", "jodie", 39, 34, 3, 0, true, "1h", 12, 0, 0, 0, 41282, "shared"},
    {"movielens-latest-small/ratings.csv", "movielens", 100004, 9737, 0, 0, false, "365d", 22, 0, 0, 789652009,
     1476640644},
    {"movielens-latest-small/ratings.csv", "movielens", 100004, 9161, 28, 0, false, "365d", 22, 0, 0, 789652009,
     1476640644, "shared"},
    {"tgn-uci-msg/ml_UCI-Msg.csv", "tgn", 59834, 1899, 0, 37, true, "7d", 28, 0, 0, 0, 16621303},
    {"amlsim-sample-outputs/tx.csv", "amlsim", 45, 0, -1, -1, true, "", 0, 0, 0},
};

std::filesystem::path shared_file(const char* file) {
  return std::filesystem::path(STROBE_SOURCE_DIR).parent_path() / "shared" / "datasets" / file;
}

class RealFile : public testing::TestWithParam<Dataset> {};

/// The windows that `expected` asks for; each event is in one of them.
void expect_windows(const Dataset& expected, const EventGraph& events) {
  const SnapshotGraph graph = make_snapshots(events, {.duration = expected.window});
  if (expected.windows > 0) {
    EXPECT_EQ(graph.steps(), expected.windows);
  }
  std::int64_t non_empty = 0;
  double largest = 0, total = 0;
  for (const auto& snapshot : graph.snapshots) {
    double sum = 0;
    for (const float value : snapshot->values) sum += static_cast<double>(value);
    non_empty += sum > 0;
    largest = std::max(largest, sum);
    total += sum;
  }
  EXPECT_EQ(total, static_cast<double>(events.events())) << "every event is in one window";
  if (expected.non_empty > 0) {
    EXPECT_EQ(non_empty, expected.non_empty);
  }
  if (expected.largest_window > 0) {
    EXPECT_EQ(largest, static_cast<double>(expected.largest_window));
  }
}

TEST_P(RealFile, HasItsPublishedCounts) {
  const Dataset& expected = GetParam();
  const auto path = shared_file(expected.file);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the file is not on this machine: " << expected.file;
  const EventGraph events = read_events(path.string(), "", expected.ids);
  EXPECT_EQ(events.provenance.format, expected.format);
  EXPECT_EQ(events.events(), expected.events);
  if (expected.vertices > 0) {
    EXPECT_EQ(events.vertices, expected.vertices);
  }
  if (expected.self_loops >= 0) {
    EXPECT_EQ(events.provenance.self_loops, expected.self_loops);
  }
  if (expected.duplicates >= 0) {
    EXPECT_EQ(events.provenance.duplicates, expected.duplicates);
  }
  EXPECT_EQ(events.provenance.was_sorted, expected.sorted);
  if (expected.last >= 0) {
    EXPECT_EQ(events.time.front(), expected.first);
    EXPECT_EQ(events.time.back(), expected.last);
  }
  expect_windows(expected, events);
}

TEST(RealFiles, LabelsAndFeatures) {
  const auto wikipedia = shared_file("jodie-wikipedia/wikipedia.csv.gz");
  const auto fixture = shared_file("jodie-format-fixture/lastfm.csv"), uci = shared_file("tgn-uci-msg/ml_UCI-Msg.csv");
  for (const auto& path : {wikipedia, fixture, uci}) {
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "the file is not on this machine: " << path.filename();
  }
  const EventGraph edits = read_events(wikipedia.string());
  EXPECT_EQ(std::count(edits.event_label.begin(), edits.event_label.end(), std::int8_t{1}), 217);
  EXPECT_EQ(edits.provenance.ids, "shared");
  EXPECT_EQ(read_events(fixture.string()).edge_feature_width, 2);
  const EventGraph messages = read_events(uci.string());
  EXPECT_EQ(messages.edge_feature_width, 6);
  EXPECT_EQ(messages.edge_features, std::vector<float>(59834 * 6, 0.0f)) << "the file's features are all zero";
  ASSERT_EQ(messages.provenance.notes.size(), 2u);
  EXPECT_EQ(messages.provenance.notes[0],
            "ml_UCI-Msg.npy has 59835 rows of 6 features for 59834 events, taken by idx; row 0 is padding");
  EXPECT_NE(messages.provenance.notes[1].find("1901 rows of 100 vertex features"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Shared, RealFile, testing::ValuesIn(table));

}  // namespace
}  // namespace strobe
