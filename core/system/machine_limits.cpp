// Sources: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max, memory.max), cgroup-v1/memory.rst, and
// Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us); cgroups(7) and proc(5) for where a process's groups are
// written down and mounted. Cost: a few small files, read once a process.
#include "core/system/machine_limits.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "core/hash.hpp"

namespace strobe {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The numbers in a file; a word such as `max` counts as 0.
std::vector<double> numbers_in(const std::string& path) {
  std::vector<double> numbers;
  std::istringstream words(text_of(path));
  for (std::string word; words >> word;) numbers.push_back(std::strtod(word.c_str(), nullptr));
  return numbers;
}

double number_in(const std::string& path) {
  const std::vector<double> numbers = numbers_in(path);
  return numbers.empty() ? 0 : numbers.front();
}

/// Decodes the octal escapes of /proc, such as \\040 for a blank.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool lists(const std::string& words, const std::string& word) {
  return ("," + words + ",").find("," + word + ",") != std::string::npos;
}

/// A mounted hierarchy of control groups. Its group `root` is visible at `point`.
struct Hierarchy {
  std::string root, point;
};

/// The version 1 hierarchy that holds `controller`, or the version 2 hierarchy when `controller` is empty.
Hierarchy find_hierarchy(const std::string& mounts, const std::string& controller) {
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash)), back(line.substr(dash + 3));
    std::string skipped, root, point, type, source, options;
    front >> skipped >> skipped >> skipped >> root >> point;
    back >> type >> source >> options;
    const bool wanted = controller.empty() ? type == "cgroup2" : type == "cgroup" && lists(options, controller);
    if (wanted) return {unescaped(root), unescaped(point)};
  }
  return {};
}

/// The process's group in a hierarchy, as /proc/self/cgroup names it ("4:cpu,cpuacct:/docker/1f", "0::/user.slice").
std::string group_of(const std::string& groups, const std::string& controller) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : lists(controllers, controller)) return line.substr(second + 1);
  }
  return "";
}

/// The folders of the process's group and of its ancestors, as far as they are mounted.
std::vector<std::string> group_folders(const std::string& root, const std::string& controller) {
  const Hierarchy mounted = find_hierarchy(text_of(root + "/proc/self/mountinfo"), controller);
  if (mounted.point.empty()) return {};
  std::string group = group_of(text_of(root + "/proc/self/cgroup"), controller);
  if (mounted.root != "/" && (group + "/").rfind(mounted.root + "/", 0) == 0) group.erase(0, mounted.root.size());
  // A container that sees its own group as the root reads a name from outside, or "..", for another group.
  else if (mounted.root != "/" || group.find("/..") != std::string::npos)
    group.clear();
  while (!group.empty() && group.back() == '/') group.pop_back();
  std::vector<std::string> folders;
  for (;; group.erase(group.rfind('/'))) {
    folders.push_back(root + mounted.point + group);
    if (group.empty() || group.front() != '/') return folders;
  }
}

void limit_cores(double cores, const std::string& folder, ContainerLimits& limits) {
  if (cores <= 0 || (limits.cores > 0 && limits.cores <= cores)) return;
  limits.cores = cores;
  limits.cores_group = folder;
}

void limit_memory(double bytes, ContainerLimits& limits) {
  // Version 1 writes "none" as the largest multiple of a page below 2^63.
  if (bytes <= 0 || bytes >= 9.2e18) return;
  const auto whole = static_cast<std::uint64_t>(bytes);
  if (limits.memory_bytes == 0 || whole < limits.memory_bytes) limits.memory_bytes = whole;
}

const ContainerLimits& own_container() {
  static const ContainerLimits limits = container_limits();
  return limits;
}

std::uint64_t number_of(const std::string& text) {
  return text.empty() ? 0 : std::strtoull(sha256_hex(text).substr(0, 15).c_str(), nullptr, 16);
}

}  // namespace

ContainerLimits container_limits(const std::string& root) {
  ContainerLimits limits;
  for (const std::string& folder : group_folders(root, "")) {
    const std::vector<double> cpu = numbers_in(folder + "/cpu.max");
    if (cpu.size() == 2 && cpu[1] > 0) limit_cores(cpu[0] / cpu[1], folder, limits);
    limit_memory(number_in(folder + "/memory.max"), limits);
  }
  for (const std::string& folder : group_folders(root, "cpu")) {
    const double period = number_in(folder + "/cpu.cfs_period_us");
    if (period > 0) limit_cores(number_in(folder + "/cpu.cfs_quota_us") / period, folder, limits);
  }
  for (const std::string& folder : group_folders(root, "memory"))
    limit_memory(number_in(folder + "/memory.limit_in_bytes"), limits);
  return limits;
}

CoreMask allowed_cores() {
  CoreMask mask{};
  if (sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) == 0 && count_cores(mask) > 0)
    return mask;
  const auto cores = std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), mask.size() * 64);
  for (std::size_t core = 0; core < cores; ++core) mask[core / 64] |= std::uint64_t{1} << (core % 64);
  return mask;
}

int count_cores(const CoreMask& mask) {
  int count = 0;
  for (const std::uint64_t word : mask) count += std::popcount(word);
  return count;
}

int usable_cores() {
  const int allowed = count_cores(allowed_cores());
  const double quota = own_container().cores;
  return quota > 0 ? std::min(allowed, threads_of_share(quota)) : allowed;
}

std::uint64_t machine_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages < 0 || size < 0 ? 0 : static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

double usable_memory_bytes() {
  double bytes = machine_memory_bytes();
  if (own_container().memory_bytes > 0) bytes = std::min(bytes, static_cast<double>(own_container().memory_bytes));
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? std::min(bytes, static_cast<double>(limit.rlim_cur)) : bytes;
}

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

CoreClaim own_core_claim() {
  CoreClaim claim;
  // Two nodes may have the same name, and two containers of one node have different names.
  claim.node = number_of(host_name() + " " + text_of("/proc/sys/kernel/random/boot_id"));
  claim.quota_group = number_of(own_container().cores_group);
  claim.quota = own_container().cores;
  claim.mask = allowed_cores();
  return claim;
}

std::vector<double> core_shares(const std::vector<CoreClaim>& claims) {
  using Core = std::pair<std::uint64_t, std::size_t>;  // node, number
  std::map<Core, int> sharers;
  const auto each_core = [](const CoreClaim& claim, const auto& visit) {
    for (std::size_t core = 0; core < claim.mask.size() * 64; ++core)
      if ((claim.mask[core / 64] >> (core % 64) & 1) != 0) visit(Core{claim.node, core});
  };
  for (const CoreClaim& claim : claims) each_core(claim, [&](const Core& core) { ++sharers[core]; });
  using Group = std::pair<std::uint64_t, std::uint64_t>;  // node, group
  const auto group = [](const CoreClaim& claim) { return Group{claim.node, claim.quota_group}; };
  std::map<Group, int> members;
  for (const CoreClaim& claim : claims) ++members[group(claim)];
  std::vector<double> shares;
  for (const CoreClaim& claim : claims) {
    double cores = 0;
    each_core(claim, [&](const Core& core) { cores += 1.0 / sharers.at(core); });
    if (claim.quota > 0) cores = std::min(cores, claim.quota / members.at(group(claim)));
    shares.push_back(cores);
  }
  return shares;
}

int threads_of_share(double cores) {
  constexpr double rounding = 1e-9;  // a third of a core, three times, is a core
  return std::max(1, static_cast<int>(std::floor(cores + rounding)));
}

}  // namespace strobe
