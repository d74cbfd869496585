// Waiting: when every rank has a core of its own, first a short spin that turns into yielding (being woken takes longer
// than most ranks are apart); where ranks share cores, yielding alone, which hands the core to a rank that has yet to
// come; then a condition variable in slices, so that a stop signal, which only sets a flag, is noticed within a slice.
// A rank that was woken finds the work done in most cases.
#include "backends/local/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/system/interrupt.hpp"

namespace strobe::local {
namespace {

constexpr auto spin_time = std::chrono::microseconds(100);
constexpr auto yield_time = std::chrono::milliseconds(1);
constexpr auto poll_slice = std::chrono::milliseconds(100);

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

GroupNumber World::group(GroupNumber of, std::uint64_t split, std::size_t index) {
  const std::lock_guard lock(mutex_);
  return groups_.try_emplace({of, split, index}, groups_.size() + 1).first->second;
}

std::shared_ptr<Meeting> World::enter(const MeetingKey& key, int size, const MemberRanks& ranks, int member,
                                      const Collective& collective, double seconds) {
  std::shared_ptr<Meeting> meeting;
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Meeting>& found = meetings_[key];
    if (!found) found = std::make_shared<Meeting>(size, ranks);
    meeting = found;
    last = meeting->enter(member, collective, seconds);
  }
  if (last) changed_.notify_all();
  return meeting;
}

void World::leave(const MeetingKey& key, Meeting& meeting, int member) {
  const std::lock_guard lock(mutex_);
  if (meeting.leave(member)) meetings_.erase(key);
}

std::vector<int> World::missing(const Meeting& meeting) const {
  const std::lock_guard lock(mutex_);
  return meeting.missing();
}

void World::refuse_stopped() const {
  if (cause_ || consequence_) throw PeerFailed(failure_);
  const int signal = stop_signal().load();
  if (signal != 0) throw Interrupted(signal);
}

bool World::await(const Meeting& meeting, int stage, Clock::time_point deadline) {
  const auto done = [&] { return stage < 0 ? meeting.settled() : meeting.stage_done(stage); };
  if (done()) return true;
  const auto begin = Clock::now();
  for (auto now = begin; now < begin + yield_time; now = Clock::now()) {
    for (int i = 0; i < (spin_ ? 32 : 1); ++i) {
      if (done()) return true;
      relax();
    }
    if (!spin_ || now > begin + spin_time) std::this_thread::yield();
  }
  std::unique_lock lock(mutex_);
  while (!done()) {
    refuse_stopped();
    const auto now = Clock::now();
    if (now >= deadline) return false;
    changed_.wait_until(lock, std::min(deadline, now + poll_slice));
  }
  return true;
}

void World::wake_all() {
  // Taking the mutex once makes sure that nobody is between looking and blocking.
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

void World::look() const {
  const std::lock_guard lock(mutex_);
  refuse_stopped();
}

void World::fail(const std::string& who, std::exception_ptr cause, bool consequence, const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    const std::string words = who + " failed";
    const bool said = message.compare(0, words.size(), words) == 0;
    if (failure_.empty()) failure_ = said ? message : fmt::format("{}: {}", words, message);
    std::exception_ptr& kept = consequence ? consequence_ : cause_;
    if (!kept) kept = std::move(cause);
  }
  changed_.notify_all();
}

void World::rethrow() const {
  if (cause_) std::rethrow_exception(cause_);
  if (consequence_) std::rethrow_exception(consequence_);
}

}  // namespace strobe::local
