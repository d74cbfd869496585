// A rank's knowledge of the others, because NCCL itself reports little: who has arrived, who disagrees, who has failed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "backends/local/world.hpp"
#include "backends/nccl/bootstrap/patience.hpp"
#include "backends/nccl/bootstrap/rendezvous.hpp"

namespace strobe::nccl {

/// One rank's view. Used by that rank only.
class Peers {
 public:
  virtual ~Peers() = default;
  /// Throws PeerFailed as soon as it is known that another rank has failed. Cheap when asked often.
  virtual void check() = 0;
  /// This rank enters a collective; the result goes to `await` and `leave`.
  virtual std::shared_ptr<void> enter(const Collective& collective, double seconds) = 0;
  /// Waits until all ranks have entered, as far as this can be known, and returns the time of the last one on the
  /// ranks' clock (0 = unknown). Throws CollectiveTimeout naming the ranks that did not enter, and Error when ranks
  /// disagree about the collective.
  virtual double await(const Collective& collective, const std::shared_ptr<void>& place, double timeout_seconds) = 0;
  virtual void leave(const std::shared_ptr<void>& place) = 0;
  /// The view of the same rank in group `index` of split number `split`, where it is `rank` of `members`.
  virtual std::unique_ptr<Peers> split(std::uint64_t split, std::size_t index, const MemberRanks& members,
                                       int rank) = 0;
};

/// Ranks that are threads of this process; they meet like those of communicator local, before NCCL moves the data.
class Threads {
 public:
  explicit Threads(int ranks) : ranks_(ranks), world_(false) {}
  int ranks() const { return ranks_; }
  local::World& world() { return world_; }
  void fail(const std::string& who, std::exception_ptr cause, bool consequence, const std::string& message) {
    world_.fail(who, std::move(cause), consequence, message);
    failed_ = true;
  }
  bool failed() const { return failed_; }

 private:
  int ranks_;
  local::World world_;
  std::atomic<bool> failed_{false};
};

class ThreadPeers final : public Peers {
 public:
  ThreadPeers(Threads& threads, int rank) : ThreadPeers(threads, 0, nullptr, threads.ranks(), rank) {}
  void check() override;
  std::shared_ptr<void> enter(const Collective& collective, double seconds) override;
  double await(const Collective& collective, const std::shared_ptr<void>& place, double timeout_seconds) override;
  void leave(const std::shared_ptr<void>& place) override;
  std::unique_ptr<Peers> split(std::uint64_t split, std::size_t index, const MemberRanks& members, int rank) override;

 private:
  struct Place;
  ThreadPeers(Threads& threads, local::GroupNumber group, MemberRanks members, int size, int rank)
      : threads_(threads), group_(group), members_(std::move(members)), size_(size), rank_(rank) {}

  Threads& threads_;
  local::GroupNumber group_;
  MemberRanks members_;
  int size_, rank_;
  std::uint64_t collectives_ = 0;
  std::map<std::tuple<int, int, int>, std::uint64_t> messages_;
};

/// Ranks of several processes. They do not know who has entered a collective, nor whether they agree about it.
class ProcessPeers final : public Peers {
 public:
  /// `rendezvous` may be null for a world of one.
  explicit ProcessPeers(Rendezvous* rendezvous) : rendezvous_(rendezvous) {}
  void check() override;
  std::shared_ptr<void> enter(const Collective&, double) override { return nullptr; }
  double await(const Collective&, const std::shared_ptr<void>&, double) override { return 0; }
  void leave(const std::shared_ptr<void>&) override {}
  std::unique_ptr<Peers> split(std::uint64_t, std::size_t, const MemberRanks&, int) override {
    return std::make_unique<ProcessPeers>(rendezvous_);
  }

 private:
  Rendezvous* rendezvous_;
  Patience::Clock::time_point next_look_{};
};

}  // namespace strobe::nccl
