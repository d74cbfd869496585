// Processes of a test's own, for values that several processes share.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace strobe::test {

/// Runs `work` in a process of its own, whose status is 0 when `work` returns true.
inline pid_t start_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  bool good = false;
  try {
    good = work();
  } catch (...) {
  }
  _exit(good ? 0 : 1);
}

inline int status_of_child(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// A wait that never ends by itself.
inline std::function<bool()> endless() {
  return [] { return true; };
}

}  // namespace strobe::test
