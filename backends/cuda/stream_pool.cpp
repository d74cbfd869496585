#include "backends/cuda/stream_pool.hpp"

#include <map>
#include <mutex>
#include <unordered_map>

namespace strobe::cuda {
namespace {

struct Owner {
  int ordinal = 0;
  runtime::StreamHandle stream = nullptr;
};

/// Never destroyed: tensors of static storage may be released after the destructors of this file.
struct Pool {
  std::mutex mutex;
  std::map<int, std::vector<RankStreams>> idle;
  std::unordered_map<std::byte*, Owner> owners;
};

Pool& pool() {
  static Pool& one = *new Pool;
  return one;
}

}  // namespace

RankStreams borrow_streams(int ordinal) {
  {
    const std::lock_guard lock(pool().mutex);
    std::vector<RankStreams>& idle = pool().idle[ordinal];
    if (!idle.empty()) {
      const RankStreams streams = idle.back();
      idle.pop_back();
      return streams;
    }
  }
  RankStreams streams{};
  for (runtime::StreamHandle& stream : streams) stream = runtime::make_stream();
  return streams;
}

void return_streams(int ordinal, const RankStreams& streams) {
  const std::lock_guard lock(pool().mutex);
  pool().idle[ordinal].push_back(streams);
}

std::byte* pool_allocate(std::size_t bytes, int ordinal, runtime::StreamHandle stream) {
  std::byte* const memory = runtime::allocate(bytes, stream);
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(pool().mutex);
  pool().owners[memory] = {ordinal, stream};
  return memory;
}

void pool_release(std::byte* memory) {
  Owner owner;
  {
    const std::lock_guard lock(pool().mutex);
    const auto found = pool().owners.find(memory);
    if (found == pool().owners.end()) return;
    owner = found->second;
    pool().owners.erase(found);
  }
  runtime::release(memory, owner.stream);
}

EventPool::~EventPool() {
  for (const runtime::EventHandle event : free_) runtime::release_event(event);
}

runtime::EventHandle EventPool::take() {
  if (free_.empty()) return runtime::make_event();
  const runtime::EventHandle event = free_.back();
  free_.pop_back();
  return event;
}

}  // namespace strobe::cuda
