// Starts another program in a session of its own, and ends it with everything that it started.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace strobe {

struct ProgramStart {
  std::string command;                                         // a line for /bin/sh
  std::vector<std::pair<std::string, std::string>> variables;  // that its environment has in addition
  std::string output;                                          // file for its standard output
  std::string errors;                                          // file for its standard error
  bool own_network = false;                                    // only a loopback interface, which nobody else uses
};

class OutsideProgram {
 public:
  /// Throws SystemError when it cannot start, and Unavailable when it cannot have a network of its own.
  explicit OutsideProgram(const ProgramStart& start);
  /// Ends the program if it runs.
  ~OutsideProgram();
  OutsideProgram(const OutsideProgram&) = delete;
  OutsideProgram& operator=(const OutsideProgram&) = delete;

  pid_t process() const { return process_; }
  /// Whether it has ended. It then stays readable in /proc until `end` is called.
  bool has_ended() const;
  /// Ends it if it runs, then everything that it started. Returns its exit status, 128 + signal if a signal ended it.
  int end();

 private:
  std::vector<pid_t> others_;  // children of this process that are not the program's
  pid_t process_ = 0;
  bool waited_for_ = false;
};

}  // namespace strobe
