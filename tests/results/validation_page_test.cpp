// docs/explanation/predictions.md says of predictions what scripts/validation_figures finds in its small form, figure
// by figure; docs/validation.md says what scripts/figures/how_right.py finds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/results/python.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

/// Lines of the table under "What you may believe".
std::vector<std::string> believed(const std::string& page) {
  std::vector<std::string> lines;
  std::istringstream stream(page.substr(page.find("## What you may believe")));
  std::string line;
  while (std::getline(stream, line) && (lines.empty() || line.starts_with("|")))
    if (line.starts_with("|")) lines.push_back(line);
  return lines;
}

TEST(ValidationPage, EqualsANewRunOfTheScript) {
  const std::string python = testing_results::find_python("json");
  if (python.empty()) GTEST_SKIP() << "no Python";
  const testing_results::TemporaryFolder folder;
  const std::string root = STROBE_SOURCE_DIR;
  ASSERT_EQ(testing_results::run_program({python, root + "/scripts/validation_figures", "--strobe", STROBE_BINARY},
                                         folder.file("found")),
            0)
      << testing_results::text_of(folder.file("found"));
  std::vector<std::string> page = believed(testing_results::text_of(root + "/docs/explanation/predictions.md"));
  std::istringstream found(testing_results::text_of(folder.file("found")));
  size_t count = 0;
  for (std::string line; std::getline(found, line); ++count) {
    const auto place = std::find(page.begin(), page.end(), line);
    ASSERT_NE(place, page.end()) << "docs/explanation/predictions.md has no line\n" << line;
    page.erase(place);
  }
  EXPECT_GE(count, 14u);
  // The remaining lines take minutes, and the page has them as `--all` printed them.
  for (const std::string& line : page)
    EXPECT_TRUE(line.starts_with("| dynahb: ") || line.starts_with("| disttgl: ") || line.starts_with("| dgc: "))
        << line;
}

TEST(ValidationPage, TheTableOfEveryCaseEqualsANewRun) {
  const std::string python = testing_results::find_python("json");
  if (python.empty()) GTEST_SKIP() << "no Python";
  const testing_results::TemporaryFolder folder;
  const std::string root = STROBE_SOURCE_DIR;
  ASSERT_EQ(
      testing_results::run_program({python, "-B", root + "/scripts/figures/how_right.py", "--strobe", STROBE_BINARY},
                                   folder.file("found")),
      0)
      << testing_results::text_of(folder.file("found"));
  const std::string found = testing_results::text_of(folder.file("found"));
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 9);
  EXPECT_NE(testing_results::text_of(root + "/docs/validation.md").find(found), std::string::npos) << found;
}

}  // namespace
}  // namespace strobe
