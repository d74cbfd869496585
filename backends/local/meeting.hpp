// A meeting: one collective, or one message, of the ranks of a process.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "backends/communicator.hpp"

namespace strobe::local {

/// One member's contribution to a meeting. It shares ownership of the member's buffers until that member leaves.
struct Slot {
  Collective collective;
  double entered_seconds = 0;
  bool entered = false;
};

/// Members enter in any order; the last one settles the meeting. From then on any member may run any task, its own or
/// another's. So data moves as soon as one member waits, and the last to arrive need not wake the others first. The
/// caller serialises `enter` and `leave` and the reading of `entered`.
class Meeting {
 public:
  /// `size` ranks, or 2 for a message: member 0 sends, member 1 receives. `ranks` are the communicator's.
  Meeting(int size, MemberRanks ranks) : ranks_(std::move(ranks)), slots_(static_cast<std::size_t>(size)) {}

  /// Publishes a member's buffers; returns true when it was the last one, after which `settled()` holds.
  bool enter(int member, const Collective& collective, double seconds);
  /// Gives up the member's buffers; returns true when it was the last one. Only after `finished()`.
  bool leave(int member);
  std::vector<int> missing() const;

  bool settled() const { return settled_.load(std::memory_order_acquire); }
  /// Both are fixed once settled: the time when the last member entered, and how the members disagree ("" if they
  /// agree).
  double ready_seconds() const { return ready_seconds_; }
  const std::string& mismatch() const { return mismatch_; }

  int stages() const { return static_cast<int>(stages_.size()); }
  /// Runs the tasks of a stage that nobody has taken, beginning with the member's own; returns true when that completed
  /// the stage. Stage s needs `stage_done(s - 1)`. `device` is the member's: it moves the values and tells the time.
  bool work(int stage, int member, Device& device);
  bool stage_done(int stage) const;

  /// The time when data began to move: the first call sets it, and all calls return it.
  double began(double seconds);
  /// The end of the last task of the last stage, as far as a member's clock can tell; 0 without tasks. Call it once
  /// that stage is done.
  double ended_seconds() const { return ended_seconds_.load(std::memory_order_relaxed); }

 private:
  struct Stage {
    explicit Stage(int count) : taken(static_cast<std::size_t>(count)) {}
    std::vector<std::atomic<bool>> taken;
    std::atomic<int> done{0};
  };

  void settle();
  void run(int stage, int task, Device& device) const;
  void exchange(std::size_t to, Device& device) const;
  void gather(std::size_t to, Device& device) const;
  void reduce_share(std::size_t to, Device& device) const;
  void gather_shares(std::size_t to, Device& device) const;
  void reduce_rows(std::size_t to, Device& device) const;

  MemberRanks ranks_;
  std::vector<Slot> slots_;
  std::vector<Stage> stages_;  // made by settle()
  std::atomic<bool> settled_{false};
  int entered_ = 0;
  int left_ = 0;
  double ready_seconds_ = 0;
  std::atomic<double> began_seconds_{0}, ended_seconds_{0};
  std::string mismatch_;
};

/// Describes how the members of a meeting, which are those of a communicator of `ranks`, disagree, naming both sides,
/// or returns "".
std::string find_mismatch(const std::vector<Slot>& slots, const MemberRanks& ranks);

}  // namespace strobe::local
