// The host side that real devices share: the channels of a rank's host stream, each made when it is first used, and
// their spans.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "backends/host/host_stream.hpp"
#include "backends/host/host_work.hpp"
#include "backends/span.hpp"

namespace strobe {

/// Used by its rank's thread.
class WallHost {
 public:
  WallHost(int threads, NativeEvents native) : threads_(threads), native_(std::move(native)) {}

  /// Gives the work to its channel, and leaves its span, whose times are set once they are known.
  DeviceEvent run(HostWork work, SpanRecorder& spans);
  /// HostStream::when; calls at once when nothing has to be waited for.
  void when(const void* order, std::vector<DeviceEvent> after, HostStream::Then then);
  /// Waits until all work has ended; then sets the times of its spans. Throws the exception of failed work.
  void synchronize(SpanRecorder& spans, const std::function<void()>& look);
  /// Ends the stream's threads before the data that they use; later work never begins.
  void end() { channels_.clear(); }

 private:
  struct Untimed {
    std::size_t span = 0;
    HostStream::Given given;
  };
  HostStream& channel(int number);

  int threads_;
  NativeEvents native_;
  std::vector<Untimed> untimed_;
  std::map<int, std::unique_ptr<HostStream>> channels_;  // last, so that their threads end first
};

/// Waits in the program for `event`, which the host finishes. Leaves a blocking span of the event's phase for the
/// waiting time, unless the event had already come. Throws the same as await_host_event.
void wait_for_host(const DeviceEvent& event, SpanRecorder& spans, const std::function<void()>& look);

}  // namespace strobe
