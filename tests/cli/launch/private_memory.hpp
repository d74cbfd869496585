// The private memory of the processes of a command, looked at while they run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {

/// A value of /proc/PROCESS/status; "" for a process that has ended.
inline std::string status_of(pid_t process, const std::string& key) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word, value; status >> word;)
    if (word == key && status >> value) return value;
  return "";
}

/// Adds the processes of the program below `process`. Their own children, such as a shell, are not looked at.
inline void add_programs(pid_t process, std::set<pid_t>& all) {
  static const std::string name = std::filesystem::path(STROBE_BINARY).filename().string().substr(0, 15);
  if (status_of(process, "Name:") == name) {
    all.insert(process);
    return;
  }
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  std::error_code gone;
  for (std::filesystem::directory_iterator task(tasks, gone), end; !gone && task != end; task.increment(gone)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child = 0; children >> child;) add_programs(child, all);
  }
}

/// The rank that Open MPI gave a process; 0 for others. -1 while a process begins: it has no environment yet.
inline int rank_of(pid_t process) {
  const std::string all = read_text("/proc/" + std::to_string(process) + "/environ"), key = "OMPI_COMM_WORLD_RANK=";
  if (all.empty()) return -1;
  const std::size_t at = all.find('\0' + key);
  return at == std::string::npos ? 0 : std::atoi(all.c_str() + at + 1 + key.size());
}

/// The most private bytes of each rank among the processes of the program below `command`, until `wait` returns.
template <class Wait>
std::map<int, double> most_private_bytes(pid_t command, const Wait& wait) {
  std::atomic<bool> over{false};
  std::map<int, double> most;
  std::thread watch([&] {
    std::map<pid_t, int> ranks;
    for (std::set<pid_t> processes; !over; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
      add_programs(command, processes);
      for (const pid_t process : processes) {
        const std::string kibibytes = status_of(process, "RssAnon:");
        if (kibibytes.empty()) continue;
        const auto known = ranks.try_emplace(process, -1).first;
        if (known->second < 0) known->second = rank_of(process);
        if (known->second < 0) continue;
        double& bytes = most[known->second];
        bytes = std::max(bytes, 1024 * std::stod(kibibytes));
      }
    }
  });
  wait();
  over = true;
  watch.join();
  return most;
}

}  // namespace strobe::cli_test
