// Device `sim`: returns virtual times. An operation begins when its stream and the host are free and lasts by the
// roofline; the host needs the launch time for each operation that it issues and is otherwise ahead of the streams.
// Invariants: no time goes backwards; the same program gives the same times. Cost: O(1) per operation.
// Source: Williams, Waterman and Patterson, CACM 52(4), 2009 (roofline).
#include "backends/sim/sim_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace strobe::sim {

double roofline_seconds(const GpuModel& gpu, const Work& work, ElementType precision) {
  const double peak = precision == ElementType::f64 ? gpu.flops_fp64_per_second : gpu.flops_fp32_per_second;
  return std::max({gpu.launch_seconds, work.flops / peak, work.bytes() / gpu.memory_bytes_per_second});
}

SimDevice::SimDevice(const DeviceRequest& request) : Device(request), cluster_(request.cluster) {
  if (cluster_ == nullptr) {
    throw InvalidRequest("--cluster", fmt::format("device sim needs a cluster; known: {}",
                                                  fmt::join(cluster_names(), ", ")));
  }
  if (request.numerics == Numerics::cuda) throw InvalidRequest("--numerics", "device sim has numerics none and cpu");
  const GpuModel& gpu = cluster_->gpu;
  if (gpu.memory_bytes <= gpu.reserved_bytes) {
    throw InvalidRequest("/gpu/reserved_bytes", "the reserved memory leaves none for tensors");
  }
  const std::uint64_t usable = gpu.memory_bytes - gpu.reserved_bytes;
  set_memory_limit(request.memory_limit_bytes == 0 ? usable : std::min(usable, request.memory_limit_bytes));
  if (has_values()) {
    // Ranks take turns on one thread, so more threads per rank would only wait for each other.
    workers_ = std::make_unique<Workers>(1);
    context_.workers = workers_.get();
  }
}

double SimDevice::arrival_seconds() const { return std::max({at(Stream::compute), at(Stream::communicate), host_}); }

void SimDevice::complete_communication(double end_seconds) {
  at(Stream::communicate) = std::max(at(Stream::communicate), end_seconds);
  at(Stream::compute) = std::max(at(Stream::compute), end_seconds);
}

std::byte* SimDevice::do_allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (memory == nullptr) throw OutOfMemory(rank(), bytes, live_bytes(), memory_limit_bytes());
  std::memset(static_cast<std::byte*>(memory) + bytes - readable_tail_bytes, 0, readable_tail_bytes);
  return static_cast<std::byte*>(memory);
}

void (*SimDevice::do_deleter() const)(std::byte*) {
  return [](std::byte* memory) { std::free(memory); };
}

double SimDevice::do_begin(Stream stream) { return std::max(at(stream), host_); }

double SimDevice::do_end(Stream stream, std::string_view, const Work& work, double begin) {
  host_ += cluster_->gpu.launch_seconds;
  at(stream) = begin + roofline_seconds(cluster_->gpu, work, precision());
  return at(stream);
}

void SimDevice::do_transfer(std::uint64_t bytes) {
  if (bytes == 0) return;
  const double begin = do_begin(Stream::copy);
  const double end = begin + cluster_->host_to_device_latency_seconds +
                     static_cast<double>(bytes) / cluster_->host_to_device_bytes_per_second;
  host_ += cluster_->gpu.launch_seconds;
  const double asked = at(Stream::compute);
  at(Stream::copy) = end;
  at(Stream::compute) = std::max(asked, end);
  // As with collectives: one blocking span for what compute has to wait for, which carries the bytes, and one that does
  // not block for the whole copy when a part of it was hidden behind compute.
  spans().append({"transfer", Phase::transfer, Stream::copy, Traffic::other, true, std::max(begin, asked),
                  std::max(end, asked), {}, 0, bytes, 0});
  if (begin < asked) {
    spans().append({"transfer", Phase::transfer, Stream::copy, Traffic::other, false, begin, end, {}, 0, 0, 0});
  }
}

void SimDevice::do_copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

void SimDevice::do_wait(Stream stream, const Event& event) { at(stream) = std::max(at(stream), event.seconds); }

void SimDevice::do_synchronize() {
  const double idle = std::max(host_, *std::max_element(streams_.begin(), streams_.end()));
  streams_.fill(idle);
  host_ = idle;
}

namespace {

const Register<DeviceTag> registered{{
    "sim",
    "virtual time of a cluster; values absent (numerics none) or computed on the cpu (numerics cpu)",
    "Strobe design: clock virtual; plain roofline after Williams, Waterman and Patterson, CACM 52(4), 2009",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> { return std::make_unique<SimDevice>(request); },
     "sim"},
    {},
}};

}  // namespace
}  // namespace strobe::sim
