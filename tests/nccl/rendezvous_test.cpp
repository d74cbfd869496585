// Ranks that meet over TCP on the loopback interface, or in files; here they are threads.
#include "backends/nccl/bootstrap/rendezvous.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "core/errors.hpp"
#include "core/system/interrupt.hpp"

namespace strobe::nccl {
namespace {

/// A socket that holds a port of the loopback interface.
struct HeldPort {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port = 0;
  HeldPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket, 1), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  ~HeldPort() { ::close(socket); }
};

int free_port() { return HeldPort().port; }

std::string random_bytes(std::size_t count) {
  static std::mt19937 generator(std::random_device{}());
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(generator());
  return bytes;
}

using RankMain = std::function<void(const LaunchPlace&)>;

/// Runs ranks [0, size) except `absent` as threads; returns each one's error, "" where there was none.
std::vector<std::string> run_ranks(const LaunchPlace& common, int size, int absent, const RankMain& main) {
  std::vector<std::string> errors(size);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    if (rank == absent) continue;
    ranks.emplace_back([&, rank] {
      LaunchPlace place = common;
      place.rank = rank;
      place.size = size;
      try {
        main(place);
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return errors;
}

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "strobe-rendezvous-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

enum class Way { tcp, files };

class Meetings : public testing::TestWithParam<Way> {
 protected:
  LaunchPlace common() const {
    LaunchPlace place;
    place.launcher = "test";
    place.run_key = "run/1";
    if (GetParam() == Way::tcp) {
      place.address = "127.0.0.1";
      place.port = free_port();
    } else {
      place.id_file = (folder_.path / "id").string();
    }
    return place;
  }
  Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Ways, Meetings, testing::Values(Way::tcp, Way::files),
                         [](const auto& way) { return way.param == Way::tcp ? "Tcp" : "Files"; });

TEST_P(Meetings, EveryRankGetsWhatEveryRankBroughtAgainAndAgain) {
  const std::string id = random_bytes(128);
  const auto errors = run_ranks(common(), 4, -1, [&](const LaunchPlace& place) {
    const auto rendezvous = meet(place, 20);
    const Brought first = rendezvous->gather(place.rank == 0 ? id : "", 20);
    ASSERT_EQ(first.size(), 4u);
    EXPECT_EQ(first[0], id) << "rank " << place.rank;
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(rendezvous->alarmed(), "");
      const Brought all = rendezvous->gather(std::to_string(10 * round + place.rank), 20);
      for (int peer = 0; peer < 4; ++peer) {
        EXPECT_EQ(all[peer], std::to_string(10 * round + peer));
      }
    }
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_P(Meetings, AnAlarmReachesEverybodyAndEndsWithTheGathering) {
  const auto errors = run_ranks(common(), 3, -1, [&](const LaunchPlace& place) {
    const auto rendezvous = meet(place, 20);
    rendezvous->gather("begin", 20);
    if (place.rank == 2) {
      rendezvous->alarm();
    } else {
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (rendezvous->alarmed().empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      EXPECT_EQ(rendezvous->alarmed(), "rank 2 gave up");
    }
    rendezvous->gather("end", 20);
    EXPECT_EQ(rendezvous->alarmed(), "");
    rendezvous->gather("next", 20);  // no rank leaves before the others have looked
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_P(Meetings, ARankThatLeavesIsMissingFromTheNextGathering) {
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = run_ranks(common(), 3, -1, [&](const LaunchPlace& place) {
    const auto rendezvous = meet(place, 20);
    rendezvous->gather("begin", 20);
    if (place.rank == 1) return;
    const Brought all = rendezvous->gather("end", place.rank == 0 || GetParam() == Way::files ? 1.0 : 20.0);
    EXPECT_TRUE(all[0] && all[2]);
    EXPECT_FALSE(all[1].has_value());
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(MeetingsByTcp, ARankThatNeverComesIsNamedToAllWithinTheDeadline) {
  LaunchPlace common;
  common.address = "localhost";
  common.port = free_port();
  common.run_key = "run";
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = run_ranks(common, 4, 2, [](const LaunchPlace& place) { meet(place, 1); });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(6));
  for (const int rank : {0, 1, 3}) {
    const std::string& error = errors[rank];
    EXPECT_NE(error.find("missing ranks: 2"), std::string::npos) << "rank " << rank << ": " << error;
  }
}

TEST(MeetingsByTcp, ARankWithoutRankZeroGivesUp) {
  LaunchPlace common;
  common.address = "127.0.0.1";
  common.port = free_port();
  const auto errors = run_ranks(common, 2, 0, [](const LaunchPlace& place) { meet(place, 0.3); });
  EXPECT_NE(errors[1].find("rank 1 did not meet rank 0 at 127.0.0.1"), std::string::npos) << errors[1];
}

TEST(MeetingsByTcp, APortInUseIsUnavailableWithWhatToDo) {
  const HeldPort held;
  LaunchPlace place;
  place.size = 2;
  place.address = "127.0.0.1";
  place.port = held.port;
  try {
    meet(place, 0.3);
    FAIL() << "the port was taken twice";
  } catch (const Unavailable& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(std::to_string(held.port)), std::string::npos) << what;
    EXPECT_NE(what.find("STROBE_NCCL_PORT"), std::string::npos) << what;
  }
}

TEST(MeetingsByTcp, AStrangerIsTurnedAwayAndHarmsNobody) {
  LaunchPlace common;
  common.address = "127.0.0.1";
  common.port = free_port();
  common.run_key = "ours";
  std::string turned_away;
  const auto errors = run_ranks(common, 2, -1, [&](const LaunchPlace& place) {
    if (place.rank == 1) {
      LaunchPlace stranger = place;
      stranger.run_key = "theirs";
      try {
        meet(stranger, 20);
      } catch (const SystemError& error) {
        turned_away = error.what();
      }
    }
    EXPECT_EQ(meet(place, 20)->gather("x", 20).size(), 2u);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_NE(turned_away.find("'ours' with 2 ranks turned this rank away"), std::string::npos) << turned_away;
}

TEST(MeetingsByTcp, AStopSignalEndsTheWaiting) {
  struct Reset {
    ~Reset() { stop_signal() = 0; }
  } reset;
  LaunchPlace place;
  place.size = 2;
  place.address = "127.0.0.1";
  place.port = free_port();
  stop_signal() = 15;
  EXPECT_THROW(meet(place, 20), Interrupted);
}

TEST(MeetingsByFiles, WhatAnEarlierRunLeftIsNotTaken) {
  const Folder folder;
  LaunchPlace place;
  place.size = 2;
  place.id_file = (folder.path / "id").string();
  place.run_key = "yesterday";
  const auto old = run_ranks(place, 2, -1, [](const LaunchPlace& p) { meet(p, 20)->gather("old", 20); });
  for (const std::string& error : old) EXPECT_EQ(error, "");
  ASSERT_FALSE(std::filesystem::is_empty(folder.path));
  place.run_key = "today";
  const Brought all = meet(place, 1)->gather("new", 0.3);
  EXPECT_EQ(all[0], "new");
  EXPECT_FALSE(all[1].has_value()) << "taken from a file of another run";
}

TEST(MeetingsByFiles, AFileAppearsWhole) {
  const Folder folder;
  LaunchPlace place;
  place.size = 2;
  place.id_file = (folder.path / "id").string();
  place.run_key = "run";
  const std::string big = random_bytes(1 << 20);
  const auto errors = run_ranks(
      place, 2, -1, [&](const LaunchPlace& p) { EXPECT_EQ(meet(p, 20)->gather(p.rank == 0 ? big : "", 20)[0], big); });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  for (const auto& file : std::filesystem::directory_iterator(folder.path)) {
    EXPECT_EQ(file.path().string().find("unfinished"), std::string::npos) << file.path();
  }
}

TEST(MeetingsByFiles, AFolderThatIsNotThereIsSaid) {
  LaunchPlace place;
  place.size = 2;
  place.id_file = "/nowhere/at/all/id";
  place.run_key = "run";
  try {
    meet(place, 1)->gather("x", 0.1);
    FAIL() << "written to a folder that is not there";
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("STROBE_NCCL_ID_FILE"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace strobe::nccl
