// Channels between trainers and helpers: a request and an answer in memory that both see, and whose turn it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/event.hpp"
#include "backends/host/host_memory.hpp"
#include "backends/span.hpp"

namespace strobe {

class Device;
struct HostWork;

/// The request that one trainer sends to one helper repeatedly.
struct ChannelShape {
  std::string name;  // "read", "write"
  int trainer = 0;   // its rank
  std::uint64_t request_bytes = 0, answer_bytes = 0;
};

/// The trainer's end. Used by its rank's thread; its memory also by its host work and transfers.
class TrainerChannel {
 public:
  TrainerChannel(ChannelShape shape, HostMemory request, HostMemory answer)
      : shape_(std::move(shape)), request_(std::move(request)), answer_(std::move(answer)) {}
  virtual ~TrainerChannel() = default;
  TrainerChannel(const TrainerChannel&) = delete;
  TrainerChannel& operator=(const TrainerChannel&) = delete;

  const ChannelShape& shape() const { return shape_; }
  const HostMemory& request() const { return request_; }
  const HostMemory& answer() const { return answer_; }

  /// Sends the contents of `request` once all events in `after` have come, in the order of calls; returns the event of
  /// the answer. Only one request may be under way: `after` must hold the event of the previous answer, unless it
  /// has come. A wait for the answer fails when the helper fails, ends, or does not answer within the launch's
  /// timeout.
  DeviceEvent ask(std::vector<DeviceEvent> after = {}) { return do_ask(std::move(after)); }

 private:
  virtual DeviceEvent do_ask(std::vector<DeviceEvent> after) = 0;

  ChannelShape shape_;
  HostMemory request_, answer_;
};

/// The limit of a helper's wait for a trainer.
enum class Patience {
  limited,    // at most the launch's timeout: the trainer is due
  unlimited,  // the trainers may be busy with other things
};

/// The helper's end of all of its channels. Used by its own thread, or its actor of a simulated job.
class HelperPost {
 public:
  HelperPost(std::string name, std::vector<ChannelShape> channels)
      : name_(std::move(name)), channels_(std::move(channels)) {}
  virtual ~HelperPost() = default;
  HelperPost(const HelperPost&) = delete;
  HelperPost& operator=(const HelperPost&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<ChannelShape>& channels() const { return channels_; }
  virtual HostMemory request(std::size_t channel) = 0;
  virtual HostMemory answer(std::size_t channel) = 0;

  /// Waits until the channel's trainer has asked; false when it never will, because its program has ended. Throws
  /// HelperTimeout, PeerFailed when another part of the job has failed, Interrupted.
  virtual bool await_request(std::size_t channel, Patience patience) = 0;
  /// Does the work, and leaves its span. `after` is ignored: a helper does one thing after the other.
  virtual void run(HostWork work) = 0;
  /// Hands the channel's answer to its trainer, who may then ask again.
  virtual void give_answer(std::size_t channel) = 0;

  SpanRecorder& spans() { return spans_; }

 private:
  std::string name_;
  std::vector<ChannelShape> channels_;
  SpanRecorder spans_;
};

/// A role next to the trainers, as the plan knows it.
struct HelperRequest {
  std::string name;  // different from all other helpers of a launch
  std::vector<ChannelShape> channels;
  int threads = 1;  // workers of its host work
  std::function<void(HelperPost&)> program;
};

/// The trainer channels of one rank: by helper, then by channel; null if another rank is the trainer.
using TrainerChannels = std::vector<std::vector<std::shared_ptr<TrainerChannel>>>;

}  // namespace strobe
