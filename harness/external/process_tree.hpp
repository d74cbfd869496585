// Memory, processor time and network counters of a process and all its descendants, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <vector>

namespace strobe {

struct TreeReading {
  std::vector<pid_t> processes;     // the root first; empty when it is gone
  std::uint64_t private_bytes = 0;  // resident memory that no file backs (RssAnon + RssShmem), added over processes
  double processor_seconds = 0;     // user and system, with the children that ended
};

/// Reads /proc. Cost: a few files for each process of the machine.
TreeReading read_tree(pid_t root);

/// Bytes that all interfaces of a process's network namespace have sent, loopback too. It can still be asked when the
/// process has ended.
class NetworkCounter {
 public:
  explicit NetworkCounter(pid_t process);
  /// Empty where /proc does not tell.
  std::optional<std::uint64_t> sent();

 private:
  std::ifstream file_;  // keeps the namespace
};

/// Asks the process to end, waits up to `patience_seconds`, then kills all that is left of its tree. Returns the wait
/// status of `root`.
int end_tree(pid_t root, double patience_seconds);

std::vector<pid_t> own_children();

/// Kills what is left of a program that ended: processes of its session, and processes that lost their parents and
/// became children of this process. `others` are its children that stay.
void end_left(pid_t session, const std::vector<pid_t>& others);

}  // namespace strobe
