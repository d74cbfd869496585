// Work of device cuda outside its compute stream: host work, transfers ahead, and waiting for both. The host's threads
// never touch the device's own state: they only give work to a stream that was handed to them.
#include <utility>

#include "backends/cuda/cuda_device.hpp"
#include "backends/wall_clock.hpp"

namespace strobe::cuda {

std::shared_ptr<std::byte> CudaDevice::do_allocate_host(std::uint64_t bytes) {
  return {runtime::allocate_pinned(bytes == 0 ? 1 : bytes), runtime::release_pinned};
}

HostMemory CudaDevice::do_pin(std::shared_ptr<std::byte> data, std::uint64_t bytes) {
  if (data == nullptr || bytes == 0) return {std::move(data), bytes};
  std::byte* const raw = data.get();
  runtime::pin(raw, bytes);
  return {std::shared_ptr<std::byte>(raw, [kept = std::move(data)](std::byte* memory) { runtime::unpin(memory); }),
          bytes};
}

DeviceEvent CudaDevice::do_start_copy(const HostMemory& host, const Tensor& tensor, Stream stream,
                                      const std::vector<DeviceEvent>& after) {
  const bool in = stream == Stream::copy;
  if (!in) order(Stream::compute, stream);
  AheadCopy::Ends ends{in ? static_cast<void*>(tensor.raw()) : host.raw(),
                       in ? static_cast<const void*>(host.raw()) : tensor.raw(), host.bytes(), host};
  const DeviceEvent copied = ahead_.start(std::move(ends), native(stream), ordinal_, after, host_);
  ahead_.set_span(spans().size());
  spans().append({"transfer", Phase::transfer, stream, Traffic::other, false, 0, 0, {}, 0, host.bytes(), 0});
  return copied;
}

DeviceEvent CudaDevice::do_run_on_host(HostWork work) {
  launch_gathered();  // it may wait for what is gathered
  return host_.run(std::move(work), spans());
}

void CudaDevice::do_when(const void* order, std::vector<DeviceEvent> after, Then then) {
  launch_gathered();
  host_.when(order, std::move(after),
             [then = std::move(then)](std::exception_ptr failure) { then(wall_seconds(), std::move(failure)); });
}

bool CudaDevice::do_reached(const DeviceEvent& event) {
  if (event.host != nullptr) return event.host->come();
  if (event.native == nullptr) return true;
  launch_gathered();
  return runtime::complete(event.native.get());
}

void CudaDevice::do_await(const DeviceEvent& event) {
  do_wait(Stream::compute, event);
  if (event.native != nullptr) runtime::synchronize_event(event.native.get());
}

bool CudaDevice::wait_on_stream(Stream stream, const DeviceEvent& event) {
  auto* const copy = dynamic_cast<AheadCopy*>(event.host.get());
  if (event.host != nullptr && (copy != nullptr ? copy->issued() : event.host->come())) {
    if (copy == nullptr) return false;
  } else if (event.host != nullptr) {
    // The program waits; what of it the compute stream had nothing to do is the event's.
    BorrowedEvent idle(events_);
    runtime::record(idle.get(), native(Stream::compute));
    await_host_event(*event.host, look());
    host_stalls_.push_back({spans().size(), idle.keep(), wall_seconds()});
    spans().append({event.name, event.phase, Stream::host, Traffic::other, true, 0, 0, {}, 0, 0, 0});
  }
  if (event.native == nullptr) return false;
  runtime::wait(native(stream), event.native.get());
  return true;
}

void CudaDevice::do_wait(Stream stream, const DeviceEvent& event) {
  if (event.native == nullptr && event.host == nullptr) return;
  if (stream != Stream::compute) {
    wait_on_stream(stream, event);
    return;
  }
  launch_gathered();
  if (event.phase == Phase::other) {
    wait_on_stream(stream, event);
    return;
  }
  BorrowedEvent begin(events_), end(events_);
  runtime::record(begin.get(), native(stream));
  if (!wait_on_stream(stream, event)) return;
  runtime::record(end.get(), native(stream));
  untimed_.push_back({spans().size(), begin.keep(), end.keep()});
  spans().append({event.name, event.phase, Stream::copy, Traffic::other, true, 0, 0, {}, 0, 0, 0});
}

void CudaDevice::read_host_times() {
  const auto seconds = [this](runtime::EventHandle event) {
    return anchor_seconds_ + runtime::seconds_between(anchor_, event);
  };
  ahead_.read_times(spans(), seconds);
  for (const HostStall& stall : host_stalls_) {
    if (stall.span < spans().size()) {
      spans().set_times(stall.span, std::min(seconds(stall.idle), stall.end_seconds), stall.end_seconds);
    }
    events_.give(stall.idle);
  }
  host_stalls_.clear();
}

}  // namespace strobe::cuda
