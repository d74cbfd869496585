// Streams and events that outlive the devices which use them: memory is returned in the order of a stream, and a tensor
// may be released after its device is gone.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/cuda/runtime.hpp"
#include "backends/span.hpp"

namespace strobe::cuda {

/// The streams of one rank, one per `Stream`.
using RankStreams = std::array<runtime::StreamHandle, stream_count>;

/// Idle streams of GPU `ordinal`, used before or new. Thread-safe.
RankStreams borrow_streams(int ordinal);
void return_streams(int ordinal, const RankStreams& streams);

/// Memory that was released while launches that use it had not been given to the stream yet. Until they are, only
/// later launches of the same stream may have it. Thread-safe.
class ReleasedMemory {
 public:
  /// From now on memory is kept here, or no longer.
  void keep(bool wanted);
  /// Takes the memory if it is to be kept.
  bool offer(std::byte* memory, std::size_t bytes);
  /// Kept memory of at least `bytes` and at most twice as many, with its size; null when there is none.
  std::pair<std::byte*, std::size_t> take(std::size_t bytes);
  std::vector<std::byte*> take_all();

 private:
  std::mutex mutex_;
  bool keeping_ = false;
  std::multimap<std::size_t, std::byte*> kept_;  // by size
};

/// Device memory that remembers its stream, and, unless null, where it goes when it is released. Null when there is
/// none left. Thread-safe.
std::byte* pool_allocate(std::size_t bytes, int ordinal, runtime::StreamHandle stream,
                         const std::shared_ptr<ReleasedMemory>& released = nullptr);
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
  /// From now on the caller's to give back.
  runtime::EventHandle keep() { return std::exchange(event_, nullptr); }

 private:
  EventPool& pool_;
  runtime::EventHandle event_;
};

}  // namespace strobe::cuda
