// Runs the `strobe` program in a folder of its own and keeps its output.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe::cli_test {

/// The outcome of a program: exit status (128 + signal when a signal ended it), standard output and error.
struct Outcome {
  int status = -1;
  std::string out, err;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline Json read_json(const std::filesystem::path& path) { return Json::parse(read_text(path)); }

/// A fresh folder per test, removed afterwards.
class Program : public ::testing::Test {
 protected:
  Program() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-cli-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
  }
  ~Program() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Starts `words` (looked up in PATH) with output into files of the folder.
  pid_t start(const std::vector<std::string>& words) {
    std::string command = "cd '" + folder_.string() + "' && exec";
    for (const std::string& word : words) command += " '" + word + "'";
    return start_shell(command);
  }

  pid_t start_shell(const std::string& command) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_addopen(&files, 1, path("stdout").c_str(), 01 | 0100 | 01000, 0600);
    posix_spawn_file_actions_addopen(&files, 2, path("stderr").c_str(), 01 | 0100 | 01000, 0600);
    std::string shell = "/bin/sh", option = "-c", text = command;
    char* arguments[] = {shell.data(), option.data(), text.data(), nullptr};
    pid_t pid = 0;
    const int failure = posix_spawn(&pid, "/bin/sh", &files, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failure != 0) throw std::runtime_error("cannot start /bin/sh");
    return pid;
  }

  Outcome finish(pid_t pid) {
    int state = 0;
    waitpid(pid, &state, 0);
    const int status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return {status, read_text(path("stdout")), read_text(path("stderr"))};
  }

  Outcome strobe(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), STROBE_BINARY);
    return finish(start(arguments));
  }

  /// Whether `strobe list KIND` of this build names it.
  bool lists(const std::string& kind, const std::string& name) {
    const Json listed = Json::parse(strobe({"list", kind, "--json"}).out);
    for (const Json& entry : listed.at("entries"))
      if (entry.at("name") == name) return true;
    return false;
  }

  /// Writes a suite into the folder and returns its name.
  std::string suite(const std::string& text) {
    write_text(folder_ / "suite.json", text);
    return "suite.json";
  }

  std::filesystem::path folder_;
};

/// Fails unless the program ended with `status` and said `words` on standard error, and nothing on standard output.
inline void expect_refusal(const Outcome& outcome, int status, const std::vector<std::string>& words) {
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  for (const std::string& word : words)
    EXPECT_NE(outcome.err.find(word), std::string::npos) << word << "\n" << outcome.err;
}

/// A generated workload that trains in milliseconds.
inline constexpr const char* tiny = "uniform:steps=8,vertices=60,density=3";

}  // namespace strobe::cli_test
