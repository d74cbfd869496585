#include "harness/external/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/errors.hpp"
#include "harness/external/process_tree.hpp"

namespace strobe {
namespace {

constexpr double seconds_to_end = 5;

/// The texts that the new process needs. They are made before the fork, because a process with threads may not allocate
/// after one.
struct ChildPlan {
  std::vector<std::string> variables;
  std::vector<char*> environment;
  std::string command, user_map, group_map;
  const char *output = nullptr, *errors = nullptr;
  bool own_network = false;
};

/// Whether a launcher set this variable for this process. The program is no rank of that launch.
bool is_of_launch(const std::string& variable) {
  constexpr const char* prefixes[] = {"OMPI_COMM_WORLD_", "PMI_", "PMIX_", "RANK=", "SLURM_PROCID="};
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](const char* prefix) { return variable.starts_with(prefix); });
}

ChildPlan child_plan(const ProgramStart& start) {
  ChildPlan plan;
  for (const auto& [name, value] : start.variables) plan.variables.push_back(name + "=" + value);
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string text = *one;
    bool replaced = is_of_launch(text);
    for (const auto& [name, value] : start.variables) replaced = replaced || text.starts_with(name + "=");
    if (!replaced) plan.environment.push_back(*one);
  }
  for (std::string& one : plan.variables) plan.environment.push_back(one.data());
  plan.environment.push_back(nullptr);
  plan.command = start.command;
  plan.user_map = fmt::format("{0} {0} 1", getuid());
  plan.group_map = fmt::format("{0} {0} 1", getgid());
  plan.output = start.output.c_str();
  plan.errors = start.errors.c_str();
  plan.own_network = start.own_network;
  return plan;
}

bool write_whole(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

bool raise_loopback() {
  const int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return false;
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool raised = ioctl(handle, SIOCSIFFLAGS, &request) == 0;
  close(handle);
  return raised;
}

/// A user without privileges gets a user namespace as well, in which the user keeps its numbers.
bool enter_own_network(const ChildPlan& plan) {
  if (unshare(CLONE_NEWNET) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    write_whole("/proc/self/setgroups", "deny");
    if (!write_whole("/proc/self/uid_map", plan.user_map) || !write_whole("/proc/self/gid_map", plan.group_map))
      return false;
  }
  return raise_loopback();
}

/// The step that failed in the new process, and its errno.
struct ChildFailure {
  enum Step : int { network, output, shell } step;
  int error;
};

[[noreturn]] void become_program(const ChildPlan& plan, int report) {
  const auto fail = [&](ChildFailure::Step step) {
    const ChildFailure failure{step, errno};
    if (write(report, &failure, sizeof failure) < 0) _exit(126);
    _exit(127);
  };
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGPIPE}) std::signal(signal, SIG_DFL);
  if (plan.own_network && !enter_own_network(plan)) fail(ChildFailure::network);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // after the namespace, whose making undoes it
  const int nothing = open("/dev/null", O_RDONLY);
  const int output = open(plan.output, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int errors = open(plan.errors, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (nothing < 0 || output < 0 || errors < 0 || dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0)
    fail(ChildFailure::output);
  std::array<const char*, 4> words{"/bin/sh", "-c", plan.command.c_str(), nullptr};
  execve(words[0], const_cast<char* const*>(words.data()), plan.environment.data());
  fail(ChildFailure::shell);
  _exit(127);
}

void throw_failure(const ChildFailure& failure) {
  const std::string why = std::strerror(failure.error);
  if (failure.step == ChildFailure::network)
    throw Unavailable(
        fmt::format("no network namespace can be made here: {}; use network=shared, whose counters "
                    "include other programs",
                    why));
  throw SystemError(fmt::format("cannot start the program: {}: {}",
                                failure.step == ChildFailure::shell ? "/bin/sh" : "its output file", why));
}

}  // namespace

OutsideProgram::OutsideProgram(const ProgramStart& start) {
  const ChildPlan plan = child_plan(start);
  others_ = own_children();
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) throw SystemError("cannot make a pipe");
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the program leaves behind becomes a child of this process
  process_ = fork();
  if (process_ == 0) become_program(plan, report[1]);
  close(report[1]);
  ChildFailure failure{};
  ssize_t got = -1;
  while (process_ > 0 && (got = read(report[0], &failure, sizeof failure)) < 0 && errno == EINTR) continue;
  close(report[0]);
  if (process_ < 0) throw SystemError("cannot start a process");
  if (got != static_cast<ssize_t>(sizeof failure)) return;
  waitpid(process_, nullptr, 0);
  waited_for_ = true;
  throw_failure(failure);
}

OutsideProgram::~OutsideProgram() { end(); }

bool OutsideProgram::has_ended() const {
  if (waited_for_) return true;
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

int OutsideProgram::end() {
  if (waited_for_) return 0;
  int state = 0;
  const bool ended = has_ended();
  waited_for_ = true;
  if (ended)
    waitpid(process_, &state, 0);
  else
    state = end_tree(process_, seconds_to_end);
  end_left(process_, others_);
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace strobe
