// Runs scripts of figures on documents small enough to check by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/results/python.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {

class StudyFigures : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    python_ = testing_results::find_python("matplotlib");
    if (python_.empty()) GTEST_SKIP() << "no Python with matplotlib (apt: python3-matplotlib)";
  }
  int run(std::vector<std::string> arguments) const {
    arguments[0] = scripts_ + "/" + arguments[0];
    arguments.insert(arguments.begin(), python_);
    return testing_results::run_program(arguments, folder_.file("output"));
  }
  int check(const std::string& text) const {
    return testing_results::run_program(
        {python_, "-c",
         "import sys\nsys.path.insert(0, sys.argv[1])\nfrom strobe_figures import looks, rows as r\n" + text, scripts_},
        folder_.file("output"));
  }
  std::string output() const { return testing_results::text_of(folder_.file("output")); }
  std::string text(const std::string& name) const { return testing_results::text_of(folder_.file(name)); }
  std::string write(const std::string& name, const std::string& text) const {
    testing_results::write_text(folder_.file(name), text);
    return folder_.file(name);
  }

  testing_results::TemporaryFolder folder_;
  const std::string scripts_ = std::string(STROBE_SOURCE_DIR) + "/scripts/figures";
  std::string python_;
};

inline constexpr const char* figure_rows =
    "def row(strategy, epoch, clock='wall', ranks=2, edges=5, **more):\n"
    "    return {'case_id': f'{strategy}/{epoch}', 'workload': {'name': 'w', 'edges': edges}, 'model': {'name': 'm'},\n"
    "            'strategy': strategy, 'task': {'name': 't'}, 'optimizer': {'name': 'o'}, 'ranks': ranks, 'notes': "
    "[],\n"
    "            'time_source': clock, 'epoch_seconds': {'median': epoch}, 'settings': {},\n"
    "            'epoch_work': {'cells': 8, 'edges': 9, 'events': None, 'updates': 1}, **more}\n"
    "class options:\n"
    "    value, group, bars, log = ['epoch_seconds.median'], 'model', 'strategy', False\n";

}  // namespace strobe
