#include "harness/external/process_tree.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "backends/wall_clock.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

struct ProcessStat {
  pid_t parent = 0, group = 0, session = 0;
  double ticks = 0;
};

/// /proc/PID/stat: the words after the name, which may hold blanks and parentheses, begin with state, parent, group and
/// session.
std::optional<ProcessStat> stat_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::istringstream words(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string word;
  ProcessStat stat;
  if (!(words >> word >> stat.parent >> stat.group >> stat.session)) return std::nullopt;
  constexpr int before_times = 7;
  for (int i = 0; i < before_times; ++i) words >> word;
  for (int i = 0; i < 4; ++i) {  // user and system time, of the process and of its ended children
    double ticks = 0;
    if (words >> ticks) stat.ticks += ticks;
  }
  return stat;
}

std::map<pid_t, ProcessStat> all_processes() {
  std::map<pid_t, ProcessStat> all;
  std::error_code failed;
  for (auto entry = fs::directory_iterator("/proc", failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const auto stat = stat_of(name)) all[static_cast<pid_t>(std::stol(name))] = *stat;
  }
  return all;
}

std::uint64_t private_bytes_of(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  std::uint64_t sum = 0;
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kibibytes = 0;
    words >> key >> kibibytes;
    if (key == "RssAnon:" || key == "RssShmem:") sum += kibibytes * 1024;
  }
  return sum;
}

bool is_gone(pid_t child, int& state) { return waitpid(child, &state, WNOHANG) == child; }

}  // namespace

TreeReading read_tree(pid_t root) {
  TreeReading reading;
  const std::map<pid_t, ProcessStat> all = all_processes();
  if (all.count(root) == 0) return reading;
  reading.processes.push_back(root);
  for (std::size_t next = 0; next < reading.processes.size(); ++next) {
    const pid_t process = reading.processes[next];
    for (const auto& [other, stat] : all)
      if (stat.parent == process) reading.processes.push_back(other);
    reading.private_bytes += private_bytes_of(process);
    reading.processor_seconds += all.at(process).ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return reading;
}

NetworkCounter::NetworkCounter(pid_t process) : file_(fmt::format("/proc/{}/net/dev", process)) {}

std::optional<std::uint64_t> NetworkCounter::sent() {
  file_.clear();
  file_.seekg(0);
  std::string line;
  std::getline(file_, line);
  std::getline(file_, line);  // two lines of headings
  std::optional<std::uint64_t> sum;
  while (std::getline(file_, line)) {
    std::istringstream words(line.substr(std::min(line.find(':') + 1, line.size())));
    constexpr int of_receiving = 8;
    std::uint64_t value = 0;
    for (int i = 0; i < of_receiving; ++i) words >> value;
    if (words >> value) sum = sum.value_or(0) + value;
  }
  return sum;
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  for (const auto& [process, stat] : all_processes())
    if (stat.parent == getpid()) children.push_back(process);
  return children;
}

/// Children of a killed process become children of this one, so that it looks again until none is left.
void end_left(pid_t session, const std::vector<pid_t>& others) {
  constexpr int most_looks = 500;
  for (int look = 0; look < most_looks; ++look) {
    bool found = false;
    for (const auto& [process, stat] : all_processes()) {
      const bool child = stat.parent == getpid();
      const bool adopted = child && std::find(others.begin(), others.end(), process) == others.end();
      if (!adopted && stat.session != session) continue;
      found = true;
      kill(process, SIGKILL);
      if (child) waitpid(process, nullptr, WNOHANG);
    }
    if (!found) return;
    usleep(2'000);
  }
}

int end_tree(pid_t root, double patience_seconds) {
  int state = 0;
  kill(root, SIGTERM);
  const double last = wall_seconds() + patience_seconds;
  bool gone = is_gone(root, state);
  for (; !gone && wall_seconds() < last; gone = is_gone(root, state)) usleep(10'000);
  if (!gone) {
    for (const pid_t process : read_tree(root).processes) kill(process, SIGKILL);
    while (waitpid(root, &state, 0) < 0 && errno == EINTR) continue;
  }
  return state;
}

}  // namespace strobe
