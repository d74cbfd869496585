// Where output ends up: links stay and their ends are replaced, devices and pipes are written as they are.
#include "workloads/storage/output_target.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <future>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/storage/atomic_file.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

void write_whole(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::size_t entries(const TemporaryFolder& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.file("")), fs::directory_iterator()));
}

/// Everything that comes through a pipe until all writers are gone. Open from the beginning.
class PipeReader {
 public:
  explicit PipeReader(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_NONBLOCK)) {
    text_ = std::async(std::launch::async, [this] {
      std::string text;
      std::array<char, 65536> part{};
      for (;;) {
        pollfd wanted{file_, POLLIN, 0};
        poll(&wanted, 1, -1);
        const ssize_t got = read(file_, part.data(), part.size());
        if (got == 0) return text;
        if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
      }
    });
  }
  ~PipeReader() { close(file_); }
  std::string text() { return text_.get(); }

 private:
  int file_;
  std::future<std::string> text_;
};

TEST(OutputTarget, ALinkStaysAndTheFileAtItsEndIsReplaced) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("real"));
  folder.write("real/file", "old");
  fs::create_symlink("real/file", folder.file("near"));
  fs::create_symlink(folder.file("near"), folder.file("far"));
  write_whole(folder.file("far"), "new");
  EXPECT_TRUE(fs::is_symlink(folder.file("far")));
  EXPECT_TRUE(fs::is_symlink(folder.file("near")));
  EXPECT_FALSE(fs::is_symlink(folder.file("real/file")));
  EXPECT_EQ(test::read_bytes(folder.file("real/file")), "new");
  EXPECT_EQ(entries(folder), 3u) << "something lies next to the links";
}

TEST(OutputTarget, ALinkThatDanglesMakesItsFile) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("real"));
  fs::create_symlink("../real/file", folder.file("real/link"));  // relative to the folder of the link
  write_whole(folder.file("real/link"), "new");
  EXPECT_EQ(test::read_bytes(folder.file("real/file")), "new");
  fs::create_symlink("nowhere/file", folder.file("lost"));
  EXPECT_THROW(write_whole(folder.file("lost"), "x"), SystemError);
}

TEST(OutputTarget, LinksInACircleAreRefusedByName) {
  const TemporaryFolder folder;
  fs::create_symlink("b", folder.file("a"));
  fs::create_symlink("a", folder.file("b"));
  fs::create_symlink("self", folder.file("self"));
  for (const char* name : {"a", "b", "self"}) {
    try {
      output_target(folder.file(name));
      ADD_FAILURE() << name << " leads somewhere";
    } catch (const SystemError& error) {
      EXPECT_NE(std::string(error.what()).find(folder.file(name)), std::string::npos) << error.what();
    }
  }
}

TEST(OutputTarget, APipeGetsTheBytesAndStaysAPipe) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder.file("link"));
  const std::string text(3'000'000, 'x');  // beyond a pipe's and the writer's buffers
  for (const char* name : {"pipe", "link"}) {
    PipeReader reader(folder.file("pipe"));
    write_whole(folder.file(name), text);
    EXPECT_EQ(reader.text(), text) << name;
    EXPECT_TRUE(fs::is_fifo(folder.file("pipe")));
  }
  EXPECT_EQ(entries(folder), 2u);
}

TEST(OutputTarget, APipeWithoutAReaderIsRefusedAndNotWaitedFor) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  AtomicFile file(folder.file("pipe"));  // opens nothing yet
  EXPECT_FALSE(file.makes_file());
  file.write("x");
  EXPECT_THROW(file.commit(), SystemError);
}

TEST(OutputTarget, ADescriptorIsWrittenAtItsPosition) {
  const TemporaryFolder folder;
  const int file = open(folder.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, "before\n", 7), 7);
  for (const std::string folder_name : {"/dev/fd/", "/proc/self/fd/"}) {
    write_whole(folder_name + std::to_string(file), "inside\n");
  }
  ASSERT_EQ(write(file, "after\n", 6), 6);
  close(file);
  EXPECT_EQ(test::read_bytes(folder.file("out")), "before\ninside\ninside\nafter\n");
  const int reading = open(folder.file("out").c_str(), O_RDONLY);
  EXPECT_THROW(output_target("/dev/fd/" + std::to_string(reading)), SystemError);
  close(reading);
  EXPECT_THROW(output_target("/dev/fd/999999"), SystemError);
}

TEST(OutputTarget, ADeviceStaysADevice) {
  const TemporaryFolder folder;
  if (mknod(folder.file("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
    GTEST_SKIP() << "only root can make a device to write to";
  fs::create_symlink("null", folder.file("link"));
  for (const char* name : {"null", "link"}) {
    write_whole(folder.file(name), "gone");
    EXPECT_TRUE(fs::is_character_file(folder.file(name))) << name;
  }
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(entries(folder), 2u) << "something was made next to the device";
  ASSERT_EQ(mknod(folder.file("disk").c_str(), S_IFBLK | 0600, makedev(7, 250)), 0);
  EXPECT_THROW(output_target(folder.file("disk")), SystemError);
}

TEST(OutputTarget, BinaryGraphsGoThroughPipesAndLinks) {
  const TemporaryFolder folder;
  const EventGraph graph = test::make_events(3, {{0, 1, 1}, {1, 2, 2}});
  write_binary_graph(graph, folder.file("plain"));
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  PipeReader reader(folder.file("pipe"));
  write_binary_graph(graph, folder.file("pipe"));
  EXPECT_EQ(reader.text(), test::read_bytes(folder.file("plain")));
  EXPECT_FALSE(fs::exists(folder.file("pipe.seal")));
  fs::create_symlink("end", folder.file("link"));
  write_binary_graph(graph, folder.file("link"));
  EXPECT_TRUE(fs::exists(folder.file("end.seal")) && !fs::exists(folder.file("link.seal")));
  EXPECT_EQ(read_binary_graph(folder.file("link")).target, graph.target);
}

}  // namespace
}  // namespace strobe
