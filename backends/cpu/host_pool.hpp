// Host memory for tensors. Large blocks are kept after use and handed out again: a fresh block of the operating system
// costs a page fault per page on first touch, which would take longer than the narrow kernels that fill it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace strobe {

/// The memory of one rank. A rank asks for the same sizes in the same order in every epoch, so the blocks of its first
/// epoch serve all later ones. With a shared pool, the free blocks would depend on the progress of other ranks, and
/// later epochs would still fault memory in. It has a free list per block size; blocks below 256 KiB go to malloc.
/// Memory in use and memory kept together never exceed twice the most that was in use at once since the last trim. The
/// factor is needed because sizes peak at different times, so their peaks add up to more than the peak of the sum. A
/// process that spares memory keeps no more than once that much. Past that limit the least recently freed size goes
/// first. Thread-safe: any thread may return a block. Cost O(log sizes) a
/// call.
class HostPool {
 public:
  /// The pool of a rank. It lives until the process ends, so tensors may outlive everything else.
  static HostPool& of_rank(int rank);

  /// A device uses the pool from the first call to the second. After its last device, a pool keeps nothing for reuse.
  void begin_use();
  void end_use();

  /// Returns all memory that any pool keeps to the system.
  static void trim_all();

  /// `bytes` of memory, 64-byte aligned (2 MiB aligned when large), or null when there is none. All pages of a large
  /// block are mapped, so the first epoch pays for the first touch even if it touches only a part.
  std::byte* allocate(std::size_t bytes);

  /// Returns a block to its pool; callable until the process ends.
  static void release(std::byte* memory);

  /// Returns the memory kept for reuse to the system.
  void trim();

  /// Bytes currently kept for reuse.
  std::size_t cached_bytes();

  /// Number of large blocks that came fresh from the system since the process began, in all pools.
  static std::uint64_t fresh_blocks();

 private:
  struct FreeList {
    std::vector<std::byte*> blocks;
    std::uint64_t last_used = 0;
  };

  void take_back(std::byte* raw, std::size_t block);
  void drop_surplus();
  void drop_oldest();

  std::mutex mutex_;
  std::map<std::size_t, FreeList> free_;
  std::size_t live_ = 0, peak_ = 0, cached_ = 0;
  std::uint64_t clock_ = 0;
  int users_ = 0;  // devices
};

}  // namespace strobe
