#include "harness/process/python.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/errors.hpp"

namespace strobe {

ScratchFolder::ScratchFolder() : path_((std::filesystem::temp_directory_path() / "strobe-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) throw SystemError("cannot make a temporary folder " + path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

int start_program(std::vector<std::string> words, const std::string& output, pid_t& child) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  const int failure = posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return failure;
}

int run_program(std::vector<std::string> words, const std::string& output) {
  pid_t child = 0;
  int state = 0;
  const int failure = start_program(std::move(words), output, child);
  if (failure != 0 || waitpid(child, &state, 0) != child) return 127;
  return WIFEXITED(state) ? WEXITSTATUS(state) : 127;
}

std::string find_python(const std::string& modules) {
  const char* asked = std::getenv("STROBE_PYTHON");
  // With -c, Python puts the working folder in front of its own modules. Files in that folder must not be run.
  const std::string question =
      "import sys; sys.path = [folder for folder in sys.path if folder]; import importlib.util as u; "
      "sys.exit(any(u.find_spec(module) is None for module in '" +
      modules + "'.split()))";
  for (const std::string& python :
       {std::string(asked == nullptr ? "" : asked), std::string("python3"), std::string("/usr/bin/python3")})
    if (!python.empty() && run_program({python, "-c", question}, "/dev/null") == 0) return python;
  return "";
}

std::string run_script(std::vector<std::string> words, const std::string& where, const std::string& failure) {
  const ScratchFolder scratch;
  const int status = run_program(std::move(words), scratch.file("output"));
  std::string said = words_in(scratch.file("output"));
  if (status == 0) return said;
  if (said.find("Traceback (most recent call last)") != std::string::npos)
    said.erase(0, said.rfind('\n') + 1);  // the last line of a traceback holds the message
  if (said.empty()) said = fmt::format("Python ended with status {}", status);
  if (status == 2) throw InvalidRequest(where, said);
  throw SystemError(failure + ": " + said);
}

std::string words_in(const std::string& path) {
  std::ifstream stream(path);
  std::string words{std::istreambuf_iterator<char>(stream), {}};
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words;
}

}  // namespace strobe
