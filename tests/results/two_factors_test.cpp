// Time to a metric as two factors: judges in Python of the law of updates, of its interval, and of what is read and
// refused.
#include <gtest/gtest.h>

#include "tests/results/python.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

class TwoFactors : public ::testing::TestWithParam<const char*> {};

TEST_P(TwoFactors, IsJudged) {
  ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  const std::string python = testing_results::find_python("numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with numpy (apt: python3-numpy)";
  ::setenv("STROBE_PROGRAM", STROBE_BINARY, 1);
  const testing_results::TemporaryFolder folder;
  const std::string root = STROBE_SOURCE_DIR;
  const int status = testing_results::run_program(
      {python, root + "/tests/results/two_factors_judge.py", root + "/scripts/figures", GetParam()},
      folder.file("output"));
  EXPECT_EQ(status, 0) << testing_results::text_of(folder.file("output"));
}

INSTANTIATE_TEST_SUITE_P(Judges, TwoFactors,
                         ::testing::Values("known_updates_are_least_squares", "bounds_are_maximum_likelihood",
                                           "scipy_finds_the_same", "known_laws_are_in_the_interval",
                                           "evidence_chooses_the_terms", "rows_are_read_as_written",
                                           "products_are_both_factors", "what_does_not_fit_is_refused",
                                           "the_script_answers_from_runs", "rows_of_the_program_are_read"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace strobe
