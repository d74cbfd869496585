// Helpers of a simulated job: actors in addition to the ranks, with clocks of their own, on the hosts of their
// trainers' nodes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/channel.hpp"
#include "backends/sim/cost/host_cost.hpp"
#include "backends/sim/sim_device.hpp"
#include "backends/sim/virtual_host.hpp"
#include "core/system/parallel.hpp"

namespace strobe::sim {

/// One channel's state, seen by both ends.
struct ChannelState {
  HostMemory request, answer;
  std::deque<Instant> asked;                      // times of requests that nobody has taken yet
  std::deque<std::shared_ptr<SimEvent>> answers;  // for requests without an answer, and some for later requests
  std::shared_ptr<SimEvent> waiter;               // for a helper that waits for a request
  bool closed = false;                            // the trainer's program has ended
  bool ended = false;                             // the helper has

  /// The trainer has asked.
  void ask(const Instant& when);
  /// The trainer will ask no more.
  void close();
};

/// A helper as an actor.
class SimPost final : public HelperPost {
 public:
  /// Throws InvalidRequest when its trainers are on several nodes of the cluster. `clusters`: by lane (instant.hpp).
  SimPost(const HelperRequest& helper, int actor, int ranks, const Lanes& clusters, VirtualWaits& waits);

  HostMemory request(std::size_t channel) override { return channels_[channel]->request; }
  HostMemory answer(std::size_t channel) override { return channels_[channel]->answer; }
  bool await_request(std::size_t channel, Patience patience) override;
  void run(HostWork work) override;
  void give_answer(std::size_t channel) override;

  double seconds() const { return clock_.described(); }
  const std::shared_ptr<ChannelState>& state(std::size_t channel) const { return channels_[channel]; }
  int actor() const { return actor_; }
  /// Its program has ended: trainers that wait for an answer learn that there will be none.
  void end(bool failed);

 private:
  int actor_;
  Lanes clusters_;
  VirtualWaits& waits_;
  HostShare share_;
  Instant clock_;
  Workers workers_{1};
  std::vector<std::shared_ptr<ChannelState>> channels_;
};

/// The channels of rank `rank` to these helpers.
TrainerChannels simulated_channels(const std::vector<std::unique_ptr<SimPost>>& posts, int rank, SimDevice& device);

}  // namespace strobe::sim
