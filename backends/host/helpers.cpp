// Invariants: nobody waits for a helper, or a helper for a trainer that is due, longer than the launch's timeout; a
// helper that fails leaves its reason in its words before it ends; helpers wait in slices, so that they notice when the
// job stops. Cost: a request and its answer are two stores and, where the other side sleeps, two system calls.
#include "backends/host/helpers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/device.hpp"
#include "backends/host/host_work.hpp"
#include "backends/wall_clock.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/parallel.hpp"
#include "core/system/threads.hpp"

namespace strobe {
namespace {

constexpr int slice_milliseconds = 20;

/// The answer to request number `number` of a channel.
class ChannelAnswer final : public HostEvent {
 public:
  ChannelAnswer(std::string helper, ChannelShape shape, std::shared_ptr<ChannelBlock> block, std::size_t channel,
                std::uint32_t number, double timeout_seconds)
      : helper_(std::move(helper)),
        shape_(std::move(shape)),
        block_(std::move(block)),
        channel_(channel),
        number_(number),
        timeout_seconds_(timeout_seconds) {}

  bool come() override {
    if (const auto failure = ask_failure()) std::rethrow_exception(failure);
    if (answered()) return true;
    const std::uint32_t state = block_->helper().state.load(std::memory_order_acquire);
    if (state == HelperWords::running || answered()) return answered();
    if (state == HelperWords::failed) throw PeerFailed(block_->helper().text);
    throw Error(fmt::format("helper {} ended before it answered rank {} ({})", helper_, shape_.trainer, shape_.name));
  }

  bool come_within(std::chrono::nanoseconds patience) override {
    const double begin = wall_seconds(), seconds = std::chrono::duration<double>(patience).count();
    while (!come()) {
      const double now = wall_seconds();
      if (now - begin >= seconds) {
        waited_seconds_ = waited_seconds_ + (now - begin);
        if (waited_seconds_ > timeout_seconds_) throw late();
        return false;
      }
      std::atomic<std::uint32_t>& word = block_->channel(channel_).answered;
      const std::uint32_t value = word.load(std::memory_order_acquire);
      if (before(value)) await_word(word, value, std::max(1, static_cast<int>((seconds - (now - begin)) * 1e3)));
    }
    return true;
  }

  void fail_to_ask(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    ask_failure_ = std::move(failure);
  }

 private:
  bool before(std::uint32_t answers) const { return static_cast<std::int32_t>(answers - number_) < 0; }
  bool answered() const { return !before(block_->channel(channel_).answered.load(std::memory_order_acquire)); }
  std::exception_ptr ask_failure() {
    const std::lock_guard lock(mutex_);
    return ask_failure_;
  }
  HelperTimeout late() const {
    return {fmt::format("rank {} waited {:.1f} s for helper {} ({})", shape_.trainer, timeout_seconds_, helper_,
                        shape_.name),
            shape_.trainer,
            timeout_seconds_,
            {}};
  }

  std::string helper_;
  ChannelShape shape_;
  std::shared_ptr<ChannelBlock> block_;
  std::size_t channel_;
  std::uint32_t number_;
  double timeout_seconds_;
  std::atomic<double> waited_seconds_{0};
  std::mutex mutex_;
  std::exception_ptr ask_failure_;
};

class WallChannel final : public TrainerChannel {
 public:
  WallChannel(const HelperRequest& helper, std::shared_ptr<ChannelBlock> block, std::size_t channel,
              double timeout_seconds, Device& device)
      : TrainerChannel(helper.channels[channel], pinned(block->request(channel), device),
                       pinned(block->answer(channel), device)),
        helper_(helper.name),
        block_(std::move(block)),
        channel_(channel),
        timeout_seconds_(timeout_seconds),
        device_(device) {}

 private:
  static HostMemory pinned(const HostMemory& memory, Device& device) {
    return device.pin_host(memory.owner(), memory.bytes());
  }

  DeviceEvent do_ask(std::vector<DeviceEvent> after) override {
    const std::uint32_t number = ++asked_;
    const auto answer = std::make_shared<ChannelAnswer>(helper_, shape(), block_, channel_, number, timeout_seconds_);
    device_.when(this, std::move(after),
                 [block = block_, channel = channel_, number, answer](double, std::exception_ptr failure) {
                   ChannelWords& words = block->channel(channel);
                   if (!failure && words.answered.load(std::memory_order_acquire) != number - 1) {
                     failure = std::make_exception_ptr(Error("a channel was asked before its last answer had come"));
                   }
                   if (failure) return answer->fail_to_ask(failure);
                   words.asked.store(number, std::memory_order_release);
                   wake_word(words.asked);
                 });
    return {0, nullptr, answer, Phase::wait, "helper"};
  }

  std::string helper_;
  std::shared_ptr<ChannelBlock> block_;
  std::size_t channel_;
  double timeout_seconds_;
  Device& device_;
  std::uint32_t asked_ = 0;
};

class WallPost final : public HelperPost {
 public:
  WallPost(const HelperRequest& helper, const ChannelBlock& block, double timeout_seconds,
           const std::atomic<bool>& stop)
      : HelperPost(helper.name, helper.channels),
        block_(block),
        timeout_seconds_(timeout_seconds),
        stop_(stop),
        workers_(std::max(1, helper.threads), Subnormals::flush),
        seen_(helper.channels.size(), 0) {}

  HostMemory request(std::size_t channel) override { return block_.request(channel); }
  HostMemory answer(std::size_t channel) override { return block_.answer(channel); }

  bool await_request(std::size_t channel, Patience patience) override {
    ChannelWords& words = block_.channel(channel);
    const double begin = wall_seconds();
    for (;;) {
      // Closed is read first: a last request lies before it.
      const bool closed = words.closed.load(std::memory_order_acquire) != 0;
      if (words.asked.load(std::memory_order_acquire) != seen_[channel]) break;
      if (closed) return false;
      if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
      if (stop_) throw PeerFailed(fmt::format("helper {} gives up: another part of the job failed", name()));
      if (patience == Patience::limited && wall_seconds() - begin > timeout_seconds_) throw late(channel);
      await_word(words.asked, seen_[channel], slice_milliseconds);
    }
    ++seen_[channel];
    return true;
  }

  void run(HostWork work) override {
    const double begin = wall_seconds();
    if (work.body) work.body(workers_);
    spans().append(
        {work.name, Phase::host, Stream::host, Traffic::other, true, begin, wall_seconds(), work.work, 0, 0, 0});
  }

  void give_answer(std::size_t channel) override {
    block_.channel(channel).answered.store(seen_[channel], std::memory_order_release);
    wake_word(block_.channel(channel).answered);
  }

 private:
  HelperTimeout late(std::size_t channel) const {
    const int trainer = channels()[channel].trainer;
    return {fmt::format("helper {} waited {:.1f} s for rank {} ({})", name(), timeout_seconds_, trainer,
                        channels()[channel].name),
            trainer,
            timeout_seconds_,
            {trainer}};
  }

  const ChannelBlock& block_;
  double timeout_seconds_;
  const std::atomic<bool>& stop_;
  Workers workers_;
  std::vector<std::uint32_t> seen_;  // requests that were taken, by channel
};

}  // namespace

void check_helpers(const std::vector<HelperRequest>& helpers, int ranks) {
  std::set<std::string> names;
  for (const HelperRequest& helper : helpers) {
    if (!names.insert(helper.name).second) throw Error("two helpers are called " + helper.name);
    for (const ChannelShape& channel : helper.channels) {
      if (channel.trainer >= 0 && channel.trainer < ranks) continue;
      throw Error(fmt::format("helper {} serves rank {} of {} ranks", helper.name, channel.trainer, ranks));
    }
  }
}

void run_helper_program(const HelperRequest& helper, HelperPost& post) {
  try {
    helper.program(post);
  } catch (const CollectiveTimeout&) {
    throw;
  } catch (const PeerFailed&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;  // the case is out of memory, whoever asked for the last of it
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::exception& failure) {
    throw Error(fmt::format("helper {} failed: {}", helper.name, failure.what()));
  }
}

TrainerChannels trainer_channels(const std::vector<HelperRequest>& helpers,
                                 const std::vector<std::shared_ptr<ChannelBlock>>& blocks, int rank,
                                 double timeout_seconds, Device& device) {
  TrainerChannels all;
  for (std::size_t h = 0; h < helpers.size(); ++h) {
    auto& channels = all.emplace_back(helpers[h].channels.size());
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (helpers[h].channels[i].trainer != rank) continue;
      channels[i] = std::make_shared<WallChannel>(helpers[h], blocks[h], i, timeout_seconds, device);
    }
  }
  return all;
}

void close_channels(const std::vector<HelperRequest>& helpers, const std::vector<std::shared_ptr<ChannelBlock>>& blocks,
                    int rank) {
  for (std::size_t h = 0; h < helpers.size(); ++h) {
    for (std::size_t i = 0; i < helpers[h].channels.size(); ++i) {
      if (helpers[h].channels[i].trainer == rank && blocks[h] != nullptr) blocks[h]->close(i);
    }
  }
}

HelperThreads::~HelperThreads() {
  stop();
  join();
}

void HelperThreads::join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::exception_ptr HelperThreads::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void HelperThreads::start(const HelperRequest& helper, const std::shared_ptr<ChannelBlock>& block) {
  threads_.push_back(start_thread("helper " + helper.name,
                                  [&] { return std::thread([this, helper, block] { run(helper, *block); }); }));
}

void HelperThreads::run(const HelperRequest& helper, const ChannelBlock& block) {
  const FlushSubnormals flush;
  std::exception_ptr failure;
  std::string text = "an exception of unknown type";
  bool consequence = false;
  try {
    WallPost post(helper, block, timeout_seconds_, stop_);
    run_helper_program(helper, post);
  } catch (const PeerFailed& known) {
    failure = std::current_exception();
    text = known.what();
    consequence = true;
  } catch (const std::exception& known) {
    failure = std::current_exception();
    text = known.what();
  } catch (...) {
    failure = std::current_exception();
  }
  block.end(failure ? HelperWords::failed : HelperWords::ended, text);
  if (failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = failure;
    }
    if (failed_) failed_(helper.name, failure, consequence, text);
  }
  ++ended_;
}

}  // namespace strobe
