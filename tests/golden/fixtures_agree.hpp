// Checks that a generator of fixtures still computes the committed files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/results/python.hpp"

namespace strobe::test {

/// Runs tests/golden/generate/`script` with --check; skips without a Python that has torch.
inline void expect_fixtures_agree(const std::string& script) {
  const std::string python = testing_results::find_python("torch");
  if (python.empty()) GTEST_SKIP() << "no Python here has torch; on Debian: apt-get install python3-torch";
  const std::string path = std::string(STROBE_TEST_DIR) + "/golden/generate/" + script;
  const std::string log =
      (std::filesystem::temp_directory_path() / ("strobe-" + script + "-" + std::to_string(getpid()))).string();
  const int status = testing_results::run_program({python, "-B", path, "--check"}, log);
  std::ifstream file(log);
  const std::string said((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::filesystem::remove(log);
  EXPECT_EQ(status, 0) << said;
  EXPECT_NE(said.find("fixtures agree"), std::string::npos) << said;
}

}  // namespace strobe::test
