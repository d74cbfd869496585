// Streams and events that outlive the devices which use them: memory is returned in the order of a stream, and a tensor
// may be released after its device is gone.
#pragma once

#include <array>
#include <vector>

#include "backends/cuda/runtime.hpp"
#include "backends/span.hpp"

namespace strobe::cuda {

/// The streams of one rank, one per `Stream`.
using RankStreams = std::array<runtime::StreamHandle, stream_count>;

/// Idle streams of GPU `ordinal`, used before or new. Thread-safe.
RankStreams borrow_streams(int ordinal);
void return_streams(int ordinal, const RankStreams& streams);

/// Device memory that remembers its stream. Null when there is none left. Thread-safe.
std::byte* pool_allocate(std::size_t bytes, int ordinal, runtime::StreamHandle stream);
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

}  // namespace strobe::cuda
