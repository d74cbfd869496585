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
  work.disk_bytes += page_cache_.use(work.file_part);
  const auto act = [this, &channel, share, event, span, work = std::move(work)](const Instant& ready,
                                                                                std::exception_ptr failure) {
    Instant begin = ready;
    begin.raise(channel.idle);
    if (channel.failure) failure = channel.failure;
    try {
      if (!failure && work.body) work.body(host_workers_);
    } catch (...) {
      failure = std::current_exception();
    }
    channel.failure = failure;
    const Instant end = Instant::each(clusters_.size(), [&](std::size_t lane) {
      const Cluster& cluster = *clusters_[lane];
      return begin[lane] + host_seconds(cluster, work.name, work.work, work.disk_bytes, share) +
             framework_host_seconds(cluster, work.work);
    });
    channel.idle = end;
    spans().set_times(span, begin.described(), end.described());
    event->settle(end, failure);
  };
  unsettled_.push_back({event, name});
  actions_.add(&channel, program(), after, act);
  forget_settled();
  return {0, nullptr, event, Phase::host, name};
}

DeviceEvent SimDevice::do_start_copy(const HostMemory& host, const Tensor& tensor, Stream stream,
                                     const std::vector<DeviceEvent>& after) {
  const auto event = std::make_shared<SimEvent>();
  if (!has_own_memory()) {
    DeviceEvent copied = Device::do_start_copy(host, tensor, stream, after);
    event->settle(at(stream));
    copied.host = event;
    return copied;
  }
  const std::size_t span = spans().size();
  spans().append({"transfer", Phase::transfer, stream, Traffic::other, false, 0, 0, {}, 0, host.bytes(), 0});
  const bool in = stream == Stream::copy;
  Instant issued = program();
  if (!in) issued.raise(at(Stream::compute));
  const auto act = [this, event, span, host, tensor, stream, in](const Instant& ready, std::exception_ptr failure) {
    Instant begin = ready;
    begin.raise(at(stream));
    const Instant end = Instant::each(clusters_.size(), [&](std::size_t lane) {
      const double seconds = clusters_[lane]->host_to_device_latency_seconds +
                             static_cast<double>(host.bytes()) / clocks_[lane].transfer_rate;
      return host.bytes() == 0 ? begin[lane] : begin[lane] + seconds;
    });
    if (!failure && tensor.has_values() && host.raw() != nullptr && host.bytes() != 0) {
      std::memcpy(in ? tensor.raw() : host.raw(), in ? host.raw() : tensor.raw(), host.bytes());
    }
    set(stream, end);
    spans().set_times(span, begin.described(), end.described());
    event->settle(end, failure);
  };
  unsettled_.push_back({event, "transfer"});
  actions_.add(&clocks_.front().streams[stream], std::move(issued), after, act);
  for (std::size_t lane = 0; lane < clocks_.size(); ++lane) clocks_[lane].host += clusters_[lane]->issue_seconds();
  forget_settled();
  return {0, nullptr, event, Phase::transfer, "transfer"};
}

void SimDevice::do_when(const void* order, std::vector<DeviceEvent> after, Then then) {
  when_virtual(order, after, [then = std::move(then)](const Instant& ready, std::exception_ptr failure) {
    then(ready.described(), std::move(failure));
  });
}

void SimDevice::when_virtual(const void* order, const std::vector<DeviceEvent>& after, WaitingActions::Action then) {
  actions_.add(order, program(), after, std::move(then));
}

DeviceEvent SimDevice::do_record(Stream stream) {
  const double seconds = clocks_.front().streams[stream];
  if (clocks_.size() == 1) return {seconds, nullptr};
  const auto event = std::make_shared<SimEvent>();
  event->settle(at(stream));
  return {seconds, nullptr, event};
}

void SimDevice::settle(SimEvent& event, std::string_view what) {
  if (event.settled()) return;
  if (waits_ == nullptr) throw Error("this rank waits for something that nobody will do");
  waits_->await(actor_, event, what);
}

Instant SimDevice::instant_of(const DeviceEvent& event) {
  auto* const part = static_cast<SimEvent*>(event.host.get());
  if (part == nullptr) return Instant(event.seconds);
  settle(*part, event.name);
  return part->instant();
}

void SimDevice::do_wait(Stream stream, const DeviceEvent& event) {
  const Instant came = instant_of(event);
  const double asked = clocks_.front().streams[stream];
  Instant later = at(stream);
  later.raise(came);
  set(stream, later);
  if (event.phase == Phase::host || event.phase == Phase::wait) raise_program(came);
  if (stream != Stream::compute || event.phase == Phase::other || came.described() <= asked) return;
  const Stream source = event.phase == Phase::transfer ? Stream::copy : Stream::host;
  spans().append({event.name, event.phase, source, Traffic::other, true, asked, came.described(), {}, 0, 0, 0});
}

void SimDevice::do_await(const DeviceEvent& event) {
  do_wait(Stream::compute, event);
  raise_program(instant_of(event));
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
  Instant idle = program();
  for (std::size_t stream = 0; stream < clocks_.front().streams.size(); ++stream)
    idle.raise(at(static_cast<Stream>(stream)));
  for (const auto& [number, channel] : host_channels_) idle.raise(channel.idle);
  for (auto& [number, channel] : host_channels_) channel.idle = idle;
  for (std::size_t lane = 0; lane < clocks_.size(); ++lane) {
    Clocks& own = clocks_[lane];
    own.streams.fill(idle[lane]);
    own.host = own.program = idle[lane];
  }
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
