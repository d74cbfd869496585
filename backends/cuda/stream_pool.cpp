#include "backends/cuda/stream_pool.hpp"

#include <iterator>
#include <unordered_map>

namespace strobe::cuda {
namespace {

struct Owner {
  int ordinal = 0;
  runtime::StreamHandle stream = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<ReleasedMemory> released;
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
  RankStreams streams;
  for (runtime::StreamHandle& stream : streams.of) stream = runtime::make_stream();
  streams.staging = runtime::allocate_pinned(RankStreams::staging_bytes);
  return streams;
}

void return_streams(int ordinal, const RankStreams& streams) {
  const std::lock_guard lock(pool().mutex);
  pool().idle[ordinal].push_back(streams);
}

void ReleasedMemory::keep_all(bool wanted) {
  const std::lock_guard lock(mutex_);
  keeping_all_ = wanted;
}

void ReleasedMemory::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool ReleasedMemory::offer(std::byte* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_ || (!keeping_all_ && is_excess(bytes))) return false;
  idle_blocks_.emplace(bytes, memory);
  idle_ += bytes;
  return true;
}

std::pair<std::byte*, std::size_t> ReleasedMemory::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = idle_blocks_.lower_bound({bytes, nullptr});
  if (found == idle_blocks_.end() || found->first > bytes + bytes / 4) return {nullptr, 0};
  const auto [size, memory] = *found;
  idle_blocks_.erase(found);
  idle_ -= size;
  if (!keeping_all_) runtime::forget(memory, size);
  return {memory, size};
}

std::vector<std::byte*> ReleasedMemory::take_excess() {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte*> excess;
  while (!idle_blocks_.empty() && is_excess(idle_blocks_.rbegin()->first)) {
    const auto last = std::prev(idle_blocks_.end());
    excess.push_back(last->second);
    idle_ -= last->first;
    idle_blocks_.erase(last);
  }
  return excess;
}

std::vector<std::byte*> ReleasedMemory::take_all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte*> all;
  for (const auto& [bytes, memory] : idle_blocks_) all.push_back(memory);
  idle_blocks_.clear();
  idle_ = 0;
  return all;
}

std::byte* pool_allocate(std::size_t bytes, int ordinal, runtime::StreamHandle stream,
                         const std::shared_ptr<ReleasedMemory>& released) {
  auto [memory, size] = released->take(bytes);
  if (memory == nullptr) {
    memory = runtime::allocate(bytes, stream);
    size = bytes;
  }
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(pool().mutex);
  pool().owners[memory] = {ordinal, stream, size, released};
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
  if (!owner.released->offer(memory, owner.bytes)) runtime::release(memory, owner.stream);
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
