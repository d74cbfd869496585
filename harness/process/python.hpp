// Python scripts that come with Strobe, run as programs of their own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace strobe {

/// A folder of its own that disappears with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Starts a program found in PATH, without input and with its words in the file `output`. `child` is then its process;
/// 0, or the errno of why it cannot start.
int start_program(std::vector<std::string> words, const std::string& output, pid_t& child);

/// Runs a program found in PATH with its words in the file `output`; its exit status, 127 when it cannot start.
int run_program(std::vector<std::string> words, const std::string& output);

/// The first Python that has `module`: $STROBE_PYTHON, python3 in PATH, the system's. "" when there is none.
std::string find_python(const std::string& module);

/// Runs a script of scripts/ and returns what it said. Throws InvalidRequest(where, ...) when it refuses what it reads
/// (status 2), else SystemError, which begins with `failure`.
std::string run_script(std::vector<std::string> words, const std::string& where, const std::string& failure);

/// What a file holds, without the line ends behind it.
std::string words_in(const std::string& path);

}  // namespace strobe
