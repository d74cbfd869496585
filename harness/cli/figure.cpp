#include "harness/cli/figure.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/system/program_files.hpp"
#include "harness/process/python.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

std::string python_with_matplotlib() {
  const std::string python = find_python("matplotlib");
  if (!python.empty()) return python;
  throw Unavailable(
      "figures need Python with matplotlib (apt: python3-matplotlib; $STROBE_PYTHON chooses the interpreter)");
}

}  // namespace

void check_figure_path(const std::string& path) {
  const fs::path ending = fs::path(path).extension();
  if (ending != ".png" && ending != ".svg")
    throw InvalidRequest("--figure", fmt::format("'{}' must end in .png or .svg", path));
}

void draw_figure(const std::string& script, const Json& facts, const std::string& path) {
  check_figure_path(path);
  const fs::path target(path);
  const ScratchFolder scratch;
  write_file_atomically(scratch.file("facts.json"), facts.dump());
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  run_script({python_with_matplotlib(), fmt::format("{}/{}.py", program_folder(STROBE_FIGURE_DIR), script),
              scratch.file("facts.json"), "--out", folder, "--name", target.stem().string()},
             "--figure", fmt::format("the figure {} could not be drawn", path));
}

}  // namespace strobe
