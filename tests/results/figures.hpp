// A fixture for tests that draw figures of the golden rows with Python.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/results/python.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe::testing_results {

namespace fs = std::filesystem;

inline const std::string golden_path = std::string(STROBE_TEST_DIR) + "/results/golden/summary.json";

/// The kinds of figures that draw rows.
inline std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(std::string(STROBE_SOURCE_DIR) + "/scripts/figures")) {
    // Figures of rows share a main; those that draw something else are tested with what they draw.
    if (entry.path().extension() == ".py" && text_of(entry.path().string()).find("looks.main(") != std::string::npos)
      names.push_back(entry.path().stem().string());
  }
  return names;
}

class Figures : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    python_ = find_python("matplotlib");
    if (python_.empty()) GTEST_SKIP() << "no Python with matplotlib (apt: python3-matplotlib)";
  }

  int draw(const std::string& name, const std::string& summary, const std::string& out) const {
    const std::string script = std::string(STROBE_SOURCE_DIR) + "/scripts/figures/" + name + ".py";
    return run_program({python_, script, summary, "--out", out}, folder_.file("output"));
  }
  /// All of `names` by one interpreter, which takes most of the time of a single drawing to start.
  int draw_all(const std::vector<std::string>& names, const std::string& summary, const std::string& out) const {
    const std::string folder = std::string(STROBE_SOURCE_DIR) + "/scripts/figures",
                      program =
                          "import runpy, sys\n"
                          "folder, summary, out, *names = sys.argv[1:]\n"
                          "sys.path.insert(0, folder)\n"
                          "for name in names:\n"
                          "    sys.argv = [name, summary, '--out', out]\n"
                          "    try:\n"
                          "        runpy.run_path(f'{folder}/{name}.py', run_name='__main__')\n"
                          "    except SystemExit as end:\n"
                          "        if end.code:\n"
                          "            sys.exit(f'{name}: {end.code}')\n";
    std::vector<std::string> command{python_, "-c", program, folder, summary, out};
    command.insert(command.end(), names.begin(), names.end());
    return run_program(command, folder_.file("output"));
  }
  /// Runs Python text on the figures' modules, with a run's rows as `rows` and matplotlib as `plt`.
  int check(const std::string& text, const std::string& summary, const std::string& argument = "") const {
    const std::string program =
        "import sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from strobe_figures import looks, rows as r\n"
        "plt = looks.start_matplotlib()\n"
        "rows = r.read_rows(sys.argv[2], [])\n" +
        text;
    return run_program({python_, "-c", program, std::string(STROBE_SOURCE_DIR) + "/scripts/figures", summary, argument},
                       folder_.file("output"));
  }
  std::string output() const { return text_of(folder_.file("output")); }

  /// Path of a copy of the golden summary changed by `change`.
  template <class Change>
  std::string changed_golden(Change change) const {
    Json summary = Json::parse(text_of(golden_path));
    change(summary["rows"]);
    write_text(folder_.file("changed.json"), summary.dump());
    return folder_.file("changed.json");
  }

  TemporaryFolder folder_;
  std::string python_;
};

}  // namespace strobe::testing_results
