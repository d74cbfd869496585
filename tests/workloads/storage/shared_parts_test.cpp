// Parts that threads and processes make together: each made once, each at its place, whoever dies.
#include "workloads/storage/shared_parts.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/child_processes.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

using test::endless;
using test::start_child;
using test::status_of_child;
using test::TemporaryFolder;

constexpr std::int64_t parts = 60;

std::int64_t size_of(std::uint64_t seed, std::int64_t part) {
  return static_cast<std::int64_t>(RandomStream(seed, random_purpose::test).below(static_cast<std::uint64_t>(part), 9));
}

/// Returns the text of all parts: as many letters of each part as its size says.
std::string expected(std::uint64_t seed) {
  std::string text;
  for (std::int64_t p = 0; p < parts; ++p)
    text += std::string(static_cast<std::size_t>(size_of(seed, p)), static_cast<char>('0' + p));
  return text;
}

/// Writes every part at its place in the file "out", with random pauses, and notes its maker in the file "made".
void write_parts(const TemporaryFolder& folder, std::uint64_t seed, int threads) {
  const int out = open(folder.file("out").c_str(), O_RDWR | O_CREAT, 0600);
  const int made = open(folder.file("made").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const SharedParts shared(folder.file("parts"), parts, endless);
  const RandomStream random(seed + static_cast<std::uint64_t>(getpid()), random_purpose::test);
  const auto make = [&](Part& part) {
    const auto p = static_cast<std::uint64_t>(part.number());
    const auto letter = static_cast<char>('0' + part.number());
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(2 * p, 600)));
    const std::string text(static_cast<std::size_t>(size_of(seed, part.number())), letter);
    part.announce(static_cast<std::int64_t>(text.size()));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(2 * p + 1, 600)));
    if (pwrite(out, text.data(), text.size(), part.first()) < 0 || write(made, &letter, 1) != 1)
      throw Error("cannot write");
  };
  shared.make_all(make, threads);
  EXPECT_EQ(shared.total(), static_cast<std::int64_t>(expected(seed).size()));
  close(out);
  close(made);
}

TEST(SharedParts, AreMadeOnceAndLieAtTheirPlaces) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const int processes : {1, 2, 4, 8}) {
      for (const int threads : {1, 3}) {
        const TemporaryFolder folder;
        std::vector<pid_t> children;
        for (int i = 0; i < processes; ++i)
          children.push_back(start_child([&] { return write_parts(folder, seed, threads), true; }));
        for (const pid_t child : children) EXPECT_EQ(status_of_child(child), 0);
        EXPECT_EQ(test::read_bytes(folder.file("out")), expected(seed));
        const std::string made = test::read_bytes(folder.file("made"));
        EXPECT_EQ(made.size(), static_cast<std::size_t>(parts));
        EXPECT_EQ(std::set<char>(made.begin(), made.end()).size(), static_cast<std::size_t>(parts));
      }
    }
  }
}

TEST(SharedParts, OfKilledProcessesAreMadeByTheOthers) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const TemporaryFolder folder;
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) children.push_back(start_child([&] { return write_parts(folder, seed, 2), true; }));
    const RandomStream random(seed, random_purpose::test);
    for (std::size_t i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(i, 5000)));
      kill(children[i], SIGKILL);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const int status = status_of_child(children[i]);
      EXPECT_TRUE(status == 0 || (i < 3 && WIFSIGNALED(status))) << status;
    }
    EXPECT_EQ(test::read_bytes(folder.file("out")), expected(seed));
  }
}

TEST(SharedParts, OfSeveralThatFailTheFirstIsReported) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomStream random(seed, random_purpose::test);
    const TemporaryFolder folder;
    const SharedParts shared(folder.file("parts"), parts, endless);
    const auto make = [&](Part& part) {
      const auto p = static_cast<std::uint64_t>(part.number());
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(p, 200)));
      if (p == 17 || p == 18 || p == 40) throw Error(std::to_string(p));
      part.announce(1);
      EXPECT_EQ(part.first(), part.number());
    };
    try {
      shared.make_all(make, 4);
      FAIL() << "part 17 failed";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "17");
    }
  }
}

TEST(SharedParts, AWaitForAProcessThatStandsStillEnds) {
  const TemporaryFolder folder;
  const pid_t still = start_child([&] {
    SharedParts(folder.file("parts"), parts, endless)
        .make_all(
            [&](Part&) {
              std::ofstream(folder.file("begun")) << "x";
              pause();
            },
            1);
    return false;
  });
  while (!std::filesystem::exists(folder.file("begun"))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::atomic<int> made = 0;
  const auto make = [&](Part& part) {
    part.announce(0);
    if (part.number() % 2 == 0) part.first();
    ++made;
  };
  const auto few = [] { return [looks = 0]() mutable { return ++looks < 10; }; };
  EXPECT_THROW(SharedParts(folder.file("parts"), parts, few).make_all(make, 2), SystemError);
  const auto stopped = []() -> std::function<bool()> { return []() -> bool { throw Error("rank 0 (stopped)"); }; };
  EXPECT_THROW(SharedParts(folder.file("parts"), parts, stopped).make_all(make, 2), Error);
  kill(still, SIGKILL);
  status_of_child(still);
  made = 0;
  SharedParts(folder.file("parts"), parts, endless).make_all(make, 2);
  EXPECT_GT(made, 0);
}

}  // namespace
}  // namespace strobe
