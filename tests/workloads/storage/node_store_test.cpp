// Values that processes of a node share: made once, made again when their maker dies, and removed with the last process
// that maps them.
#include "workloads/storage/node_store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/child_processes.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/storage/mapped_file.hpp"
#include "workloads/storage/unfinished_file.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;
using test::start_child;
using test::status_of_child;
using test::TemporaryFolder;

constexpr int most_looks = 20'000;  // of 2 ms each, so that a test of a hang ends

NodeStoreSetting setting_of(const TemporaryFolder& folder, std::vector<std::string>* notes = nullptr) {
  NodeStoreSetting setting;
  setting.folders = {folder.file("cache")};
  setting.host = "host";
  setting.launch = "launch";
  setting.begin_wait = [] {
    return [looks = 0]() mutable {
      if (++looks > most_looks) throw Error("nobody made the value");
      return true;
    };
  };
  setting.note = [notes](const std::string& text) {
    if (notes != nullptr) notes->push_back(text);
  };
  return setting;
}

using Mapping = std::shared_ptr<const std::pair<std::shared_ptr<const void>, std::string>>;

/// The bytes of the value, with what keeps its file.
Mapping map_value(const std::string& path, std::shared_ptr<const void> keeper) {
  return std::make_shared<const std::pair<std::shared_ptr<const void>, std::string>>(
      std::move(keeper), std::string(MappedFile(path).bytes()));
}

void write_value(const std::string& path, const std::string& bytes) {
  UnfinishedFile file(path);
  if (write(file.descriptor(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw SystemError("cannot write " + path);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  file.move_to_path();
}

std::size_t files_in(const TemporaryFolder& folder) {
  if (!fs::exists(folder.file("cache"))) return 0;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder.file("cache")), fs::directory_iterator()));
}

void note_maker(const std::string& path) { std::ofstream(path, std::ios::app) << 'x'; }

TEST(NodeStore, OneOfSeveralProcessesMakesTheValue) {
  const TemporaryFolder folder;
  const auto work = [&] {
    const NodeStore store(setting_of(folder));
    const auto value = store.get<Mapping>(
        "key",
        [&](const std::string& path) {
          note_maker(folder.file("makers"));
          write_value(path, "value");
        },
        map_value);
    note_maker(folder.file("ready"));  // all map it at the same time, or the last one would make it again
    for (int i = 0; i < most_looks && test::read_bytes(folder.file("ready")).size() < 4; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return value && (*value)->second == "value";
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) children.push_back(start_child(work));
  for (const pid_t child : children) EXPECT_EQ(status_of_child(child), 0);
  EXPECT_EQ(test::read_bytes(folder.file("makers")), "x");
  EXPECT_EQ(files_in(folder), 0u) << "the last process removes the file";
}

TEST(NodeStore, WhenTheMakerDiesTheNextProcessMakesTheValue) {
  const TemporaryFolder folder;
  const pid_t maker = start_child([&] {
    const NodeStore store(setting_of(folder));
    store.get<Mapping>(
        "key",
        [&](const std::string& path) {
          const UnfinishedFile half(path);
          note_maker(folder.file("makers"));
          pause();
        },
        map_value);
    return false;
  });
  for (int i = 0; i < most_looks && !fs::exists(folder.file("makers")); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const pid_t waiting = start_child([&] {
    const NodeStore store(setting_of(folder));
    const auto value = store.get<Mapping>(
        "key", [](const std::string& path) { write_value(path, "second"); }, map_value);
    return value && (*value)->second == "second";
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(waitpid(waiting, nullptr, WNOHANG), 0) << "it waits while the maker lives";
  kill(maker, SIGKILL);
  status_of_child(maker);
  EXPECT_EQ(status_of_child(waiting), 0);
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(NodeStore, AWaitForAMakerThatStandsStillEnds) {
  const TemporaryFolder folder;
  const pid_t maker = start_child([&] {
    const NodeStore store(setting_of(folder));
    store.get<Mapping>(
        "key",
        [&](const std::string&) {
          note_maker(folder.file("makers"));
          pause();
        },
        map_value);
    return false;
  });
  for (int i = 0; i < most_looks && !fs::exists(folder.file("makers")); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  NodeStoreSetting setting = setting_of(folder);
  setting.begin_wait = [] {
    return [looks = 0]() mutable {
      if (++looks > 20) throw Error("rank 0 (stopped)");
      return true;
    };
  };
  const NodeStore store(setting);
  const auto nothing = [](const std::string&) { FAIL() << "another process makes the value"; };
  EXPECT_THROW(store.get<Mapping>("key", nothing, map_value), Error);
  std::vector<std::string> notes;
  setting = setting_of(folder, &notes);
  setting.begin_wait = [] { return [looks = 0]() mutable { return ++looks < 20; }; };
  EXPECT_FALSE(NodeStore(setting).get<Mapping>("key", nothing, map_value).has_value());
  EXPECT_EQ(notes.size(), 1u);
  kill(maker, SIGKILL);
  status_of_child(maker);
}

TEST(NodeStore, AFullDiskIsANoteAndNoFileIsLeft) {
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  const NodeStore store(setting_of(folder, &notes));
  const auto fails = [](const std::string& path) {
    const UnfinishedFile half(path);
    throw SystemError("cannot write " + path + ": No space left on device");
  };
  EXPECT_FALSE(store.get<Mapping>("key", fails, map_value).has_value());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("No space left"), std::string::npos);
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(NodeStore, AnotherErrorOfTheMakerIsThrownAndFreesTheValue) {
  const TemporaryFolder folder;
  const NodeStore store(setting_of(folder));
  EXPECT_THROW(store.get<Mapping>(
                   "key", [](const std::string&) { throw InvalidRequest("/model", "wrong"); }, map_value),
               InvalidRequest);
  const auto value = store.get<Mapping>(
      "key", [](const std::string& path) { write_value(path, "v"); }, map_value);
  EXPECT_TRUE(value.has_value());
}

TEST(NodeStore, TheFirstFolderThatCanBeWrittenIsUsed) {
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  NodeStoreSetting setting = setting_of(folder, &notes);
  const auto make = [](const std::string& path) { write_value(path, "v"); };
  const std::string blocked = folder.write("file", "") + "/inside";
  setting.folders = {"", blocked, folder.file("cache")};
  const auto value = NodeStore(setting).get<Mapping>("key", make, map_value);
  EXPECT_TRUE(value.has_value());
  EXPECT_EQ(files_in(folder), 2u) << "the value and its lock";
  setting.folders = {"", blocked};
  EXPECT_FALSE(NodeStore(setting).get<Mapping>("key", make, map_value).has_value());
  EXPECT_EQ(notes.size(), 1u);
}

TEST(NodeStore, RunsInOneFolderDoNotMix) {
  const TemporaryFolder folder;
  NodeStoreSetting setting = setting_of(folder);
  const NodeStore one(setting);
  setting.launch = "another launch";
  const NodeStore other(setting);
  const auto a = one.get<Mapping>(
      "key", [](const std::string& path) { write_value(path, "one"); }, map_value);
  const auto b = other.get<Mapping>(
      "key", [](const std::string& path) { write_value(path, "other"); }, map_value);
  ASSERT_TRUE(a && b);
  EXPECT_EQ((*a)->second + (*b)->second, "oneother");
}

/// Starts a process that makes a value and is killed while it maps it.
void leave_files(const TemporaryFolder& folder) {
  const pid_t dying = start_child([&] {
    const auto make = [](const std::string& path) { write_value(path, "v"); };
    const auto value = NodeStore(setting_of(folder)).get<Mapping>("left", make, map_value);
    kill(getpid(), SIGKILL);
    return value.has_value();
  });
  status_of_child(dying);
}

/// A value that maps nothing of its file, as a graph that lies in a file of its own.
TEST(NodeStore, AFileThatNobodyMapsIsMadeOnceAllTheSame) {
  const TemporaryFolder folder;
  int made = 0;
  const auto make = [&](const std::string& path) { write_value(path, "v"), ++made; };
  const auto read = [](const std::string& path, const std::shared_ptr<const void>&) { return path; };
  {
    const NodeStore first(setting_of(folder)), second(setting_of(folder));
    EXPECT_EQ(first.get<std::string>("key", make, read), second.get<std::string>("key", make, read));
    EXPECT_EQ(made, 1);
  }
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(NodeStore, FilesOfAnotherHostAndOfOtherProgramsStay) {
  const TemporaryFolder folder;
  leave_files(folder);
  std::ofstream(folder.file("cache") + "/strobe-node-mine.lock") << "x";
  NodeStoreSetting elsewhere = setting_of(folder);
  elsewhere.host = "another host";
  const NodeStore other(std::move(elsewhere));
  EXPECT_EQ(files_in(folder), 3u);
  const NodeStore here(setting_of(folder));
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(NodeStore, FilesOfDeadProcessesAreRemovedAndThoseInUseAreNot) {
  const TemporaryFolder folder;
  const auto make = [](const std::string& path) { write_value(path, "v"); };
  const NodeStore store(setting_of(folder));
  const auto in_use = store.get<Mapping>("in use", make, map_value);
  leave_files(folder);
  EXPECT_EQ(files_in(folder), 4u);
  const NodeStore next(setting_of(folder));
  EXPECT_EQ(files_in(folder), 2u);
  EXPECT_TRUE(in_use.has_value());
}

/// One process of the crowd: maps three values for a while each, and may be killed at any moment.
bool use_values(const TemporaryFolder& folder, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  const NodeStore store(setting_of(folder));
  std::vector<Mapping> kept;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const std::string key(1, static_cast<char>('a' + random.below(3 * i, 3)));
    const auto value = store.get<Mapping>(
        key, [&](const std::string& path) { write_value(path, key); }, map_value);
    if (!value || (*value)->second != key) return false;
    kept.push_back(*value);
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(3 * i + 1, 4)));
    if (random.below(3 * i + 2, 2) == 0) kept.clear();
  }
  return true;
}

TEST(NodeStore, ProcessesThatMakeAValueTogetherLeaveNoFile) {
  const TemporaryFolder folder;
  const auto work = [&](bool fails) {
    const NodeStore store(setting_of(folder));
    const auto join = [&](const std::string& path) {
      note_maker(folder.file("makers"));
      for (int i = 0; i < most_looks && test::read_bytes(folder.file("makers")).size() < 3; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // all hold the lock at the same time
      std::ofstream(path + ".parts") << "x";
      if (fails) throw InvalidRequest("/model", "wrong");
      write_value(path, "value");
    };
    const auto value = store.get_together<Mapping>("key", join, map_value);
    return value && (*value)->second == "value";
  };
  for (const bool fails : {false, true}) {
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) children.push_back(start_child([&] { return work(fails); }));
    for (const pid_t child : children) EXPECT_EQ(status_of_child(child) == 0, !fails);
    EXPECT_EQ(files_in(folder), 0u);
    fs::remove(folder.file("makers"));
  }
}

TEST(NodeStore, ACrowdThatIsKilledAtRandomReadsOnlyWholeValues) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const TemporaryFolder folder;
    const RandomStream random(seed, random_purpose::test);
    std::vector<pid_t> children;
    for (std::uint64_t i = 0; i < 8; ++i)
      children.push_back(start_child([&] { return use_values(folder, 100 * seed + i); }));
    for (std::size_t i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random.below(i, 25)));
      kill(children[i], SIGKILL);
    }
    for (const pid_t child : children) {
      const int status = status_of_child(child);
      EXPECT_TRUE(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) << status;
    }
    const NodeStore next(setting_of(folder));
    EXPECT_EQ(files_in(folder), 0u);
  }
}

}  // namespace
}  // namespace strobe
