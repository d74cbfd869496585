// Invariants: spans are appended in the order in which work was given, by the rank's own thread; their times are set
// when the channels are idle, which a device is asked for at both ends of an epoch. Cost: O(1) per piece of work.
#include "backends/host/wall_host.hpp"

#include <utility>

#include "backends/wall_clock.hpp"

namespace strobe {

HostStream& WallHost::channel(int number) {
  std::unique_ptr<HostStream>& stream = channels_[number];
  if (stream == nullptr) stream = std::make_unique<HostStream>(threads_, native_);
  return *stream;
}

DeviceEvent WallHost::run(HostWork work, SpanRecorder& spans) {
  HostStream::Given given = channel(work.channel).give(std::move(work.body), std::move(work.after));
  untimed_.push_back({spans.size(), given});
  spans.append({work.name, Phase::host, Stream::host, Traffic::other, false, 0, 0, work.work, 0, 0, 0});
  return {0, nullptr, given.event, Phase::host, work.name};
}

void WallHost::when(const void* order, std::vector<DeviceEvent> after, HostStream::Then then) {
  if (channels_.empty() && after.empty()) return then(nullptr);
  channel(0).when(order, std::move(after), std::move(then));
}

void WallHost::synchronize(SpanRecorder& spans, const std::function<void()>& look) {
  for (const Untimed& one : untimed_) {
    await_host_event(*one.given.event, look);
    if (one.span < spans.size()) spans.set_times(one.span, one.given.times->begin, one.given.times->end);
  }
  untimed_.clear();
}

void wait_for_host(const DeviceEvent& event, SpanRecorder& spans, const std::function<void()>& look) {
  if (event.host->come()) return;
  const double begin = wall_seconds();
  await_host_event(*event.host, look);
  spans.append({event.name, event.phase, Stream::host, Traffic::other, true, begin, wall_seconds(), {}, 0, 0, 0});
}

}  // namespace strobe
