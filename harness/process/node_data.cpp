#include "harness/process/node_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>

#include "backends/launch_mates.hpp"
#include "backends/launch_wait.hpp"
#include "backends/lost_ranks.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/machine_limits.hpp"
#include "harness/process/narrate.hpp"
#include "workloads/binary/cache.hpp"

namespace strobe {
namespace {

/// A name that no other run has.
std::string random_name() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

/// A wait for the process that makes a value. It ends the run by the rules of all waits for other processes. But when
/// all of them run, this process does the work itself in the end, because reading may take longer than any limit.
class WaitForMaker {
 public:
  bool goes_on() {
    if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
    const double seconds = waited_.seconds(), limit = launch_wait_seconds();
    if (seconds < std::max(limit, next_)) return true;
    next_ = seconds + 1;
    const LaunchMates mates = look_at_launch();
    const WaitVerdict verdict = judge_wait(mates, seconds, limit, true);
    if (!verdict.over) return true;
    const auto may_work = [&](int rank) {
      const MateState state = mates.states[rank];
      return state == MateState::running || (state == MateState::unseen && !mates.all_here);
    };
    if (std::all_of(verdict.blamed.begin(), verdict.blamed.end(), may_work)) return false;
    throw RanksLost(
        fmt::format("another process of this machine takes longer than {:g} s (--timeout) to read the data; "
                    "waiting for: {}. The run ends here. Continue with --resume",
                    limit, verdict.words),
        mates.states.empty() || mates.lowest_running() == mates.own);
  }

 private:
  WaitedTime waited_;
  double next_ = 0;
};

}  // namespace

std::shared_ptr<const NodeStore> node_store_of(const Ranks& ranks, double host_limit, bool by_node) {
  if (!ranks.several() && host_limit == 0) return nullptr;
  const std::string launch = ranks.first_does(random_name), host = host_name();
  if (host_limit == 0 && !by_node && std::count(ranks.hosts().begin(), ranks.hosts().end(), host) < 2) return nullptr;
  NodeStoreSetting setting;
  std::error_code none;
  setting.folders = {cache_folder(), std::filesystem::temp_directory_path(none).string(), "/var/tmp"};
  // The same relative path may name other files where a process runs in another folder.
  setting.host = host;
  setting.launch = launch + " " + host + " " + std::filesystem::current_path(none).string();
  setting.begin_wait = [] {
    const auto wait = std::make_shared<WaitForMaker>();
    return [wait] { return wait->goes_on(); };
  };
  if (host_limit > 0)
    setting.reading_bytes = std::min(setting.reading_bytes, static_cast<std::uint64_t>(host_limit / 2));
  setting.note = [](const std::string& text) { narrate("note: " + text); };
  return std::make_shared<const NodeStore>(std::move(setting));
}

}  // namespace strobe
