// Invariants: a helper takes a request at the later of its own clock and the moment when it was made, and its answer
// comes at its clock; nothing here depends on the order in which actors are run. A helper works with the share of the
// host that its trainers have together, because they wait for it. Cost: O(1) per request.
#include "backends/sim/sim_helpers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "backends/host/channel_words.hpp"
#include "backends/host/host_work.hpp"
#include "backends/sim/cost/software_cost.hpp"

namespace strobe::sim {
namespace {

class SimChannel final : public TrainerChannel {
 public:
  SimChannel(const HelperPost& post, std::size_t channel, int actor, std::shared_ptr<ChannelState> state,
             SimDevice& device)
      : TrainerChannel(post.channels()[channel], state->request, state->answer),
        helper_(post.name()),
        actor_(actor),
        state_(std::move(state)),
        device_(device) {}

 private:
  DeviceEvent do_ask(std::vector<DeviceEvent> after) override {
    const auto answer = std::make_shared<SimEvent>();
    answer->expect(actor_, "helper " + helper_);
    device_.when_virtual(this, after, [state = state_, answer](const Instant& when, std::exception_ptr failure) {
      if (!failure && !state->answers.empty()) {
        failure = std::make_exception_ptr(Error("a channel was asked before its last answer had come"));
      }
      if (failure) return answer->settle(when, failure);
      state->answers.push_back(answer);
      state->ask(when);
    });
    return {0, nullptr, answer, Phase::wait, "helper"};
  }

  std::string helper_;
  int actor_;
  std::shared_ptr<ChannelState> state_;
  SimDevice& device_;
};

/// The share of the trainers that the helper serves, all of one node.
HostShare share_of(const HelperRequest& helper, int ranks, const Cluster& cluster) {
  std::set<int> trainers, nodes;
  for (const ChannelShape& channel : helper.channels) {
    trainers.insert(channel.trainer);
    nodes.insert(channel.trainer / cluster.gpus_per_node);
  }
  if (nodes.size() > 1) {
    throw InvalidRequest(
        "--ranks", fmt::format("helper {} serves ranks of several nodes, {} to {}; nodes have {} GPUs", helper.name,
                               *trainers.begin(), *trainers.rbegin(), cluster.gpus_per_node));
  }
  if (trainers.empty()) return {};
  HostShare share = host_share(cluster, *trainers.begin(), ranks, helper.threads);
  share.part = std::min(1.0, share.part * static_cast<double>(trainers.size()));
  return share;
}

}  // namespace

void ChannelState::ask(const Instant& when) {
  if (ended) {
    const std::shared_ptr<SimEvent> event = answers.back();
    answers.pop_back();
    return event->settle(when, std::make_exception_ptr(Error(event->what() + " ended before it answered")));
  }
  asked.push_back(when);
  if (const auto waiting = std::exchange(waiter, nullptr)) waiting->settle(when);
}

void ChannelState::close() {
  closed = true;
  if (const auto waiting = std::exchange(waiter, nullptr)) waiting->settle(Instant());
}

SimPost::SimPost(const HelperRequest& helper, int actor, int ranks, const Lanes& clusters, VirtualWaits& waits)
    : HelperPost(helper.name, helper.channels),
      actor_(actor),
      clusters_(clusters),
      waits_(waits),
      share_(share_of(helper, ranks, *clusters.front())) {
  const ChannelBlock block(ChannelBlock::allocate(helper.channels), helper.channels);
  for (std::size_t i = 0; i < helper.channels.size(); ++i) {
    channels_.push_back(std::make_shared<ChannelState>());
    channels_.back()->request = block.request(i);
    channels_.back()->answer = block.answer(i);
  }
}

bool SimPost::await_request(std::size_t channel, Patience patience) {
  ChannelState& state = *channels_[channel];
  if (state.asked.empty() && !state.closed) {
    state.waiter = std::make_shared<SimEvent>();
    const int trainer = patience == Patience::limited ? channels()[channel].trainer : -1;
    state.waiter->expect(trainer, fmt::format("rank {} ({})", channels()[channel].trainer, channels()[channel].name));
    const std::shared_ptr<SimEvent> waiter = state.waiter;
    waits_.await(actor_, *waiter, "a request");
  }
  if (state.asked.empty()) return false;
  clock_.raise(state.asked.front());
  state.asked.pop_front();
  return true;
}

void SimPost::run(HostWork work) {
  const Instant begin = clock_;
  if (work.body) work.body(workers_);
  HostShare share = share_;
  if (work.serial) share.threads = 1;
  clock_ = Instant::each(clusters_.size(), [&](std::size_t lane) {
    const Cluster& cluster = *clusters_[lane];
    return begin[lane] + (host_seconds(cluster, work.name, work.work, work.disk_bytes, share) +
                          framework_host_seconds(cluster, work.work));
  });
  spans().append(
      {work.name, Phase::host, Stream::host, Traffic::other, true, begin.described(), seconds(), work.work, 0, 0, 0});
}

void SimPost::give_answer(std::size_t channel) {
  ChannelState& state = *channels_[channel];
  if (state.answers.empty()) throw Error(fmt::format("helper {} answers what nobody asked", name()));
  const std::shared_ptr<SimEvent> answer = state.answers.front();
  state.answers.pop_front();
  answer->settle(clock_);
}

void SimPost::end(bool failed) {
  const std::string words = fmt::format("helper {} ended before it answered", name());
  // The failure itself is on record; what it leads to is not another.
  const auto gone = failed ? std::make_exception_ptr(PeerFailed(words)) : std::make_exception_ptr(Error(words));
  for (const std::shared_ptr<ChannelState>& state : channels_) {
    state->ended = true;
    while (!state->answers.empty()) {
      const std::shared_ptr<SimEvent> answer = state->answers.front();
      state->answers.pop_front();
      answer->settle(clock_, gone);
    }
  }
}

TrainerChannels simulated_channels(const std::vector<std::unique_ptr<SimPost>>& posts, int rank, SimDevice& device) {
  TrainerChannels all;
  for (const std::unique_ptr<SimPost>& post : posts) {
    auto& channels = all.emplace_back(post->channels().size());
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (post->channels()[i].trainer != rank) continue;
      channels[i] = std::make_shared<SimChannel>(*post, i, post->actor(), post->state(i), device);
    }
  }
  return all;
}

}  // namespace strobe::sim
