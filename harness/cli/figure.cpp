#include "harness/cli/figure.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/program_files.hpp"
#include "harness/cli/python.hpp"

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
  std::ofstream(scratch.file("facts.json")) << facts.dump();
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  const std::string output = scratch.file("output");
  const int status =
      run_program({python_with_matplotlib(), fmt::format("{}/{}.py", program_folder(STROBE_FIGURE_DIR), script),
                   scratch.file("facts.json"), "--out", folder, "--name", target.stem().string()},
                  output);
  if (status == 0) return;
  std::string words = words_in(output);
  words.erase(0, words.rfind('\n') + 1);  // of a traceback the last line says it
  if (status == 2) throw InvalidRequest("--figure", words);
  throw SystemError(fmt::format("the figure {} could not be drawn: {}", path, words));
}

}  // namespace strobe
