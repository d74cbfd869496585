#include "backends/cpu/host_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "core/system/process_memory.hpp"

namespace strobe {
namespace {

constexpr std::size_t header_bytes = 64;
constexpr std::size_t large_bytes = std::size_t{256} << 10;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// The header before a block's memory.
struct Header {
  std::size_t block;  // bytes, header included
  HostPool* pool;     // null: malloc's
  void* begin;        // what malloc returned
};
static_assert(sizeof(Header) <= header_bytes);

/// Sizes are rounded so that tensors of nearly equal size share a list.
std::size_t round_up(std::size_t bytes) {
  const std::size_t unit = bytes < large_bytes ? 64 : bytes < huge_page_bytes ? 4096 : std::size_t{64} << 10;
  return (bytes + unit - 1) / unit * unit;
}

std::atomic<std::uint64_t> fresh_blocks_taken{0};

[[maybe_unused]] const bool gives_back = (give_back_kept_by(HostPool::trim_all), true);

/// Changes the bytes that a pool keeps, and their sum over the process.
void change_kept(std::size_t& cached, std::int64_t by) {
  cached += static_cast<std::size_t>(by);
  kept_for_reuse() += by;
}

/// Writes to every page of fresh memory, by the kernel at once where it can (Linux 5.14).
void populate(std::byte* memory, std::size_t bytes, std::size_t page) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  for (std::size_t at = 0; at < bytes; at += page) *static_cast<volatile std::byte*>(memory + at) = std::byte{0};
}

std::byte* fresh_large_block(std::size_t block) {
  const std::size_t page = sysconf(_SC_PAGESIZE);
  const std::size_t alignment = block >= huge_page_bytes ? huge_page_bytes : page;
  auto* const memory =
      static_cast<std::byte*>(std::aligned_alloc(alignment, (block + alignment - 1) / alignment * alignment));
  if (memory == nullptr) return nullptr;
  if (alignment == huge_page_bytes) {
    madvise(memory, block, MADV_HUGEPAGE);  // a hint: when refused, ordinary pages serve as well
  }
  populate(memory, block, page);
  ++fresh_blocks_taken;
  return memory;
}

/// A block of malloc, aligned here. aligned_alloc of glibc before 2.38 splits its heap, so that it grows all the time
/// (bug 14581).
std::byte* small_block(std::size_t block) {
  void* const begin = std::malloc(block + header_bytes);
  if (begin == nullptr) return nullptr;
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(begin);
  auto* const raw = static_cast<std::byte*>(begin) + (header_bytes - at % header_bytes) % header_bytes;
  *reinterpret_cast<Header*>(raw) = {block, nullptr, begin};
  return raw + header_bytes;
}

std::byte* with_header(std::byte* raw, Header header) {
  if (raw == nullptr) return nullptr;
  *reinterpret_cast<Header*>(raw) = header;
  return raw + header_bytes;
}

/// All pools; reachable until the process ends, so no leak is reported.
struct Pools {
  std::mutex mutex;
  std::map<int, HostPool*> of_rank;
};

Pools& pools() {
  static Pools* const instance = new Pools;
  return *instance;
}

}  // namespace

HostPool& HostPool::of_rank(int rank) {
  const std::lock_guard lock(pools().mutex);
  HostPool*& pool = pools().of_rank[rank];
  if (pool == nullptr) pool = new HostPool;
  return *pool;
}

void HostPool::begin_use() {
  const std::lock_guard lock(mutex_);
  ++users_;
}

void HostPool::end_use() {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = --users_ == 0;
  }
  if (last) trim();
}

void HostPool::trim_all() {
  const std::lock_guard lock(pools().mutex);
  for (const auto& [rank, pool] : pools().of_rank) pool->trim();
}

std::byte* HostPool::allocate(std::size_t bytes) {
  const std::size_t block = round_up(bytes + header_bytes);
  if (block < large_bytes) {
    return small_block(block);
  }
  {
    const std::lock_guard lock(mutex_);
    live_ += block;
    peak_ = std::max(peak_, live_);
    FreeList& list = free_[block];
    list.last_used = ++clock_;
    if (!list.blocks.empty()) {
      std::byte* const raw = list.blocks.back();
      list.blocks.pop_back();
      change_kept(cached_, -static_cast<std::int64_t>(block));
      return raw + header_bytes;
    }
    drop_surplus();
  }
  std::byte* const raw = fresh_large_block(block);
  if (raw == nullptr) {
    const std::lock_guard lock(mutex_);
    live_ -= block;
  }
  return with_header(raw, {block, this, raw});
}

void HostPool::release(std::byte* memory) {
  std::byte* const raw = memory - header_bytes;
  const Header header = *reinterpret_cast<const Header*>(raw);
  if (header.pool == nullptr) {
    std::free(header.begin);
  } else {
    header.pool->take_back(raw, header.block);
  }
}

void HostPool::take_back(std::byte* raw, std::size_t block) {
  const std::lock_guard lock(mutex_);
  live_ -= block;
  FreeList& list = free_[block];
  list.blocks.push_back(raw);
  list.last_used = ++clock_;
  change_kept(cached_, static_cast<std::int64_t>(block));
  drop_surplus();
}

void HostPool::drop_surplus() {
  const std::size_t most = spares_process_memory() ? peak_ : 2 * peak_;
  while (cached_ > 0 && live_ + cached_ > most) drop_oldest();
}

void HostPool::trim() {
  const std::lock_guard lock(mutex_);
  while (cached_ > 0) drop_oldest();
  peak_ = live_;
}

std::size_t HostPool::cached_bytes() {
  const std::lock_guard lock(mutex_);
  return cached_;
}

std::uint64_t HostPool::fresh_blocks() { return fresh_blocks_taken; }

void HostPool::drop_oldest() {
  auto oldest = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (!it->second.blocks.empty() && (oldest == free_.end() || it->second.last_used < oldest->second.last_used)) {
      oldest = it;
    }
  }
  if (oldest == free_.end()) return;
  std::free(oldest->second.blocks.back());
  oldest->second.blocks.pop_back();
  change_kept(cached_, -static_cast<std::int64_t>(oldest->first));
}

}  // namespace strobe
