// The ranks of one launch: where they meet, wait for each other and report failures.
#pragma once

#include <chrono>
#include <compare>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "backends/local/meeting.hpp"

namespace strobe::local {

using Clock = std::chrono::steady_clock;

/// A group of the launch's ranks that have a communicator; 0 is all of them.
using GroupNumber = std::uint64_t;

/// Identifies a meeting. `number` counts the earlier messages, or collectives, with otherwise equal keys.
struct MeetingKey {
  GroupNumber group = 0;
  int source = -1, destination = -1;  // a message's ranks in the group; -1: a collective
  int tag = 0;
  std::uint64_t number = 0;
  bool is_message() const { return source >= 0; }
  friend auto operator<=>(const MeetingKey&, const MeetingKey&) = default;
};

/// Shared by all ranks; every function may be called from any of them.
class World {
 public:
  /// `spin`: whether a waiting rank may burn a core for some microseconds before it blocks.
  explicit World(bool spin) : spin_(spin) {}

  /// The number of the group with place `index` in split number `split` of the communicator of group `of`.
  GroupNumber group(GroupNumber of, std::uint64_t split, std::size_t index);
  /// Enters the meeting `key` of `size` members, which the first rank to arrive makes; `ranks` are its communicator's.
  std::shared_ptr<Meeting> enter(const MeetingKey& key, int size, const MemberRanks& ranks, int member,
                                 const Collective& collective, double seconds);
  /// Leaves a finished meeting; the last one to leave ends it.
  void leave(const MeetingKey& key, Meeting& meeting, int member);
  std::vector<int> missing(const Meeting& meeting) const;

  /// Waits until the meeting is settled (stage < 0) or the stage is done; false when the deadline came first.
  /// Throws PeerFailed when a rank has failed and Interrupted on a stop signal.
  bool await(const Meeting& meeting, int stage, Clock::time_point deadline);
  void wake_all();

  /// Throws PeerFailed when a rank, or a helper, has failed. Call it while waiting for something else.
  void look() const;

  /// Records why `who` stops. It keeps the first cause that is not a consequence of another failure.
  void fail(const std::string& who, std::exception_ptr cause, bool consequence, const std::string& message);
  void fail(int rank, std::exception_ptr cause, bool consequence, const std::string& message) {
    fail("rank " + std::to_string(rank), std::move(cause), consequence, message);
  }
  /// Rethrows the failure that `fail` kept. Only after all ranks have ended.
  void rethrow() const;

 private:
  void refuse_stopped() const;

  const bool spin_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Meetings that some rank has not left. They outlive a failed rank, because peers may be copying from its buffers.
  std::map<MeetingKey, std::shared_ptr<Meeting>> meetings_;
  std::map<std::tuple<GroupNumber, std::uint64_t, std::size_t>, GroupNumber> groups_;
  std::exception_ptr cause_, consequence_;
  std::string failure_;
};

}  // namespace strobe::local
