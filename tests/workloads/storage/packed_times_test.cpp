// Packed times return every time bit for bit, and are as small as they promise.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>

#include "core/random.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/storage/parallel.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// One by one, in sequence and from the middle.
void expect_exact(const PackedTimes& packed, const std::vector<double>& times) {
  ASSERT_EQ(packed.size(), times.size());
  EXPECT_TRUE(packed.sound());
  std::vector<double> copy(times.size());
  packed.copy(0, copy);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < times.size(); ++i)
    wrong += bits(packed[i]) != bits(times[i]) || bits(copy[i]) != bits(times[i]);
  EXPECT_EQ(wrong, 0u);
  const std::size_t middle = times.size() / 3;
  std::vector<double> part(times.size() / 2);
  packed.copy(middle, part);
  for (std::size_t i = 0; i < part.size(); ++i) wrong += bits(part[i]) != bits(times[middle + i]);
  EXPECT_EQ(wrong, 0u);
}

/// Sorted times `origin` + a random number of `span` ticks of 10^-digits, as a decimal text would give them.
std::vector<double> decimal_times(std::size_t count, double origin, double span, int digits) {
  const RandomStream random(11, static_cast<std::uint64_t>(digits));
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i) {
    const auto ticks = static_cast<double>(random.bits(i) >> 11) * 0x1p-53 * span;
    times.push_back((origin * std::pow(10.0, digits) + std::floor(ticks)) / std::pow(10.0, digits));
  }
  std::sort(times.begin(), times.end());
  return times;
}

TEST(PackedTimes, AreExactForEveryNumberOfDigitsAndSize) {
  for (const std::size_t count : {100u, 255u, 256u, 257u, 511u, 5000u}) {
    for (int digits = 0; digits <= 9; ++digits) {
      const double origin = digits <= 6 ? 1.2e9 : -1e5;
      const std::vector<double> times = decimal_times(count, origin, 1e3 * static_cast<double>(count), digits);
      SCOPED_TRACE(testing::Message() << count << " times of " << digits << " digits");
      const PackedTimes packed = test::pack(times);
      ASSERT_FALSE(packed.empty());
      expect_exact(packed, times);
      if (count >= 256) {
        EXPECT_LE(static_cast<double>(packed.bytes()), 2.5 * static_cast<double>(count));
      }
    }
  }
}

TEST(PackedTimes, AreExactWhereDecimalsEnd) {
  std::vector<double> awkward;
  for (int i = 0; i < 3000; ++i) awkward.push_back(1.0 / 3 + i * 1e-5 / 7);     // all bits of a double
  for (int i = 0; i < 300; ++i) awkward.push_back(4503599627370490.0 + i);      // about 2^52
  for (int i = 0; i < 300; ++i) awkward.push_back(9007199254740992.0 + 2 * i);  // above 2^53
  for (int i = 0; i < 300; ++i) awkward.push_back(1e300 * (1 + i));             // far beyond
  std::vector<double> negative = awkward;
  for (double& time : negative) time = -time;
  std::reverse(negative.begin(), negative.end());
  negative.insert(negative.end(), {-std::numeric_limits<double>::denorm_min(), -0.0, 0.0, 5e-324});
  negative.insert(negative.end(), awkward.begin(), awkward.end());
  for (const std::vector<double>& times : {awkward, negative}) {
    const PackedTimes packed = test::pack(times);
    ASSERT_FALSE(packed.empty());
    EXPECT_LT(packed.bytes(), 8 * times.size());
    expect_exact(packed, times);
  }
}

TEST(PackedTimes, OneFractionDoesNotMakeOtherBlocksLarger) {
  std::vector<double> times = decimal_times(100'000, 1e9, 1e8, 0);
  const std::size_t whole = test::pack(times).bytes();
  times.front() -= 0.000003;
  const PackedTimes packed = test::pack(times);
  expect_exact(packed, times);
  EXPECT_LE(packed.bytes(), whole + 8 * PackedTimes::block_times);
}

TEST(PackedTimes, SkewedTimesOneBlockAndManyEqualOnesAreExact) {
  std::vector<double> times(10'000, 7.0);
  expect_exact(test::pack(times), times);
  EXPECT_LE(test::pack(times).bytes(), 3000u) << "equal times need two bits each";
  times.back() = 1e15;
  expect_exact(test::pack(times), times);
  for (std::size_t i = 0; i < 256; ++i) times[9'000 + i] = 7 + std::ldexp(1.0, static_cast<int>(i % 40));
  std::sort(times.begin(), times.end());
  expect_exact(test::pack(times), times);
}

TEST(PackedTimes, FallingTimesAndFewTimesStayDoubles) {
  std::vector<double> times = decimal_times(5000, 0, 1e6, 0);
  std::swap(times[3000], times[3001]);
  times[3000] += 1;
  EXPECT_TRUE(test::pack(times).empty());
  std::vector<double> zeros(5000, 0.0);
  zeros[100] = -0.0;
  EXPECT_TRUE(test::pack(zeros).empty()) << "the sign of a zero was lost";
  EXPECT_TRUE(test::pack({}).empty());
  EXPECT_TRUE(test::pack({1, 2}).empty());
}

TEST(PackedTimes, DoNotDependOnTheNumberOfThreads) {
  const std::vector<double> times = decimal_times(300'000, 1e9, 1e9, 2);
  const PackedTimes packed = test::pack(times);
  limit_workload_threads(1);
  const PackedTimes alone = test::pack(times);
  limit_workload_threads(0);
  EXPECT_EQ(packed.bases(), alone.bases());
  EXPECT_EQ(packed.places(), alone.places());
  EXPECT_EQ(packed.words(), alone.words());
}

/// A real file, and whether its times have fractions.
struct RealTimes {
  const char* file;
  bool fractions;
};

class RealFileMemory : public testing::TestWithParam<RealTimes> {};

TEST_P(RealFileMemory, IsAtMostTwelveBytesAnEvent) {
  const auto path = std::filesystem::path(STROBE_SOURCE_DIR).parent_path() / "shared" / "datasets" / GetParam().file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the file is not on this machine: " << GetParam().file;
  const EventGraph graph = read_events(path.string());
  const double events = graph.events();
  bool fractions = false;
  for (const double time : graph.time) fractions |= time != std::floor(time);
  EXPECT_EQ(fractions, GetParam().fractions);
  const double bytes = sizeof(VertexId) * static_cast<double>(graph.source.size() + graph.target.size()) +
                       static_cast<double>(graph.time.bytes());
  EXPECT_LE(bytes / events, 12.0);
  RecordProperty("bytes_per_event", std::to_string(bytes / events));
  std::cout << GetParam().file << ": " << bytes / events << " bytes an event, with the table of ids "
            << (bytes + static_cast<double>(sizeof(std::int64_t) * graph.original_id.size())) / events << '\n';
  EXPECT_TRUE(std::none_of(graph.provenance.notes.begin(), graph.provenance.notes.end(),
                           [](const std::string& note) { return note.find("bytes in memory") != std::string::npos; }));
}

INSTANTIATE_TEST_SUITE_P(Files, RealFileMemory,
                         testing::Values(RealTimes{"sx-mathoverflow/sx-mathoverflow.txt.gz", false},
                                         RealTimes{"email-Eu-core-temporal/email-Eu-core-temporal.txt.gz", false},
                                         RealTimes{"jodie-wikipedia/wikipedia.csv.gz", false},
                                         RealTimes{"konect-munmun_digg_reply/out.munmun_digg_reply", false},
                                         RealTimes{"movielens-latest-small/ratings.csv", false},
                                         RealTimes{"konect-chess/out.chess.csv", true},
                                         RealTimes{"bitcoin-otc/soc-sign-bitcoinotc.csv.gz", true}),
                         [](const auto& file) { return "number_" + std::to_string(file.index); });

}  // namespace
}  // namespace strobe
