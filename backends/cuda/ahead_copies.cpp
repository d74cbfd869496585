// Invariants: copies of one stream reach it in the order in which they were begun; a CUDA stream cannot wait for the
// host, so a copy that does is given to its stream by a thread which waits; the host's memory is kept until the streams
// are idle. Cost: two events and one call of the driver per copy.
#include "backends/cuda/ahead_copies.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace strobe::cuda {
namespace {

std::shared_ptr<void> new_event() { return {runtime::make_event(), runtime::release_event}; }

/// Whether the host still has to finish what `event` is.
bool waits_for_host(const DeviceEvent& event) { return event.host != nullptr && !event.host->come(); }

}  // namespace

AheadCopy::AheadCopy(Ends ends, runtime::StreamHandle stream, int ordinal)
    : ends_(std::move(ends)), stream_(stream), ordinal_(ordinal), begin_(new_event()), end_(new_event()) {}

void AheadCopy::issue(const std::vector<DeviceEvent>& after, std::exception_ptr failure) noexcept {
  try {
    if (!failure) {
      runtime::select(ordinal_);
      for (const DeviceEvent& event : after) {
        if (event.native != nullptr) runtime::wait(stream_, event.native.get());
      }
      runtime::record(begin_.get(), stream_);
      if (ends_.bytes != 0) runtime::copy(ends_.to, ends_.from, ends_.bytes, stream_);
      runtime::record(end_.get(), stream_);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    issued_ = true;
    failure_ = failure;
  }
  changed_.notify_all();
}

bool AheadCopy::issued() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return issued_;
}

bool AheadCopy::come() { return issued() && runtime::complete(end_.get()); }

bool AheadCopy::come_within(std::chrono::nanoseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [this] { return issued_; });
  }
  while (!come()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

DeviceEvent AheadCopies::start(AheadCopy::Ends ends, runtime::StreamHandle stream, int ordinal,
                               const std::vector<DeviceEvent>& after, WallHost& host) {
  const auto copy = std::make_shared<AheadCopy>(std::move(ends), stream, ordinal);
  const bool behind = std::any_of(copies_.begin(), copies_.end(), [stream](const UnderWay& earlier) {
    return earlier.stream == stream && !earlier.copy->issued();
  });
  copies_.push_back({0, copy, stream});
  if (behind || std::any_of(after.begin(), after.end(), waits_for_host)) {
    host.when(stream, after, [copy](std::exception_ptr failure) { copy->issue({}, std::move(failure)); });
  } else {
    copy->issue(after, nullptr);
    (void)copy->issued();
  }
  return {0, copy->end(), copy, Phase::transfer, "transfer"};
}

void AheadCopies::await_issued(const std::function<void()>& look) {
  for (const UnderWay& one : copies_) {
    if (!one.copy->issued()) await_host_event(*one.copy, look);
  }
}

void AheadCopies::read_times(SpanRecorder& spans, const std::function<double(runtime::EventHandle)>& seconds) {
  for (const UnderWay& one : copies_) {
    if (one.span < spans.size()) {
      spans.set_times(one.span, seconds(one.copy->begin().get()), seconds(one.copy->end().get()));
    }
  }
  copies_.clear();
}

}  // namespace strobe::cuda
