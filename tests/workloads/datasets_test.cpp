// Counts of real files that stand beside the source tree when they are there; skipped with a reason when not.
#include <gtest/gtest.h>

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
    {"amlsim-sample-outputs/tx.csv", "amlsim", 45, 0, -1, -1, true, "", 0, 0, 0},
};

class RealFile : public testing::TestWithParam<Dataset> {};

TEST_P(RealFile, HasItsPublishedCounts) {
  const Dataset& expected = GetParam();
  const auto path = std::filesystem::path(STROBE_SOURCE_DIR).parent_path() / "shared" / "datasets" / expected.file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the file is not on this machine: " << expected.file;
  const EventGraph events = read_events(path.string());
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

INSTANTIATE_TEST_SUITE_P(Shared, RealFile, testing::ValuesIn(table));

}  // namespace
}  // namespace strobe
