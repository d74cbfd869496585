#include "backends/launch_wait.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>

#include "backends/launch_mates.hpp"
#include "core/system/interrupt.hpp"

namespace strobe {
namespace {

std::atomic<double> limit_seconds{usual_launch_wait_seconds};

[[noreturn]] void end_process(const char* doing, const LaunchMates& mates, const WaitVerdict& verdict) {
  const std::string line = fmt::format(
      "strobe: rank {} of {}: {} takes longer than {:g} s (--timeout); waiting for: {}. The run ends here. Finished "
      "epochs stay on disk; continue with --resume\n",
      mates.own, mates.states.size(), doing, limit_seconds.load(), verdict.words);
  std::fflush(stdout);
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  const int signal = stop_signal().load();
  _exit(signal != 0 ? 128 + signal : 1);
}

/// If a lower rank reports, the launcher ends this process meanwhile.
void let_lower_rank_speak(const LaunchMates& mates) {
  if (mates.lowest_running() != mates.own) std::this_thread::sleep_for(std::chrono::seconds(3));
}

/// The thread lives as long as the process, and so does the state that it watches.
class Watch {
 public:
  static Watch& instance() {
    static auto* const watch = new Watch;
    return *watch;
  }

  void begin(const char* doing, bool elsewhere_works) {
    const std::lock_guard lock(mutex_);
    doing_ = doing;
    elsewhere_works_ = elsewhere_works;
    ++number_;
    changed_.notify_all();
  }

  void end() {
    const std::lock_guard lock(mutex_);
    doing_ = nullptr;
  }

 private:
  Watch() {
    try {
      std::thread([this] { look_after(); }).detach();
    } catch (const std::system_error&) {
      // No thread could be started; the calls then wait as long as MPI does.
    }
  }

  [[noreturn]] void look_after() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return doing_ != nullptr; });
      wait_for_end(lock);
    }
  }

  void wait_for_end(std::unique_lock<std::mutex>& lock) {
    const std::int64_t number = number_;
    WaitedTime waited;
    double next = limit_seconds.load();
    const auto still_waits = [&] { return doing_ != nullptr && number == number_; };
    while (still_waits()) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      const double seconds = waited.seconds();
      if (!still_waits() || seconds < next) continue;
      next = seconds + 1;
      const bool elsewhere_works = elsewhere_works_;
      lock.unlock();
      const LaunchMates mates = look_at_launch();
      const WaitVerdict verdict = judge_wait(mates, seconds, limit_seconds.load(), elsewhere_works);
      if (verdict.over) let_lower_rank_speak(mates);
      lock.lock();
      if (verdict.over && still_waits()) end_process(doing_, mates, verdict);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const char* doing_ = nullptr;
  bool elsewhere_works_ = false;
  std::int64_t number_ = 0;
};

}  // namespace

void limit_launch_waits(double seconds) { limit_seconds = std::max(seconds, least_launch_wait_seconds); }

double launch_wait_seconds() { return limit_seconds; }

LaunchWait::LaunchWait(const char* doing, bool elsewhere_works) { Watch::instance().begin(doing, elsewhere_works); }

LaunchWait::~LaunchWait() { Watch::instance().end(); }

void leave_with_others() {
  mark_as_left();
  WaitedTime waited;
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(2 * pause, std::chrono::milliseconds(50))) {
    const LaunchMates mates = look_at_launch();
    WaitVerdict verdict;
    bool all_leave = true;
    for (int rank = 0; rank < static_cast<int>(mates.states.size()); ++rank) {
      const MateState state = mates.states[rank];
      if (rank == mates.own) continue;
      all_leave = all_leave && (state == MateState::left || state == MateState::unseen);
      if (state == MateState::stopped) verdict.blame(mates, rank);
    }
    if (all_leave) return;
    if (waited.seconds() < limit_seconds.load()) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    if (verdict.blamed.empty()) return;  // the others run, and end by themselves
    let_lower_rank_speak(mates);
    end_process("to leave the launch", mates, verdict);
  }
}

}  // namespace strobe
