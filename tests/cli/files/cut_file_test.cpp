// Another program cuts a mapped file in place: Strobe ends with a message instead of a silent crash.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/process/signals.hpp"
#include "workloads/storage/mapped_file.hpp"
#include "workloads/storage/mapping_watch.hpp"

namespace strobe {
namespace {

class CutFile : public ::testing::Test {
 protected:
  CutFile() {
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no temporary folder");
    std::ofstream(path_ = folder_ + "/graph.strobe") << std::string(1 << 16, 'x');
  }
  ~CutFile() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = (std::filesystem::temp_directory_path() / "strobe-cut-XXXXXX").string(), path_;
};

using CutFileDeathTest = CutFile;

TEST_F(CutFileDeathTest, IsNamedAndEndsWithTheStatusOfAWrongInput) {
  EXPECT_EXIT(
      {
        name_files_that_are_cut();
        const MappedFile file(path_);
        std::filesystem::resize_file(path_, 10);
        volatile char last = file.bytes().back();
        _exit(last);
      },
      ::testing::ExitedWithCode(2),
      "strobe: .*graph.strobe: another program cut this file while Strobe read it; run again");
}

TEST_F(CutFileDeathTest, AnotherFaultStaysWhatItIs) {
  EXPECT_EXIT(
      {
        name_files_that_are_cut();
        raise(SIGBUS);
        raise(SIGBUS);
        _exit(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(CutFile, OnlyLivingMappingsAreKnown) {
  const char* inside = nullptr;
  {
    const MappedFile one(path_), two(path_);
    inside = one.bytes().data() + 100;
    EXPECT_EQ(std::string(mapped_file_at(inside)), path_);
    EXPECT_EQ(std::string(mapped_file_at(two.bytes().data())), path_);
    EXPECT_EQ(mapped_file_at(&inside), nullptr);
  }
  EXPECT_EQ(mapped_file_at(inside), nullptr);
}

}  // namespace
}  // namespace strobe
