// Files under temporary names: never another program's file, never through a link, and removed when their writer ends.
#include "workloads/storage/unfinished_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/storage/atomic_file.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

/// A writer of `path` that stands still with its file half written; the file is there when this returns.
pid_t writer_of(const std::string& path) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const UnfinishedFile file(path);
    if (write(file.descriptor(), "half", 4) == 4 && write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]), close(ready[1]);
  return child;
}

void end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(UnfinishedFile, AFileOfAKilledWriterIsRemovedByTheNextOne) {
  const TemporaryFolder folder;
  const std::string path = folder.file("g.strobe");
  end(writer_of(path));
  ASSERT_EQ(names_in(folder.file("")).size(), 1u);
  AtomicFile file(path);
  file.write("whole");
  file.commit();
  EXPECT_EQ(names_in(folder.file("")), std::vector<std::string>{"g.strobe"});
}

TEST(UnfinishedFile, TheFileOfAWriterThatLivesIsLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("g.strobe");
  const pid_t other = writer_of(path);
  {
    const UnfinishedFile file(path);
    EXPECT_EQ(names_in(folder.file("")).size(), 2u);
  }
  EXPECT_EQ(names_in(folder.file("")).size(), 1u);
  end(other);
}

TEST(UnfinishedFile, FilesWithOtherNamesAreNobodysBusiness) {
  const TemporaryFolder folder;
  const std::vector<std::string> others = {"g.strobe.tmp", "g.strobe.tmp.1", "g.strobe.tmp.1.x", "h.strobe.tmp.1.2",
                                           "g.strobe.tmp.1.2.3"};
  for (const std::string& name : others) folder.write(name, "mine");
  folder.write("g.strobe.tmp.1.2", "left by a writer");
  { const UnfinishedFile file(folder.file("g.strobe")); }
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder.file(name))) << name;
  EXPECT_EQ(names_in(folder.file("")).size(), others.size());
}

TEST(UnfinishedFile, ALinkOfItsNameIsNeitherFollowedNorOverwritten) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "precious");
  const std::string beginning = folder.file("out") + ".tmp." + std::to_string(getpid()) + ".";
  for (int number = 0; number < 300; ++number) fs::create_symlink(victim, beginning + std::to_string(number));
  AtomicFile file(folder.file("out"));
  file.write("content");
  file.commit();
  EXPECT_EQ(test::read_bytes(victim), "precious");
  EXPECT_EQ(test::read_bytes(folder.file("out")), "content");
  EXPECT_TRUE(fs::is_symlink(beginning + "0"));
}

TEST(UnfinishedFile, LinksInPlacesOfOursAreReplacedOthersFollowed) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "precious");
  for (const Links links : {Links::replaced, Links::followed}) {
    fs::remove(folder.file("link"));
    fs::create_symlink(victim, folder.file("link"));
    AtomicFile file(folder.file("link"), links);
    file.write("content");
    file.commit();
    EXPECT_EQ(test::read_bytes(victim), links == Links::replaced ? "precious" : "content");
    EXPECT_EQ(fs::is_symlink(folder.file("link")), links == Links::followed);
  }
}

TEST(UnfinishedFile, ASignalsHandlerRemovesAllOfThem) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const UnfinishedFile first(folder.file("a")), second(folder.file("b"));
    UnfinishedFile moved(folder.file("c"));
    moved.move_to_path();
    remove_unfinished_files();
    _exit(0);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names_in(folder.file("")), std::vector<std::string>{"c"});
}

TEST(UnfinishedFile, AProbeLeavesNothingAndReportsFaults) {
  const TemporaryFolder folder;
  probe_folder(folder.file(""));
  EXPECT_TRUE(names_in(folder.file("")).empty());
  try {
    probe_folder(folder.file("not-there"));
    FAIL() << "a folder that is not there was probed";
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("not-there"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace strobe
