// Copies between pinned host memory and the device that run in parallel with compute.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/runtime.hpp"
#include "backends/event.hpp"
#include "backends/host/host_memory.hpp"
#include "backends/host/wall_host.hpp"
#include "backends/span.hpp"

namespace strobe::cuda {

/// One copy: given to its stream at once or, if it waits for the host, by a thread of the host stream.
class AheadCopy final : public HostEvent {
 public:
  struct Ends {
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t bytes = 0;
    HostMemory host;  // keeps it
  };
  AheadCopy(Ends ends, runtime::StreamHandle stream, int ordinal);

  /// Gives it to the stream after `after`, or records why it never will be given.
  void issue(const std::vector<DeviceEvent>& after, std::exception_ptr failure) noexcept;
  bool come() override;
  bool come_within(std::chrono::nanoseconds patience) override;
  /// Whether the stream has it. Throws the failure that keeps the stream from getting it.
  bool issued();

  const std::shared_ptr<void>& begin() const { return begin_; }
  const std::shared_ptr<void>& end() const { return end_; }

 private:
  Ends ends_;
  runtime::StreamHandle stream_;
  int ordinal_;
  std::shared_ptr<void> begin_, end_;  // CUDA events
  std::mutex mutex_;
  std::condition_variable changed_;
  bool issued_ = false;
  std::exception_ptr failure_;
};

/// The copies of one rank that have not ended.
class AheadCopies {
 public:
  /// Begins a copy on `stream`, once all of `after` has come, after the copies begun earlier.
  DeviceEvent start(AheadCopy::Ends ends, runtime::StreamHandle stream, int ordinal,
                    const std::vector<DeviceEvent>& after, WallHost& host);
  /// Notes that span `index` belongs to the copy begun last.
  void set_span(std::size_t index) { copies_.back().span = index; }
  /// Waits until the streams have all copies.
  void await_issued(const std::function<void()>& look);
  /// Sets the times of their spans, with those of events by `seconds`; the streams must be idle.
  void read_times(SpanRecorder& spans, const std::function<double(runtime::EventHandle)>& seconds);

 private:
  struct UnderWay {
    std::size_t span = 0;
    std::shared_ptr<AheadCopy> copy;
    runtime::StreamHandle stream = nullptr;
  };
  std::vector<UnderWay> copies_;
};

}  // namespace strobe::cuda
