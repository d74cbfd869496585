// Text files that another program cuts, appends to or rewrites while they are read: what was read is the file as it
// was, or the file is refused, and never a mixture.
#include <gtest/gtest.h>
#include <unistd.h>
#include <utime.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

std::string lines_of(std::mt19937& random, int count) {
  std::ostringstream text;
  for (int i = 0; i < count; ++i) text << random() % 100'000 << ' ' << i << '\n';
  return text.str();
}

/// One of the ways in which a file changes in place.
void change(const std::string& path, std::uintmax_t size, std::mt19937& random) {
  switch (random() % 3) {
    case 0:
      std::filesystem::resize_file(path, random() % size);
      return;
    case 1:
      std::ofstream(path, std::ios::app) << "7 7\n";
      return;
    default: {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(random() % size));
      file << '5';
    }
  }
}

TEST(ChangingFile, IsReadAsItWasOrRefused) {
  const test::TemporaryFolder folder;
  int refused = 0, whole = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::string text = lines_of(random, 40'000), path = folder.write("f.txt", text);
    std::this_thread::sleep_for(std::chrono::milliseconds(11));  // a file system counts time in ticks
    std::string found;
    const auto changed_at = random() % 40'000;
    try {
      TextReader reader(path);
      for (std::uint64_t line = 0; reader.next(); ++line) {
        if (line == changed_at) change(path, text.size(), random);
        found.append(reader.line()).append("\n");
      }
      EXPECT_EQ(found, text) << seed;
      ++whole;
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
      ++refused;
    }
  }
  EXPECT_GT(refused, 30);
  EXPECT_EQ(refused + whole, 60);
}

TEST(ChangingFile, ThatStaysIsRead) {
  const test::TemporaryFolder folder;
  std::mt19937 random(1);
  const std::string text = lines_of(random, 40'000), path = folder.write("f.txt", text);
  std::ifstream other(path);  // a reader of the same file changes nothing
  other.get();
  TextReader reader(path);
  std::string found;
  while (reader.next()) found.append(reader.line()).append("\n");
  EXPECT_EQ(found, text);
}

}  // namespace
}  // namespace strobe
