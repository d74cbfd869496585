#include <gtest/gtest.h>

#include <filesystem>

#include "core/errors.hpp"
#include "harness/process/output_path.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

TEST(OutputFolder, IsMadeWithThoseAboveIt) {
  const testing_results::TemporaryFolder folder;
  make_output_folder("--out", folder.path() + "/new/run");
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() + "/new/run"));
}

TEST(OutputFolder, ThatCannotBeMadeLeavesNoFolderAboveItAndKeepsThoseThatWereThere) {
  const testing_results::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/old");
  const std::string too_long(300, 'a');
  EXPECT_THROW(make_output_folder("--out", folder.path() + "/old/new/" + too_long), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/old/new"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() + "/old"));
}

}  // namespace
}  // namespace strobe
