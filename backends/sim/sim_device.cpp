// Device `sim`: returns virtual times. An operation begins when its stream and the host are free and lasts by
// operation_seconds; the host needs its issue interval for each operation and is otherwise ahead of the streams.
// - Copies: latency + bytes / rate, the rate of pinned or pageable memory and at most this GPU's share of the link that
//   the GPUs of a PCIe switch have to the host. Their copies are taken to coincide, as in a program that all ranks run.
// - Contention: compute issued before a collective ended ran compute_slowdown_factor times slower while data moved. The
//   collective's interval is known only when it ends, so its cost is added then, as a span of its own.
// Invariants: no time goes backwards; the same program gives the same times. Cost: O(1) per operation; with contention,
// O(operations at the same time) per collective.
#include "backends/sim/sim_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/matrix/stored_forms.hpp"

namespace strobe::sim {

double host_rate(const Cluster& cluster, int rank, int ranks) {
  const double own = cluster.pageable_host_memory ? cluster.host_to_device_pageable_bytes_per_second
                                                  : cluster.host_to_device_bytes_per_second;
  if (cluster.gpus_per_host_link <= 1 || cluster.host_link_bytes_per_second == 0) return own;
  const int local = rank % cluster.gpus_per_node;
  const int first = rank - local + local / cluster.gpus_per_host_link * cluster.gpus_per_host_link;
  const int sharing = std::min(cluster.gpus_per_host_link, ranks - first);
  return std::min(own, cluster.host_link_bytes_per_second / sharing);
}

namespace {

/// The family of kernels that computes values, when values are computed.
Numerics computed_values() { return "cpu"; }

/// The bytes that tensors may take: the memory without context and, with several ranks, without communication buffers,
/// in whole blocks of the pool.
std::uint64_t usable_bytes(const GpuModel& gpu, const DeviceRequest& request) {
  const std::uint64_t buffers = request.ranks > 1 ? gpu.communication_buffer_bytes : 0;
  if (gpu.memory_bytes <= gpu.reserved_bytes + buffers) {
    throw InvalidRequest("/gpu/reserved_bytes", "the reserved memory leaves none for tensors");
  }
  std::uint64_t usable = gpu.memory_bytes - gpu.reserved_bytes - buffers;
  if (request.memory_limit_bytes != 0) usable = std::min(usable, request.memory_limit_bytes);
  const std::uint64_t block = gpu.allocation_block_bytes;
  return block == 0 || usable < block ? usable : usable / block * block;
}

}  // namespace

Lanes lanes_of(const DeviceRequest& request) {
  Lanes lanes{request.cluster};
  lanes.insert(lanes.end(), request.draws.begin(), request.draws.end());
  return lanes;
}

SimDevice::SimDevice(const DeviceRequest& request)
    : Device(request, request.values ? computed_values() : Numerics::none),
      clusters_(lanes_of(request)),
      cluster_(request.cluster.get()),
      operation_(clusters_),
      computing_ranks_(request.computing_ranks > 0 ? request.computing_ranks : request.ranks) {
  if (cluster_ == nullptr) {
    throw InvalidRequest("--cluster",
                         fmt::format("device sim needs a cluster; known: {}", fmt::join(cluster_names(), ", ")));
  }
  const GpuModel& gpu = cluster_->gpu;
  set_memory_limit(usable_bytes(gpu, request));
  draw_jitter();
  for (const auto& cluster : clusters_)
    clocks_.push_back({.transfer_rate = host_rate(*cluster, request.rank, request.ranks)});
  host_share_ = host_share(*cluster_, request.rank, request.ranks, request.host_threads);
  host_share_.turns = turns_on(*cluster_, computing_ranks_);
  page_cache_ = PageCache(cluster_->host.page_cache_bytes, 1 / host_share_.part, request.ranks);
  if (has_values()) {
    // Ranks take turns on one thread, so more threads per rank would only wait for each other.
    workers_ = std::make_unique<Workers>(1);
    context_.workers = workers_.get();
  }
}

Instant SimDevice::at(Stream stream) const {
  return Instant::each(clocks_.size(), [&](std::size_t lane) { return clocks_[lane].streams[stream]; });
}

void SimDevice::set(Stream stream, const Instant& instant) {
  for (std::size_t lane = 0; lane < clocks_.size(); ++lane) clocks_[lane].streams[stream] = instant[lane];
}

Instant SimDevice::program() const {
  return Instant::each(clocks_.size(), [&](std::size_t lane) { return program_in(lane); });
}

void SimDevice::raise_program(const Instant& instant) {
  for (std::size_t lane = 0; lane < clocks_.size(); ++lane)
    clocks_[lane].program = std::max(clocks_[lane].program, instant[lane]);
}

std::vector<double> SimDevice::do_drawn_now() {
  std::vector<double> seconds;
  for (std::size_t lane = 1; lane < clocks_.size(); ++lane) seconds.push_back(now_in(lane));
  return seconds;
}

Instant SimDevice::arrival() const {
  return Instant::each(clocks_.size(), [&](std::size_t lane) {
    const Clocks& own = clocks_[lane];
    return std::max({own.streams[Stream::compute], own.streams[Stream::communicate], own.host});
  });
}

void SimDevice::note_computed(Instant begin, Instant end) {
  if (spans().size() < noted_spans_) computed_.clear();  // as the described cluster's, which are spans
  noted_spans_ = spans().size();
  computed_.emplace_back(std::move(begin), std::move(end));
}

double SimDevice::computed_since(std::size_t lane, double ready_seconds) {
  double beside = 0;
  const auto add = [&](double begin, double end) {
    if (end <= ready_seconds) return false;
    beside += end - std::max(begin, ready_seconds);
    return true;
  };
  if (lane > 0) {
    for (auto one = computed_.rbegin(); one != computed_.rend(); ++one)
      if (!add(one->first[lane], one->second[lane])) break;
    return beside;
  }
  const std::vector<Span>& all = spans().spans();
  for (auto span = all.rbegin(); span != all.rend(); ++span) {
    if (span->stream == Stream::compute && !add(span->begin_seconds, span->end_seconds)) break;
  }
  return beside;
}

double SimDevice::contention_seconds(std::size_t lane, double ready_seconds, double end_seconds) {
  const double factor = cluster_->compute_slowdown_factor;
  if (factor == 1) return 0;
  return std::min((factor - 1) * computed_since(lane, ready_seconds), (1 - 1 / factor) * (end_seconds - ready_seconds));
}

void SimDevice::complete_communication(const Instant& ready, const Instant& end, bool holds_host) {
  const Instant hidden = Instant::each(
      clocks_.size(), [&](std::size_t lane) { return std::max(clocks_[lane].streams[Stream::compute], end[lane]); });
  const Instant over = Instant::each(clocks_.size(), [&](std::size_t lane) {
    const double extra = contention_seconds(lane, ready[lane], end[lane]);
    return std::max(clocks_[lane].streams[Stream::compute] + extra, end[lane]);
  });
  for (std::size_t lane = 0; lane < clocks_.size(); ++lane) {
    Clocks& own = clocks_[lane];
    own.streams[Stream::communicate] = std::max(own.streams[Stream::communicate], end[lane]);
    own.streams[Stream::compute] = over[lane];
    if (holds_host) own.host = std::max(own.host, over[lane]);
  }
  raise_program(over);  // waiting for a collective holds the program up as well
  if (notes_computed()) note_computed(hidden, over);
  // The part of it that overlaps the collective's own waiting time counts for the collective.
  const double begin = hidden.described(), last = over.described();
  if (last == begin) return;
  spans().append({"contention", Phase::compute, Stream::compute, Traffic::other, true, begin, last, {}, 0, 0, 0});
}

bool SimDevice::entries_decide(const MatrixUse& use) const {
  return has_values() && entries_decide_forms(use, {wants_transpose(), narrow_bytes()});
}

void SimDevice::do_prepare(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use) const {
  add_forms(memory, a, host, use, {wants_transpose(), narrow_bytes()});
}

std::uint64_t SimDevice::do_account(std::uint64_t bytes) const {
  const std::uint64_t unit = cluster_->gpu.allocation_bytes;
  return unit == 0 ? bytes : (bytes + unit - 1) / unit * unit;
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

double SimDevice::do_begin(Stream stream, std::string_view) { return begin_in(0, stream); }

void SimDevice::end_operation(std::size_t lane, Stream stream, std::string_view name, const Work& work, double calls) {
  const Cluster& cluster = *clusters_[lane];
  Clocks& own = clocks_[lane];
  const double begin = begin_in(lane, stream), issue = issue_seconds(cluster, calls);
  double& end = own.streams[stream];
  end = begin + slowness_ * framework_seconds(cluster, name, work, calls, operation_.seconds(lane));
  own.host += issue;
  // The last of several operations cannot begin before the host has issued it.
  if (calls > 1) end = std::max(end, own.host);
  // A host that is the device itself issues nothing while it computes.
  if (cluster.shared_host_memory) own.host = std::max(own.host, end + issue);
}

double SimDevice::do_end(Stream stream, std::string_view name, const Work& work, double) {
  snapshots_.learn(name, work);
  operation_.set(name, work, precision(), computing_ranks_);
  const double calls = framework_calls(*cluster_, name, work, snapshots_.count());
  const bool noted = stream == Stream::compute && notes_computed();
  Instant begin;
  if (noted) begin = Instant::each(clocks_.size(), [&](std::size_t lane) { return begin_in(lane, stream); });
  for (std::size_t lane = 0; lane < clocks_.size(); ++lane) end_operation(lane, stream, name, work, calls);
  if (noted) note_computed(std::move(begin), at(stream));
  return clocks_.front().streams[stream];
}

void SimDevice::do_transfer(std::uint64_t bytes) {
  if (bytes == 0 || cluster_->shared_host_memory) return;
  const double asked = clocks_.front().streams[Stream::compute], begin = do_begin(Stream::copy, "transfer");
  for (std::size_t lane = 0; lane < clocks_.size(); ++lane) {
    Clocks& own = clocks_[lane];
    const double latency = clusters_[lane]->host_to_device_latency_seconds;
    const double from = begin_in(lane, Stream::copy);
    own.streams[Stream::copy] = from + latency + static_cast<double>(bytes) / own.transfer_rate;
    own.streams[Stream::compute] = std::max(own.streams[Stream::compute], own.streams[Stream::copy]);
    own.host += clusters_[lane]->issue_seconds();
  }
  const double end = clocks_.front().streams[Stream::copy];
  // As with collectives: one blocking span for what compute has to wait for, which carries the bytes, and one that does
  // not block for the whole copy when a part of it was hidden behind compute.
  spans().append({"transfer",
                  Phase::transfer,
                  Stream::copy,
                  Traffic::other,
                  true,
                  std::max(begin, asked),
                  std::max(end, asked),
                  {},
                  0,
                  bytes,
                  0});
  if (begin < asked) {
    spans().append({"transfer", Phase::transfer, Stream::copy, Traffic::other, false, begin, end, {}, 0, 0, 0});
  }
}

void SimDevice::do_copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

namespace {

const Register<DeviceTag> registered{{
    "sim",
    "virtual time of a cluster; values absent (numerics none) or computed on the cpu (numerics cpu)",
    "Strobe design: clock virtual; roofline after Williams, Waterman and Patterson, CACM 52(4), 2009",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> { return std::make_unique<SimDevice>(request); },
     "sim", computed_values()},
    {},
}};

}  // namespace
}  // namespace strobe::sim
