// With graphs, the compute stream's operations are gathered and launched when something else needs the stream: another
// stream's event, a copy, a synchronisation. Memory released in between goes to the rank's own later launches only.
// Invariants: all of a rank's memory is allocated, and returned, in the order of its compute stream; whatever another
// stream does with it lies between two events of that order. A span's times lie between the anchor, an event whose wall
// clock time is known, and the next synchronisation, so that single-precision intervals stay exact to a microsecond.
#include "backends/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "backends/cuda/ordered_sum.hpp"
#include "backends/matrix/stored_forms.hpp"
#include "backends/wall_clock.hpp"
#include "core/errors.hpp"

namespace strobe::cuda {
namespace {

/// Idle memory that the pool keeps from one device to the next: small cases take it over instead of asking the driver.
constexpr std::size_t kept_idle_bytes = std::size_t{256} << 20;

}  // namespace

CudaDevice::CudaDevice(const DeviceRequest& request, bool graphs)
    : Device(request, "cuda"), host_(std::max(1, request.host_threads), {[this](const DeviceEvent& event) {
                                       runtime::select(ordinal_);
                                       return runtime::complete(event.native.get());
                                     }}) {
  std::string reason;
  const int count = runtime::device_count(reason);
  if (count == 0) throw Unavailable("device cuda: " + reason);
  ordinal_ = request.rank % count;
  runtime::select(ordinal_);
  runtime::check_architecture();
  streams_ = borrow_streams(ordinal_);
  anchor_ = events_.take();
  for (runtime::EventHandle& event : staged_) event = events_.take();
  runtime::set_thread_order(request.threads);
  context_.native_stream = native(Stream::compute);
  if (graphs) {
    gathered_ = std::make_unique<GatheredLaunches>(native(Stream::compute));
    context_.own = gathered_.get();
  }
  context_.scratch = [this](std::size_t bytes) { return scratch(bytes); };
  set_anchor();
  // Tensors that outlived an earlier device have returned memory to the pool since then.
  runtime::trim_pool(ordinal_, kept_idle_bytes);
}

CudaDevice::~CudaDevice() {
  try {
    runtime::select(ordinal_);
    host_.end();
    for (const runtime::StreamHandle stream : streams_.of) runtime::synchronize(stream);
    gathered_.reset();  // what was not launched never will be
    for (const Untimed& one : untimed_) {
      if (!one.begins_with_another_end) events_.give(one.begin);
      if (!one.shares_end) events_.give(one.end);
    }
    if (stretch_begin_ != nullptr) events_.give(stretch_begin_);
    for (const HostStall& stall : host_stalls_) events_.give(stall.idle);
    for (const runtime::EventHandle event : abandoned_) events_.give(event);
    for (const runtime::EventHandle event : {anchor_, staged_[0], staged_[1]}) events_.give(event);
    if (scratch_ != nullptr) pool_release(scratch_);
    released_->close();
    release_idle(released_->take_all());
    runtime::synchronize(native(Stream::compute));
    runtime::trim_pool(ordinal_, kept_idle_bytes);  // what comes next may need memory outside the pool, as NCCL does
    return_streams(ordinal_, streams_);
  } catch (const std::exception&) {
    // The GPU is in an error state, which the operation that caused it has reported; nothing can be given back.
  }
}

void CudaDevice::do_prepare(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use) const {
  add_forms(memory, a, host, use, {wants_transpose(), narrow_bytes()});
}

std::byte* CudaDevice::do_allocate(std::size_t bytes) {
  std::byte* memory = pool_allocate(bytes, ordinal_, native(Stream::compute), released_);
  if (memory == nullptr) {
    // Memory that was released and is still in use by launches, kept for later ones, or idle in pieces too small: after
    // this it can be used. The communicate stream may be waiting for a peer, so nobody waits for it here.
    launch_gathered();
    release_idle(released_->take_all());
    if (gathered_ != nullptr) released_->keep_all(true);  // an operation may be at work, and the rest of it is gathered
    for (const Stream stream : {Stream::compute, Stream::copy}) runtime::synchronize(native(stream));
    runtime::trim_pool(ordinal_, 0);
    memory = pool_allocate(bytes, ordinal_, native(Stream::compute), released_);
  }
  if (memory == nullptr) throw OutOfMemory(rank(), bytes, live_bytes(), runtime::properties(ordinal_).memory_bytes);
  return memory;
}

std::uint64_t CudaDevice::do_account(std::uint64_t bytes) const {
  constexpr std::uint64_t granule = 512;  // what the stream-ordered allocator rounds to
  return (bytes + granule - 1) / granule * granule;
}

std::byte* CudaDevice::scratch(std::size_t bytes) {
  if (bytes <= scratch_bytes_) return scratch_;
  if (scratch_ != nullptr) pool_release(scratch_);
  scratch_ = nullptr;
  scratch_bytes_ = 0;
  scratch_ = do_allocate(bytes);
  scratch_bytes_ = bytes;
  return scratch_;
}

void CudaDevice::time_each_operation(bool wanted) {
  launch_gathered();
  each_timed_ = wanted;
}

double CudaDevice::do_begin(Stream stream, std::string_view name) {
  const bool gathering = stream == Stream::compute && gathered_ != nullptr;
  if (gathering) released_->keep_all(true);
  const runtime::EventHandle last = gathering && each_timed_ ? gathered_->last_event() : nullptr;
  begin_is_an_end_ = last != nullptr;  // consecutive operations share the event between them
  if (begin_is_an_end_) {
    begin_ = last;
  } else if (gathering && stretch_begin_ != nullptr) {
    begin_ = nullptr;
  } else {
    BorrowedEvent begin(events_);
    if (gathering) {
      gathered_->add_event(begin.get());
    } else {
      runtime::record(begin.get(), native(stream));
    }
    begin_ = begin.keep();
    if (gathering && !each_timed_) stretch_begin_ = std::exchange(begin_, nullptr);
  }
  runtime::push_range(name);
  open_ = true;
  return 0;
}

double CudaDevice::do_end(Stream stream, std::string_view, const Work&, double) {
  if (begin_ == nullptr) {
    stretch_spans_.push_back(spans().size());
  } else {
    BorrowedEvent end(events_);
    if (stream == Stream::compute && gathered_ != nullptr) {
      gathered_->add_event(end.get());
    } else {
      runtime::record(end.get(), native(stream));
    }
    untimed_.push_back({spans().size(), begin_, end.keep(), begin_is_an_end_});
  }
  runtime::pop_range();
  open_ = false;
  return 0;
}

void CudaDevice::do_abandon() noexcept {
  if (!open_) return;
  open_ = false;
  runtime::pop_range();
  // Not at once: the next operation may begin with this event, if it is what was gathered last.
  if (begin_ != nullptr && !begin_is_an_end_) abandoned_.push_back(begin_);
}

void CudaDevice::end_stretch() {
  if (stretch_begin_ == nullptr || open_) return;  // an operation that waits for memory goes on in its stretch
  BorrowedEvent end(events_);
  gathered_->add_event(end.get());
  const runtime::EventHandle begin = std::exchange(stretch_begin_, nullptr);
  for (std::size_t i = 0; i < stretch_spans_.size(); ++i)
    untimed_.push_back({stretch_spans_[i], begin, end.get(), i > 0, i > 0, i, stretch_spans_.size()});
  if (stretch_spans_.empty()) {
    abandoned_.push_back(begin);
    abandoned_.push_back(end.get());
  }
  (void)end.keep();
  stretch_spans_.clear();
}

void CudaDevice::launch_gathered() {
  if (gathered_ == nullptr) return;
  end_stretch();
  gathered_->launch();
  released_->keep_all(false);
  release_idle(released_->take_excess());
}

void CudaDevice::release_idle(const std::vector<std::byte*>& idle) {
  for (std::byte* const memory : idle) runtime::release(memory, native(Stream::compute));
}

void CudaDevice::refuse_unreachable(const void* address) const {
  if (runtime::reaches(ordinal_, address)) return;
  throw Unavailable(
      fmt::format("communicator local: GPU {} of rank {} has no access to another rank's memory, because the two GPUs "
                  "are not linked; use --comm nccl, or one GPU for all ranks with CUDA_VISIBLE_DEVICES={}",
                  ordinal_, rank(), ordinal_));
}

void CudaDevice::copy_values(void* to, const void* from, std::size_t bytes) {
  for (const void* const address : {static_cast<const void*>(to), from}) refuse_unreachable(address);
  launch_gathered();
  runtime::copy(to, from, bytes, native(Stream::compute));
}

void CudaDevice::sum_values(Reduction reduction, ElementType type, const std::vector<const std::byte*>& addends,
                            std::byte* sum, std::int64_t elements) {
  for (const std::byte* const addend : addends) refuse_unreachable(addend);
  if (gathered_ != nullptr) {
    end_stretch();
    released_->keep_all(true);
  }
  ordered_sum(context_, reduction, type, addends, sum, elements);
}

void CudaDevice::order(Stream first, Stream then) {
  launch_gathered();
  const BorrowedEvent event(events_);  // a later record does not change what was waited for
  runtime::record(event.get(), native(first));
  runtime::wait(native(then), event.get());
}

void CudaDevice::append_transfer(BorrowedEvent& begin, BorrowedEvent& end, std::uint64_t bytes) {
  untimed_.push_back({spans().size(), begin.keep(), end.keep(), false});
  spans().append({"transfer", Phase::transfer, Stream::copy, Traffic::other, true, 0, 0, {}, 0, bytes, 0});
}

void CudaDevice::do_copy(void* to, const void* from, std::size_t bytes) {
  const bool to_device = runtime::is_device_memory(to);
  BorrowedEvent begin(events_), end(events_);
  order(Stream::compute, Stream::copy);  // the memory may be in use there
  runtime::record(begin.get(), native(Stream::copy));
  copy_staged(to, from, bytes, to_device);
  runtime::record(end.get(), native(Stream::copy));
  order(Stream::copy, Stream::compute);
  append_transfer(begin, end, bytes);
}

void CudaDevice::copy_staged(void* to, const void* from, std::size_t bytes, bool to_device) {
  constexpr std::size_t half = RankStreams::staging_bytes / 2;
  const runtime::StreamHandle stream = native(Stream::copy);
  std::size_t emptied = 0;  // of a copy to the host: bytes that have left the pinned memory
  const auto empty = [&](std::size_t until) {
    for (; emptied < until; emptied += half) {
      const std::size_t part = emptied / half % 2;
      runtime::synchronize_event(staged_[part]);
      std::memcpy(static_cast<std::byte*>(to) + emptied, streams_.staging + part * half,
                  std::min(half, bytes - emptied));
    }
  };
  for (std::size_t first = 0; first < bytes; first += half) {
    const std::size_t part = first / half % 2, count = std::min(half, bytes - first);
    if (to_device) {
      runtime::synchronize_event(staged_[part]);  // the copy that read this half before
      std::memcpy(streams_.staging + part * half, static_cast<const std::byte*>(from) + first, count);
      runtime::copy(static_cast<std::byte*>(to) + first, streams_.staging + part * half, count, stream);
    } else {
      if (first >= 2 * half) empty(first - half);
      runtime::copy(streams_.staging + part * half, static_cast<const std::byte*>(from) + first, count, stream);
    }
    runtime::record(staged_[part], stream);
  }
  if (!to_device) empty(bytes);
}

void CudaDevice::do_transfer_again(std::uint64_t bytes) {
  // The bytes are on the device, where the program keeps them; what they would cost is paid into scratch memory.
  constexpr std::size_t part = RankStreams::staging_bytes / 2;
  std::byte* const target = scratch(part);
  BorrowedEvent begin(events_), end(events_);
  order(Stream::compute, Stream::copy);
  runtime::record(begin.get(), native(Stream::copy));
  for (std::uint64_t first = 0; first < bytes; first += part) {
    const std::size_t count = std::min<std::uint64_t>(part, bytes - first);
    runtime::copy(target, streams_.staging, count, native(Stream::copy));
  }
  runtime::record(end.get(), native(Stream::copy));
  order(Stream::copy, Stream::compute);
  append_transfer(begin, end, bytes);
}

DeviceEvent CudaDevice::do_record(Stream stream) {
  if (stream == Stream::compute) launch_gathered();
  const std::shared_ptr<void> event(runtime::make_event(), runtime::release_event);
  runtime::record(event.get(), native(stream));
  return {0, event};
}

void CudaDevice::set_anchor() {
  runtime::record(anchor_, native(Stream::compute));
  runtime::synchronize(native(Stream::compute));
  anchor_seconds_ = wall_seconds();
}

void CudaDevice::read_times() {
  for (const Untimed& one : untimed_) {
    if (one.span >= spans().size()) continue;
    const double first = anchor_seconds_ + runtime::seconds_between(anchor_, one.begin);
    const double each = runtime::seconds_between(one.begin, one.end) / static_cast<double>(one.parts);
    const double begin = first + each * static_cast<double>(one.part);
    spans().set_times(one.span, begin, begin + each);
  }
  // In reverse, so that the next epoch takes the same events in the same order and its graphs stay as they are.
  for (auto one = untimed_.rbegin(); one != untimed_.rend(); ++one) {
    if (!one->shares_end) events_.give(one->end);
    if (!one->begins_with_another_end) events_.give(one->begin);
  }
  untimed_.clear();
  for (const runtime::EventHandle event : abandoned_) events_.give(event);
  abandoned_.clear();
}

void CudaDevice::do_synchronize() {
  launch_gathered();
  host_.synchronize(spans(), look());
  ahead_.await_issued(look());
  for (const runtime::StreamHandle stream : streams_.of) runtime::synchronize(stream);
  read_times();
  read_host_times();
  if (gathered_ != nullptr) gathered_->begin_anew();
  set_anchor();
}

double CudaDevice::do_now() {
  launch_gathered();
  runtime::synchronize(native(Stream::compute));
  return wall_seconds();
}

namespace {

const Register<DeviceTag> registered{{
    "cuda",
    "real numerics on NVIDIA GPUs, wall clock from CUDA events",
    "Strobe design: numerics cuda, clock wall",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> {
       return std::make_unique<CudaDevice>(request, false);
     },
     "", "cuda"},
    {},
}};

const Register<DeviceTag> registered_with_graphs{{
    "cuda-graphs",
    "like cuda, but operations are gathered into CUDA graphs and replayed",
    "CUDA C++ Programming Guide, CUDA graphs",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> {
       return std::make_unique<CudaDevice>(request, true);
     },
     "", "cuda"},
    {},
}};

}  // namespace
}  // namespace strobe::cuda
