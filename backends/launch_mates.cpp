#include "backends/launch_mates.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace strobe {
namespace {

namespace fs = std::filesystem;

using Environment = std::map<std::string, std::string>;

constexpr const char* name_of_those_that_left = "strobe:left";  // as the process list shows it

std::string read_whole(const std::string& path) {
  const std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();  // throws nothing if the process ends meanwhile
  return text.str();
}

Environment environment_of(const std::string& process) {
  Environment result;
  const std::string text = read_whole("/proc/" + process + "/environ");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size()), equals = text.find('=', begin);
    if (equals < end) result[text.substr(begin, equals - begin)] = text.substr(equals + 1, end - equals - 1);
    begin = end + 1;
  }
  return result;
}

/// The first of these variables that is a whole number; -1 if none is.
int number_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = environment.find(name);
    int value = 0;
    if (found == environment.end()) continue;
    const char* const end = found->second.data() + found->second.size();
    if (std::from_chars(found->second.data(), end, value).ptr == end && value >= 0) return value;
  }
  return -1;
}

/// The fields of /proc/PROCESS/stat after the program's name: state, parent, ...
std::string stat_of(const std::string& process) {
  const std::string text = read_whole("/proc/" + process + "/stat");
  const std::size_t end = text.rfind(") ");
  return end == std::string::npos ? "" : text.substr(end + 2);
}

std::string parent_of(const std::string& process) {
  const std::string fields = stat_of(process);
  return fields.size() < 3 ? "" : fields.substr(2, fields.find(' ', 2) - 2);
}

/// The value that only the processes of one launch share: the launcher's name for it, or the launcher.
std::string launch_of(const Environment& environment, const std::string& process) {
  if (const auto job = environment.find("PMIX_NAMESPACE"); job != environment.end()) return job->second;
  const auto job = environment.find("SLURM_JOB_ID"), step = environment.find("SLURM_STEP_ID");
  if (job != environment.end() && step != environment.end()) return job->second + "." + step->second;
  return "started by " + parent_of(process);
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat of_a {
  }, of_b{};
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

MateState state_of(const std::string& process) {
  const std::string fields = stat_of(process);
  const char state = fields.empty() ? 'X' : fields.front();
  if (state == 'T' || state == 't') return MateState::stopped;
  if (state == 'Z' || state == 'X') return MateState::unseen;
  const bool left = read_whole("/proc/" + process + "/comm") == std::string(name_of_those_that_left) + "\n";
  return left ? MateState::left : MateState::running;
}

int rank_of(const Environment& environment) {
  return number_of(environment, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"});
}

bool is_process(const std::string& name) { return name.find_first_not_of("0123456789") == std::string::npos; }

}  // namespace

int LaunchMates::lowest_running() const {
  const auto first = std::find_if(states.begin(), states.end(), [](MateState state) {
    return state == MateState::running || state == MateState::left;
  });
  return first == states.end() ? own : static_cast<int>(first - states.begin());
}

LaunchMates look_at_launch() {
  LaunchMates mates;
  const Environment own = environment_of("self");
  const int rank = rank_of(own), size = number_of(own, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"});
  if (rank < 0 || size <= rank) return mates;
  mates.own = rank;
  mates.all_here = number_of(own, {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) == size;
  mates.states.assign(size, MateState::unseen);
  mates.states[rank] = MateState::running;
  const std::string launch = launch_of(own, "self");
  std::error_code failed;
  for (fs::directory_iterator at("/proc", failed), end; !failed && at != end; at.increment(failed)) {
    const std::string process = at->path().filename().string();
    if (!is_process(process) || !same_file("/proc/" + process + "/exe", "/proc/self/exe")) continue;
    const Environment environment = environment_of(process);
    const int other = rank_of(environment);
    if (other < 0 || other >= size || other == rank || launch_of(environment, process) != launch) continue;
    mates.states[other] = state_of(process);
  }
  return mates;
}

void mark_as_left() { prctl(PR_SET_NAME, name_of_those_that_left); }

void WaitVerdict::blame(const LaunchMates& mates, int rank) {
  const MateState state = mates.states[rank];
  const char* const word = state == MateState::stopped  ? "stopped"
                           : state != MateState::unseen ? "runs"
                           : mates.all_here             ? "gone"
                                                        : "not heard from";
  blamed.push_back(rank);
  words += fmt::format("{}rank {} ({})", words.empty() ? "" : ", ", rank, word);
}

WaitVerdict judge_wait(const LaunchMates& mates, double waited, double limit, bool elsewhere_works) {
  constexpr double longer_for_those_that_run = 10;
  WaitVerdict verdict;
  if (waited < limit) return verdict;
  const bool at_the_end = waited >= longer_for_those_that_run * limit;
  for (std::size_t rank = 0; rank < mates.states.size(); ++rank) {
    const MateState state = mates.states[rank];
    const bool may_be_elsewhere = state == MateState::unseen && !mates.all_here;
    const bool works = state == MateState::running || (may_be_elsewhere && elsewhere_works);
    if (static_cast<int>(rank) != mates.own && (at_the_end || !works)) verdict.blame(mates, static_cast<int>(rank));
  }
  verdict.over = at_the_end || !verdict.blamed.empty();
  if (verdict.words.empty()) verdict.words = "the others";
  return verdict;
}

}  // namespace strobe
