// Runs the Python scripts that come with Strobe as separate programs.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace strobe {

/// A temporary folder that disappears with the object.
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

/// Starts a program found in PATH, without input and with its output in the file `output`. Sets `child` to its process.
/// Returns 0, or the errno that says why it cannot start.
int start_program(std::vector<std::string> words, const std::string& output, pid_t& child);

/// Runs a program found in PATH with its output in the file `output`. Returns its exit status, 127 when it cannot
/// start.
int run_program(std::vector<std::string> words, const std::string& output);

/// The first Python that has all `modules`, named with blanks between them: $STROBE_PYTHON, python3 in PATH, the
/// system's.
/// "" when there is none.
std::string find_python(const std::string& modules);

/// Runs a script of scripts/ and returns its output. Throws InvalidRequest(where, ...) when the script refuses its
/// input (status 2). For other failures throws SystemError with a message that begins with `failure`.
std::string run_script(std::vector<std::string> words, const std::string& where, const std::string& failure);

/// Returns the content of a file without the line ends after it.
std::string words_in(const std::string& path);

}  // namespace strobe
