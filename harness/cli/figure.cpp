#include "harness/cli/figure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/errors.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

/// A folder of its own that disappears with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "strobe-figure-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw SystemError("cannot make a temporary folder " + name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

/// Runs a program found in PATH with its words in `output`; its exit status, 127 when it cannot start.
int run(std::vector<std::string> words, const std::string& output) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int state = 0;
  if (failure != 0 || waitpid(child, &state, 0) != child) return 127;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 127;
}

/// The first Python that has matplotlib: $STROBE_PYTHON, python3 in PATH, the system's.
std::string find_python() {
  const char* asked = std::getenv("STROBE_PYTHON");
  const std::string question = "import importlib.util as u, sys; sys.exit(u.find_spec('matplotlib') is None)";
  for (const std::string& python :
       {std::string(asked == nullptr ? "" : asked), std::string("python3"), std::string("/usr/bin/python3")})
    if (!python.empty() && run({python, "-c", question}, "/dev/null") == 0) return python;
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
  const int status = run({find_python(), fmt::format("{}/{}.py", STROBE_FIGURE_DIR, script), scratch.file("facts.json"),
                          "--out", folder, "--name", target.stem().string()},
                         output);
  if (status == 0) return;
  std::ifstream stream(output);
  std::string words{std::istreambuf_iterator<char>(stream), {}};
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (status == 2) throw InvalidRequest("--figure", words);
  throw SystemError(fmt::format("the figure {} could not be drawn: {}", path, words));
}

}  // namespace strobe
