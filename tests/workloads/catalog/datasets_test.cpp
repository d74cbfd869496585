// Counts of real files, where they lie next to the source tree; otherwise skipped with a reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/workloads/support.hpp"
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
  std::int64_t pairs = 0;  // distinct (source, target), 0 = not known
};

const Dataset known_datasets[] = {
    {"sx-mathoverflow/sx-mathoverflow.txt.gz", "snap", 506550, 24818, 116109, 27, false, "30d", 79, 79, 10154,
     1254192988, 1457262355, "auto", 239978},
    {"sx-mathoverflow/sx-mathoverflow.txt.gz", "snap", 506550, 24818, 116109, 27, false, "7d", 336, 336, 2566},
    {"email-Eu-core-temporal/email-Eu-core-temporal.txt.gz", "snap", 332334, 986, 0, 4998, false, "7d", 115, 78, 9694,
     0, 69459254, "auto", 24929},
    {"email-Eu-core-temporal/email-Eu-core-temporal.txt.gz", "snap", 332334, 986, 0, 4998, false, "1d", 804, 526, 2270},
    {"konect-chess/out.chess.csv", "konect", 65053, 7301, 0, 95, true, "31d", 98, 0, 0, 885635999.999997, 1145808000,
     "auto", 60046},
    {"konect-opsahl-ucsocial/out.opsahl-ucsocial", "konect", 59835, 1899, 0, 37, true, "7d", 28, 0, 0, 1082008561,
     1098744742, "auto", 20296},
    {"konect-munmun_digg_reply/out.munmun_digg_reply", "konect", 87627, 30398, 1424, 0, false, "1d", 0, 0, 0,
     1225229529, 1226536024, "auto", 86404},
    {"bitcoin-otc/soc-sign-bitcoinotc.csv.gz", "snap-signed", 35592, 5881, 0, 0, true, "1200000s", 138, 138, 1433,
     1289241911.72836, 1453684323.75728},
    {"bitcoin-otc/soc-sign-bitcoinotc.with-header.csv", "snap-signed", 35592, 5881, 0, 0, true, "1200000s", 138, 138,
     1433, 1289241911.72836, 1453684323.75728},
    {"netrepo-fb-forum/fb-forum.edges", "network-repository", 33720, 899, 34, 4, true, "7d", 24, 24, 0, 1084585996,
     1098798101, "auto", 7089},
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
  if (expected.pairs > 0) {
    EXPECT_EQ(make_snapshots(events, {.count = 1}).edges(), expected.pairs);
  }
}

TEST(RealFiles, TransactionsOfAmlsim20K) {
  const auto archive = shared_file("amlsim-20K/20K_fanin200cycle200.tgz");
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << "the file is not on this machine: " << archive.filename();
  const test::TemporaryFolder folder;
  const std::string command = "tar -xzf '" + archive.string() + "' -C '" + folder.file("") + "'";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "tar could not unpack the archive";
  const EventGraph graph = read_events(folder.file("20K_fanin200cycle200/transactions.csv"));
  EXPECT_EQ(graph.provenance.format, "amlsim");
  EXPECT_TRUE(graph.stepped);
  EXPECT_EQ(graph.events(), 120558);
  EXPECT_EQ(graph.vertices, 19980);
  EXPECT_EQ(graph.time.front(), 1);
  EXPECT_EQ(graph.time.back(), 149);
  EXPECT_EQ(graph.provenance.self_loops, 15);
  EXPECT_EQ(graph.provenance.duplicates, 2752);
  EXPECT_EQ(std::count(graph.vertex_label.begin(), graph.vertex_label.end(), std::int8_t{1}), 1804);
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

std::string as_test_name(std::string text) {
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(Shared, RealFile, testing::ValuesIn(known_datasets), [](const auto& test) {
  return as_test_name(fmt::format("{}_by_{}_ids_{}", test.param.file, test.param.window, test.param.ids));
});

/// Files of steps: counts of what inspect reports.
struct Steps {
  const char* file;
  const char* format;
  std::int64_t vertices, rows, steps, edges, smallest, largest;  // edges per step
  std::int64_t features, targets;
};

const Steps steps_table[] = {
    {"pygt-chickenpox/chickenpox.json", "pyg-temporal", 20, 102, 521, 102 * 521, 102, 102, 1, 20 * 520},
    {"pygt-england_covid/england_covid.json", "pyg-temporal", 129, 82529, 61, 82529, 836, 2158, 1, 129 * 60},
    {"pygt-montevideo_bus/montevideo_bus.json.gz", "pyg-temporal", 675, 690, 744, 690 * 744, 690, 690, 1, 675 * 743},
    {"pygt-pedalme_london/pedalme_london.json", "pyg-temporal", 15, 225, 35, 225 * 35, 225, 225, 1, 15 * 34},
    {"pygt-twitter_tennis_rg17/twitter_tennis_rg17.json", "pyg-temporal", 1000, 40839, 120, 40839, 41, 936, 2,
     1000 * 119},
    {"tgcn-los-loop/los_adj.csv", "tgcn", 207, 2833, 2016, 2833 * 2016, 2833, 2833, 1, 207 * 2015},
    {"tgcn-los-loop/los_speed.csv.gz", "tgcn", 207, 2833, 2016, 2833 * 2016, 2833, 2833, 1, 207 * 2015},
};

class RealSteps : public testing::TestWithParam<Steps> {};

TEST_P(RealSteps, HasItsPublishedCounts) {
  const Steps& expected = GetParam();
  const auto path = shared_file(expected.file);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the file is not on this machine: " << expected.file;
  const Json report = inspect_workload(path.string(), Json::object(), 1);
  EXPECT_EQ(report["format"], expected.format);
  EXPECT_EQ(report["vertices"], expected.vertices);
  EXPECT_EQ(report["events"], expected.rows);
  EXPECT_EQ(report["steps"], expected.steps);
  EXPECT_EQ(report["edges"], expected.edges);
  EXPECT_EQ(report["edges_per_step_distribution"]["min"], expected.smallest);
  EXPECT_EQ(report["edges_per_step_distribution"]["max"], expected.largest);
  EXPECT_EQ(report["duplicates"], 0);
  EXPECT_EQ(report["feature_width"], expected.features);
  EXPECT_EQ(report["targets"], expected.targets);
  EXPECT_EQ(report["first_time"], 0);
  EXPECT_EQ(report["last_time"], expected.steps - 1);
}

INSTANTIATE_TEST_SUITE_P(Shared, RealSteps, testing::ValuesIn(steps_table),
                         [](const auto& test) { return as_test_name(test.param.file); });

TEST(RealMovies, GenresAreFeaturesOfTheMovies) {
  const auto path = shared_file("movielens-latest-small/ratings.csv");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the file is not on this machine";
  const EventGraph graph = read_events(path.string());
  ASSERT_EQ(graph.vertex_feature_width, 19) << "18 genres and IMAX";
  double users = 0, movies = 0;
  for (std::size_t i = 0; i < graph.vertex_features.size(); ++i)
    (i / 19 < 671 ? users : movies) += static_cast<double>(graph.vertex_features[i]);
  EXPECT_EQ(users, 0);
  EXPECT_EQ(movies, 20215);
}

}  // namespace
}  // namespace strobe
