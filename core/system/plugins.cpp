// A plug-in's static objects are third-party code that runs inside dlopen. An exception from them leaves the loader in
// disorder, and they may end the process. So a child process loads each file first and reports the outcome.
// Cost: a fork and a second load for each plug-in.
#include "core/system/plugins.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/errors.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view release_mark =
    "strobe plug-in of release ";  // strobeConfig.cmake writes it, and a semicolon
constexpr char loaded_mark = '+';

std::vector<std::string>& plugins() {
  static std::vector<std::string> paths;
  return paths;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InvalidRequest("$STROBE_PLUGINS",
                       fmt::format("the plug-in '{}' cannot be loaded: {}; build it against this program "
                                   "(find_package(strobe), docs/howto/own_strategy.md)",
                                   path, why));
}

/// The absolute path of an element of the variable. A path that begins with / stays as it is.
std::string absolute_path(const std::string& named) {
  std::error_code failed;
  const fs::path folder = fs::current_path(failed);
  if (named.find('/') == std::string::npos)
    throw InvalidRequest(
        "$STROBE_PLUGINS",
        fmt::format("'{}' has no folder, and Strobe searches none for plug-ins; write {} for the file in "
                    "the working folder",
                    named, (folder / named).string()));
  if (named.front() == '/') return named;
  const fs::path path = fs::canonical(named, failed);
  if (failed) refuse((folder / named).lexically_normal().string(), failed.message());
  return path.string();
}

int& words_of_trial() {
  static int pipe_end = -1;
  return pipe_end;
}

void say(std::string_view words) {
  [[maybe_unused]] const ssize_t ignored = write(words_of_trial(), words.data(), words.size());
}

[[noreturn]] void tell_what_was_thrown() {
  try {
    if (std::current_exception() != nullptr) throw;
    say("it called std::terminate");
  } catch (const std::exception& error) {
    say("its static objects threw: ");
    say(error.what());
  } catch (...) {
    say("its static objects threw an exception of unknown type");
  }
  _exit(1);
}

/// The child loads the file and ends. When the loader refuses a file, none of its code runs, so the parent gets the
/// loader's own message.
[[noreturn]] void try_in_child(const std::string& path, int pipe_end) {
  words_of_trial() = pipe_end;
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);  // what it prints is printed when the parent loads it
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  std::set_terminate(tell_what_was_thrown);
  void* (*volatile const load)(const char*, int) = dlopen;  // declared to throw nothing, which plug-ins may break
  try {
    load(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  } catch (...) {
    tell_what_was_thrown();
  }
  say(std::string_view(&loaded_mark, 1));
  _exit(0);
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[512];
  for (;;) {
    const ssize_t n = read(descriptor, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

/// Why loading the file would end this process; "" when it would not. Also "" when no child process can be started to
/// try it.
std::string fault_of_loading(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  const pid_t child = fork();
  if (child == 0) try_in_child(path, ends[1]);
  close(ends[1]);
  const std::string words = child < 0 ? std::string(1, loaded_mark) : read_all(ends[0]);
  close(ends[0]);
  int state = 0;
  while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (!words.empty() && words.back() == loaded_mark) return "";
  if (!words.empty()) return words;
  return WIFSIGNALED(state) ? fmt::format("signal {} ({}) ended the process that loaded it", WTERMSIG(state),
                                          strsignal(WTERMSIG(state)))
                            : fmt::format("it ended the process that loaded it, with status {}", WEXITSTATUS(state));
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Why the file belongs to another release; "" when it does not, or does not say. Files that strobe_plugin() builds say
/// it.
std::string fault_of_release(const std::string& bytes) {
  const std::size_t at = bytes.find(release_mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + release_mark.size();
  const std::string release = bytes.substr(begin, std::min<std::size_t>(bytes.find(';', begin) - begin, 40));
  return release == STROBE_VERSION
             ? ""
             : fmt::format("it was built for release {}, and this is {}", release, STROBE_VERSION);
}

/// A plug-in that registers something has the registry among its symbols.
bool registers_something(const std::string& bytes) { return bytes.find("6strobe8Registry") != std::string::npos; }

void load(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) refuse(path, failed ? failed.message() : "it is not a file");
  const std::string bytes = read_file(path);
  const bool program_code = bytes.starts_with(
      "\x7f"
      "ELF");
  if (const std::string fault = fault_of_release(bytes); !fault.empty()) refuse(path, fault);
  if (const std::string fault = fault_of_loading(path); !fault.empty()) refuse(path, fault);
  if (program_code && !registers_something(bytes)) refuse(path, "it registers nothing with strobe");
  // Resolves all symbols now: a plug-in built for another version needs others, and fails here.
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* const why = dlerror();
    refuse(path, why == nullptr ? "no reason given" : why);
  }
  plugins().push_back(path);
}

}  // namespace

void load_plugins() {
  const char* const named = std::getenv("STROBE_PLUGINS");
  if (named == nullptr || !plugins().empty()) return;
  std::istringstream list(named);
  for (std::string path; std::getline(list, path, ':');)
    if (!path.empty()) load(absolute_path(path));
}

const std::vector<std::string>& loaded_plugins() { return plugins(); }

void search_no_working_folder() {
  for (const char* variable : {"PATH", "PYTHONPATH", "LD_LIBRARY_PATH"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr) continue;
    std::string kept;
    std::istringstream elements(value);
    for (std::string element; std::getline(elements, element, ':');)
      if (!element.empty() && element.front() == '/') kept += (kept.empty() ? "" : ":") + element;
    if (kept.empty())
      unsetenv(variable);
    else
      setenv(variable, kept.c_str(), 1);
  }
}

}  // namespace strobe
