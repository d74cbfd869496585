// The host stream of a rank on the wall clock: one thread does work in the order given, and another reports when events
// have come.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/event.hpp"
#include "core/system/parallel.hpp"

namespace strobe {

/// Access of a real device to the events of its own streams; both functions may be called from threads of the host
/// stream.
struct NativeEvents {
  std::function<bool(const DeviceEvent&)> come = [](const DeviceEvent&) { return true; };
};

/// Waits, on the calling thread, until `event` has come, and calls `look` in between (for news of other ranks'
/// failures). Throws the failure that keeps it from coming, the exceptions of `look`, and Interrupted on a stop signal.
void await_host_event(HostEvent& event, const std::function<void()>& look);

/// Used by one rank's thread; its own threads begin with the first work.
class HostStream {
 public:
  /// `threads` workers share each piece of work.
  HostStream(int threads, NativeEvents native) : threads_(threads), native_(std::move(native)) {}
  /// Lets the current work end; later work never begins.
  ~HostStream();
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  /// When a piece of work began and ended, seconds of the wall clock. Complete once its event has come.
  struct Times {
    double begin = 0, end = 0;
  };
  struct Given {
    std::shared_ptr<HostEvent> event;
    std::shared_ptr<const Times> times;
  };
  using Then = std::function<void(std::exception_ptr)>;
  /// Adds work after all earlier work, to begin once all events in `after` have come. When the work throws, its event
  /// fails, and so do the events of all later work.
  Given give(std::function<void(Workers&)> body, std::vector<DeviceEvent> after);

  /// Calls `then` on a thread of this stream as soon as all events in `after` have come, in parallel with the work, or
  /// with the failure that prevents it. Calls of one `order` follow each other. `then` must be short, and is not called
  /// once the stream has ended.
  void when(const void* order, std::vector<DeviceEvent> after, Then then);

 private:
  class Work;
  struct Due {
    const void* order;
    std::vector<DeviceEvent> after;
    Then then;
  };

  void carry_out();
  void watch();
  bool come(const DeviceEvent& event) const;
  void await_all(const std::vector<DeviceEvent>& events);
  bool take_due(std::list<Due>& mine);

  int threads_;
  NativeEvents native_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Work>> given_;
  std::list<Due> due_;
  bool stop_ = false;
  std::exception_ptr failure_;  // of the first work that failed
  std::thread worker_, watcher_;
};

}  // namespace strobe
