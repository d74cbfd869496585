// Work of device sim outside its compute stream: host work and transfers ahead, in virtual time. Values move, and work
// is done, when its time is known; a program that orders both by events sees the same as on a real device.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backends/host/host_work.hpp"
#include "backends/sim/sim_device.hpp"
#include "core/random.hpp"

namespace strobe::sim {

void SimDevice::attach(VirtualWaits& waits, int actor) {
  waits_ = &waits;
  actor_ = actor;
}

DeviceEvent SimDevice::do_run_on_host(HostWork work) {
  const auto event = std::make_shared<SimEvent>();
  const std::size_t span = spans().size();
  const std::string_view name = work.name;
  spans().append({name, Phase::host, Stream::host, Traffic::other, false, 0, 0, work.work, 0, 0, 0});
  const std::vector<DeviceEvent> after = std::exchange(work.after, {});
  HostChannel& channel = host_channels_[work.channel];
  HostShare share = host_share_;
  share.channels = work.channels;
  if (work.serial) share.threads = 1;
  const auto act = [this, &channel, share, event, span, work = std::move(work)](double ready,
                                                                                std::exception_ptr failure) {
    const double begin = std::max(ready, channel.idle);
    if (channel.failure) failure = channel.failure;
    try {
      if (!failure && work.body) work.body(host_workers_);
    } catch (...) {
      failure = std::current_exception();
    }
    channel.failure = failure;
    const double end = begin + host_seconds(*cluster_, work.name, work.work, work.disk_bytes, share) +
                       framework_host_seconds(*cluster_, work.work);
    channel.idle = end;
    spans().set_times(span, begin, end);
    event->settle(end, failure);
  };
  unsettled_.push_back({event, name});
  actions_.add(&channel, program_seconds(), after, act);
  forget_settled();
  return {0, nullptr, event, Phase::host, name};
}

DeviceEvent SimDevice::do_start_copy(const HostMemory& host, const Tensor& tensor, Stream stream,
                                     const std::vector<DeviceEvent>& after) {
  if (!has_own_memory()) return Device::do_start_copy(host, tensor, stream, after);
  const auto event = std::make_shared<SimEvent>();
  const std::size_t span = spans().size();
  spans().append({"transfer", Phase::transfer, stream, Traffic::other, false, 0, 0, {}, 0, host.bytes(), 0});
  const bool in = stream == Stream::copy;
  const double computed = in ? 0 : at(Stream::compute), issued = std::max(program_seconds(), computed);
  const auto act = [this, event, span, host, tensor, stream, in](double ready, std::exception_ptr failure) {
    const double begin = std::max(ready, at(stream));
    const double seconds =
        cluster_->host_to_device_latency_seconds + static_cast<double>(host.bytes()) / transfer_rate_;
    const double end = host.bytes() == 0 ? begin : begin + seconds;
    if (!failure && tensor.has_values() && host.raw() != nullptr && host.bytes() != 0) {
      std::memcpy(in ? tensor.raw() : host.raw(), in ? host.raw() : tensor.raw(), host.bytes());
    }
    at(stream) = end;
    spans().set_times(span, begin, end);
    event->settle(end, failure);
  };
  unsettled_.push_back({event, "transfer"});
  actions_.add(&at(stream), issued, after, act);
  host_ += cluster_->issue_seconds();
  forget_settled();
  return {0, nullptr, event, Phase::transfer, "transfer"};
}

void SimDevice::do_when(const void* order, std::vector<DeviceEvent> after, Then then) {
  actions_.add(order, program_seconds(), after, std::move(then));
}

void SimDevice::settle(SimEvent& event, std::string_view what) {
  if (event.settled()) return;
  if (waits_ == nullptr) throw Error("this rank waits for something that nobody will do");
  waits_->await(actor_, event, what);
}

double SimDevice::seconds_of(const DeviceEvent& event) {
  auto* const part = static_cast<SimEvent*>(event.host.get());
  if (part == nullptr) return event.seconds;
  settle(*part, event.name);
  return part->seconds();
}

void SimDevice::do_wait(Stream stream, const DeviceEvent& event) {
  const double came = seconds_of(event), asked = at(stream);
  at(stream) = std::max(asked, came);
  if (event.phase == Phase::host || event.phase == Phase::wait) program_ = std::max(program_, came);
  if (stream != Stream::compute || event.phase == Phase::other || came <= asked) return;
  const Stream source = event.phase == Phase::transfer ? Stream::copy : Stream::host;
  spans().append({event.name, event.phase, source, Traffic::other, true, asked, came, {}, 0, 0, 0});
}

void SimDevice::do_await(const DeviceEvent& event) {
  do_wait(Stream::compute, event);
  program_ = std::max(program_, seconds_of(event));
}

bool SimDevice::do_reached(const DeviceEvent& event) {
  const double now = program_seconds();
  if (waits_ != nullptr) waits_->catch_up(actor_, now);
  auto* const part = static_cast<SimEvent*>(event.host.get());
  if (part == nullptr) return event.seconds <= now;
  return part->settled() && part->seconds() <= now;
}

void SimDevice::forget_settled() {
  std::erase_if(unsettled_, [](const Unsettled& one) { return one.event->settled() && !one.event->failed(); });
}

void SimDevice::do_synchronize() {
  for (const Unsettled& one : std::exchange(unsettled_, {})) {
    settle(*one.event, one.name);
    (void)one.event->seconds();  // throws what it failed with
  }
  double idle = std::max(program_seconds(), *std::max_element(streams_.begin(), streams_.end()));
  for (const auto& [number, channel] : host_channels_) idle = std::max(idle, channel.idle);
  for (auto& [number, channel] : host_channels_) channel.idle = idle;
  streams_.fill(idle);
  host_ = program_ = idle;
  draw_jitter();
}

void SimDevice::draw_jitter() {
  if (cluster_->jitter == 0) return;
  // The logarithm is normal about 0 (Box and Muller), drawn for each rank and epoch from the seed alone.
  constexpr std::uint32_t jitter_purpose = 0x6a697474;
  const RandomStream random(cluster_->jitter_seed, jitter_purpose, static_cast<std::uint32_t>(rank()));
  slowness_ = std::exp(cluster_->jitter * random.normal(epoch_++));
}

}  // namespace strobe::sim
