// A free list per block size. Blocks below 256 KiB go to malloc. Memory in use and memory kept never exceed together
// twice the most that was in use at once since the last trim: the next epoch will want the same sizes again, and what
// each size needs at most adds up to more than the peak, because sizes peak at different times. Past that the least
// recently freed size goes first. The last device that goes trims the pool. Cost O(log sizes) per call.
#include "backends/cpu/host_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace strobe {
namespace {

constexpr std::size_t header_bytes = 64;
constexpr std::size_t large_bytes = std::size_t{256} << 10;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

struct FreeList {
  std::vector<std::byte*> blocks;
  std::uint64_t last_used = 0;
};

class HostPool {
 public:
  std::byte* allocate(std::size_t bytes) {
    const std::size_t block = round_up(bytes + header_bytes);
    if (block < large_bytes) return with_header(raw_allocate(block), block);
    const std::lock_guard lock(mutex_);
    live_ += block;
    peak_ = std::max(peak_, live_);
    FreeList& list = free_[block];
    list.last_used = ++clock_;
    if (list.blocks.empty()) return with_header(raw_allocate(block), block);
    std::byte* memory = list.blocks.back();
    list.blocks.pop_back();
    cached_ -= block;
    return memory + header_bytes;
  }

  void release(std::byte* memory) {
    std::byte* raw = memory - header_bytes;
    const std::size_t block = *reinterpret_cast<std::size_t*>(raw);
    if (block < large_bytes) {
      std::free(raw);
      return;
    }
    const std::lock_guard lock(mutex_);
    live_ -= block;
    FreeList& list = free_[block];
    list.blocks.push_back(raw);
    list.last_used = ++clock_;
    cached_ += block;
    while (cached_ > 0 && live_ + cached_ > 2 * peak_) drop_oldest();
  }

  void trim() {
    const std::lock_guard lock(mutex_);
    while (cached_ > 0) drop_oldest();
    peak_ = live_;
  }

  std::size_t cached() {
    const std::lock_guard lock(mutex_);
    return cached_;
  }

 private:
  /// Sizes are rounded so that tensors of nearly equal size share a list.
  static std::size_t round_up(std::size_t bytes) {
    const std::size_t unit = bytes < large_bytes ? 64 : bytes < huge_page_bytes ? 4096 : std::size_t{64} << 10;
    return (bytes + unit - 1) / unit * unit;
  }

  static std::byte* raw_allocate(std::size_t block) {
    const std::size_t alignment = block >= huge_page_bytes ? huge_page_bytes : 64;
    void* memory = std::aligned_alloc(alignment, (block + alignment - 1) / alignment * alignment);
    if (memory != nullptr && alignment == huge_page_bytes) {
      madvise(memory, block, MADV_HUGEPAGE);  // a hint: when refused, ordinary pages serve as well
    }
    return static_cast<std::byte*>(memory);
  }

  static std::byte* with_header(std::byte* raw, std::size_t block) {
    if (raw == nullptr) return nullptr;
    *reinterpret_cast<std::size_t*>(raw) = block;
    return raw + header_bytes;
  }

  void drop_oldest() {
    auto oldest = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (!it->second.blocks.empty() && (oldest == free_.end() || it->second.last_used < oldest->second.last_used)) {
        oldest = it;
      }
    }
    if (oldest == free_.end()) return;
    std::free(oldest->second.blocks.back());
    oldest->second.blocks.pop_back();
    cached_ -= oldest->first;
  }

  std::mutex mutex_;
  std::map<std::size_t, FreeList> free_;
  std::size_t live_ = 0, peak_ = 0, cached_ = 0;
  std::uint64_t clock_ = 0;
};

/// Lives until the process ends, so that tensors may outlive everything else; reachable, so no leak is reported.
HostPool& pool() {
  static HostPool* const instance = new HostPool;
  return *instance;
}

}  // namespace

std::byte* host_pool_allocate(std::size_t bytes) { return pool().allocate(bytes); }
void host_pool_release(std::byte* memory) { pool().release(memory); }
void host_pool_trim() { pool().trim(); }
std::size_t host_pool_cached_bytes() { return pool().cached(); }

}  // namespace strobe
