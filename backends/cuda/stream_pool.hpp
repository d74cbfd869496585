// Streams, pinned memory and events that outlive the devices which use them: memory is returned in the order of a
// stream, a tensor may be released after its device is gone, and pinning memory takes a driver milliseconds.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "backends/cuda/runtime.hpp"
#include "backends/span.hpp"

namespace strobe::cuda {

/// The resources of a rank: streams, one per `Stream`, and pinned host memory for copies.
struct RankStreams {
  static constexpr std::size_t staging_bytes = std::size_t{8} << 20;

  PerStream<runtime::StreamHandle> of{};
  std::byte* staging = nullptr;
};

/// Idle streams of GPU `ordinal`, used before or new. Thread-safe.
RankStreams borrow_streams(int ordinal);
/// Takes them back; nothing may be under way on them.
void return_streams(int ordinal, const RankStreams& streams);

/// Memory that a rank has released, for its own later allocations. All of it is in the order of one stream, so memory
/// is reused without a call to the driver; an allocation and release there took 13 us on an H100. The smallest block
/// that fits, with the lowest address, is taken. So the choice depends only on which blocks are free, not on the order
/// of their release, and every epoch finds the addresses of the one before. Thread-safe.
class ReleasedMemory {
 public:
  /// While launches are gathered that use released memory, all of it stays here.
  void keep_all(bool wanted);
  /// From now on nothing is kept.
  void close();
  /// Takes the memory, unless it is large or much is idle already.
  bool offer(std::byte* memory, std::size_t bytes);
  /// Memory of at least `bytes` and at most a quarter more, with its size; null when there is none.
  std::pair<std::byte*, std::size_t> take(std::size_t bytes);
  /// Takes the blocks that only keep_all keeps.
  std::vector<std::byte*> take_excess();
  std::vector<std::byte*> take_all();

 private:
  static constexpr std::size_t most_idle = std::size_t{1} << 30;

  bool is_excess(std::size_t bytes) const { return bytes > runtime::largest_kept() || idle_ > most_idle; }

  std::mutex mutex_;
  bool keeping_all_ = false, closed_ = false;
  std::set<std::pair<std::size_t, std::byte*>> idle_blocks_;
  std::size_t idle_ = 0;  // bytes
};

/// Device memory that remembers its stream, and where it goes when it is released. Null when there is none left.
/// Thread-safe.
std::byte* pool_allocate(std::size_t bytes, int ordinal, runtime::StreamHandle stream,
                         const std::shared_ptr<ReleasedMemory>& released);
/// Takes it back in the order of the stream it came from. Callable until the process ends.
void pool_release(std::byte* memory);

/// Events for use again and again. Used by one rank.
class EventPool {
 public:
  EventPool() = default;
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  runtime::EventHandle take();
  void give(runtime::EventHandle event) { free_.push_back(event); }

 private:
  std::vector<runtime::EventHandle> free_;
};

/// An event of a pool, which gets it back unless it is kept.
class BorrowedEvent {
 public:
  explicit BorrowedEvent(EventPool& pool) : pool_(pool), event_(pool.take()) {}
  ~BorrowedEvent() {
    if (event_ != nullptr) pool_.give(event_);
  }
  BorrowedEvent(const BorrowedEvent&) = delete;
  BorrowedEvent& operator=(const BorrowedEvent&) = delete;

  runtime::EventHandle get() const { return event_; }
  /// The caller owns it from now on and must return it.
  runtime::EventHandle keep() { return std::exchange(event_, nullptr); }

 private:
  EventPool& pool_;
  runtime::EventHandle event_;
};

}  // namespace strobe::cuda
