#include "backends/cuda/stream_pool.hpp"

#include <tuple>
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
  RankStreams streams{};
  for (runtime::StreamHandle& stream : streams) stream = runtime::make_stream();
  return streams;
}

void return_streams(int ordinal, const RankStreams& streams) {
  const std::lock_guard lock(pool().mutex);
  pool().idle[ordinal].push_back(streams);
}

void ReleasedMemory::keep(bool wanted) {
  const std::lock_guard lock(mutex_);
  keeping_ = wanted;
}

bool ReleasedMemory::offer(std::byte* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (keeping_) kept_.emplace(bytes, memory);
  return keeping_;
}

std::pair<std::byte*, std::size_t> ReleasedMemory::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.lower_bound(bytes);
  if (found == kept_.end() || found->first / 2 > bytes) return {nullptr, 0};
  const std::pair<std::byte*, std::size_t> taken{found->second, found->first};
  kept_.erase(found);
  return taken;
}

std::vector<std::byte*> ReleasedMemory::take_all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte*> all;
  for (const auto& [bytes, memory] : kept_) all.push_back(memory);
  kept_.clear();
  return all;
}

std::byte* pool_allocate(std::size_t bytes, int ordinal, runtime::StreamHandle stream,
                         const std::shared_ptr<ReleasedMemory>& released) {
  std::byte* memory = nullptr;
  std::size_t size = bytes;
  if (released != nullptr) std::tie(memory, size) = released->take(bytes);
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
  if (owner.released != nullptr && owner.released->offer(memory, owner.bytes)) return;
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
