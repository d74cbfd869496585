// Errors, registry, units, hashes, shares and the thread pool.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <numeric>
#include <thread>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/ids.hpp"
#include "core/registry.hpp"
#include "core/system/parallel.hpp"
#include "core/units.hpp"

namespace strobe {
namespace {

struct ToyTag {
  static constexpr const char* kind = "toy";
  using Value = int;
};

TEST(Registry, FindsRefusesAndNamesTheNearest) {
  Registry<ToyTag> toys;
  toys.add({"snapshot", "d", "c", {}, 1, "a.cpp"});
  toys.add({"vertex", "d", "c", {}, 2, "b.cpp"});
  EXPECT_EQ(toys.find("vertex").value, 2);
  EXPECT_EQ(toys.names(), (std::vector<std::string>{"snapshot", "vertex"}));
  try {
    toys.find("snapshto", "--strategy");
    FAIL() << "an unknown name was found";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--strategy");
    EXPECT_NE(std::string(error.what()).find("did you mean 'snapshot'"), std::string::npos);
  }
}

TEST(Registry, DuplicateNamesAreAnErrorNamingBothFiles) {
  Registry<ToyTag> toys;
  toys.add({"same", "d", "c", {}, 1, "a.cpp"});
  toys.add({"same", "d", "c", {}, 2, "b.cpp"});
  try {
    toys.find("same");
    FAIL() << "a duplicate went unnoticed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a.cpp and b.cpp"), std::string::npos);
  }
}

TEST(Errors, SayWhere) {
  EXPECT_STREQ(InvalidInput("f.csv", 3, 7, "bad id").what(), "f.csv:3:7: bad id");
  EXPECT_STREQ(InvalidInput("f.csv", 0, 0, "empty").what(), "f.csv: empty");
  const CollectiveTimeout timeout("all_reduce", 0, 2.0, {1, 3});
  EXPECT_NE(std::string(timeout.what()).find("missing ranks: 1, 3"), std::string::npos);
  EXPECT_EQ(nearest_name("tm-gnc", {"cd-gcn", "tm-gcn"}), "tm-gcn");
  EXPECT_EQ(nearest_name("zzzzzzzz", {"cd-gcn", "tm-gcn"}), "");
  EXPECT_EQ(nearest_name("rnu", {"env", "run"}), "run") << "two letters in the wrong order";
  EXPECT_EQ(nearest_name("dp", {"adt", "pss"}), "") << "little of a short name is left";
  EXPECT_NE(unknown_name_message("cluster", "a100", {"p4d-a100", "p5-h100", "p4de-a100"})
                .find("; did you mean one of 'p4d-a100', 'p4de-a100'? Known:"),
            std::string::npos);
}

TEST(Mentions, WholeWordsInCapitalsOrNot) {
  EXPECT_TRUE(mentions("DGC, SIGMOD'23 (PTS)", "pts"));
  EXPECT_TRUE(mentions("PTS", "PTS"));
  EXPECT_TRUE(mentions("xpts, PTS", "pts"));
  EXPECT_FALSE(mentions("DGC, SIGMOD'23 (PSS-TS)", "pss"));
  EXPECT_TRUE(mentions("DGC, SIGMOD'23 (PSS-TS)", "pss-ts"));
  EXPECT_FALSE(mentions("scripts", "pts"));
  EXPECT_FALSE(mentions("section 4.2 of it", "of"));
  EXPECT_FALSE(mentions("", "pts"));
}

TEST(Units, DurationsAndFormats) {
  EXPECT_DOUBLE_EQ(parse_duration_seconds("30d", ""), 30.0 * 86400);
  EXPECT_DOUBLE_EQ(parse_duration_seconds("1.5h", ""), 5400);
  EXPECT_DOUBLE_EQ(parse_duration_seconds("90", ""), 90);
  for (const char* text : {"", "d", "-1d", "0s", "3 fortnights", "nan", "inf"}) {
    EXPECT_THROW(parse_duration_seconds(text, "--window"), InvalidRequest) << text;
  }
  EXPECT_EQ(format_bytes(1500), "1.5 kB");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
}

TEST(Hash, Sha256OfKnownText) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_THROW(sha256_file("/nonexistent/file"), SystemError);
  Sha256 pieces;
  for (const char c : std::string("abc")) pieces.update(&c, 1);
  EXPECT_EQ(pieces.hex(), sha256_hex("abc"));
}

TEST(Shares, CoverEverythingOnceAndEvenly) {
  for (const std::int64_t n : {0, 1, 5, 12, 100}) {
    for (const std::int64_t parts : {1, 3, 7, 16}) {
      std::int64_t next = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const strobe::Run share = even_share(n, parts, part);
        EXPECT_EQ(share.first, next);
        EXPECT_LE(share.count - n / parts, 1);
        next += share.count;
      }
      EXPECT_EQ(next, n);
    }
  }
}

TEST(Workers, RunEveryTaskOnce) {
  for (const int threads : {1, 2, 4}) {
    Workers workers(threads);
    EXPECT_EQ(workers.threads(), threads);
    for (const std::int64_t tasks : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> done(tasks);
      for (int repeat = 0; repeat < 50; ++repeat) {
        workers.run(tasks, [&](std::int64_t i) { ++done[i]; });
      }
      for (const auto& count : done) EXPECT_EQ(count.load(), 50);
    }
  }
}

/// Half of the smallest normal number, computed where the compiler cannot.
float half_of_smallest() {
  const volatile float smallest = std::numeric_limits<float>::min();
  return smallest * 0.5F;
}

TEST(Workers, KeepOrFlushSubnormalsAsAsked) {
#if !defined(__SSE__)
  GTEST_SKIP() << "this processor has no mode for subnormal numbers here";
#endif
  for (const Subnormals mode : {Subnormals::keep, Subnormals::flush}) {
    Workers workers(2, mode);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> wrong{0};
    workers.run(64, [&](std::int64_t) {
      const bool kept = half_of_smallest() > 0.0F;
      const bool expected = std::this_thread::get_id() == caller || mode == Subnormals::keep;
      if (kept != expected) ++wrong;
    });
    EXPECT_EQ(wrong.load(), 0);
  }
}

TEST(FlushSubnormals, LastsAsLongAsItLives) {
#if !defined(__SSE__)
  GTEST_SKIP() << "this processor has no mode for subnormal numbers here";
#endif
  EXPECT_GT(half_of_smallest(), 0.0F);
  {
    const FlushSubnormals flush;
    EXPECT_EQ(half_of_smallest(), 0.0F);
  }
  EXPECT_GT(half_of_smallest(), 0.0F);
}

TEST(Workers, RethrowATasksException) {
  Workers workers(3);
  EXPECT_THROW(workers.run(10,
                           [](std::int64_t i) {
                             if (i == 7) throw Error("seven");
                           }),
               Error);
  std::atomic<int> sum{0};
  workers.run(4, [&](std::int64_t i) { sum += static_cast<int>(i); });
  EXPECT_EQ(sum.load(), 6);
}

TEST(Units, CountsTakeScalesAndOnlyWholeNumbersFromOneOn) {
  for (const auto& [text, count] : std::vector<std::pair<std::string, std::int64_t>>{
           {"1", 1}, {"5M", 5000000}, {"1.1G", 1100000000}, {"1e8", 100000000}, {"2.5k", 2500}, {"0.001K", 1}})
    EXPECT_EQ(parse_count(text, "--edges"), count) << text;
  for (std::int64_t number = 1; number < 2000; number += 7) {
    EXPECT_EQ(parse_count(std::to_string(number) + "K", ""), number * 1000);
    EXPECT_EQ(parse_count(fmt::format("{}.{:03}M", number, number % 1000), ""),
              number * 1000000 + number % 1000 * 1000);
  }
  for (const char* text : {"", "0", "-3", "1.5", "5T", "M", "1 M", "1.0000001K", "1e400", "nan", "5MM", "0x10", "1e16"})
    EXPECT_THROW(parse_count(text, "--edges"), InvalidRequest) << text;
}

}  // namespace
}  // namespace strobe
