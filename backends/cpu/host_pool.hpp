// Host memory for tensors. Large blocks are kept after use and handed out again: a fresh block of the operating system
// costs a page fault per page on first touch, which would take longer than the narrow kernels that fill it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace strobe {

/// The memory of one rank: a rank asks for the same sizes in the same order in every epoch, so whatever its first epoch
/// took serves all later ones. Were it shared, what is free would hang on how far the other ranks are, and epochs would
/// go on faulting memory in. A free list per block size; blocks below 256 KiB go to malloc. Memory in use and memory
/// kept never exceed together twice the most that was in use at once since the last trim: what each size needs at most
/// adds up to more than the peak, because sizes peak at different times. Past that the least recently freed size goes
/// first. Thread-safe: a block may be given back by any thread. Cost O(log sizes) a call.
class HostPool {
 public:
  /// The pool of a rank. It lives until the process ends, so tensors may outlive everything else.
  static HostPool& of_rank(int rank);

  /// Gives all memory that any pool keeps back to the system.
  static void trim_all();

  /// `bytes` of memory, 64-byte aligned (2 MiB aligned when large), or null when there is none. All pages of a large
  /// block are there, so the cost of the first touch falls into the first epoch even where that touches only a part.
  std::byte* allocate(std::size_t bytes);

  /// Takes a block of any pool back; callable until the process ends.
  static void release(std::byte* memory);

  /// Gives the memory that is kept for reuse back to the system.
  void trim();

  /// Bytes kept for reuse just now.
  std::size_t cached_bytes();

  /// How many large blocks came fresh from the system since the process began, in all pools.
  static std::uint64_t fresh_blocks();

 private:
  struct FreeList {
    std::vector<std::byte*> blocks;
    std::uint64_t last_used = 0;
  };

  void take_back(std::byte* raw, std::size_t block);
  void drop_oldest();

  std::mutex mutex_;
  std::map<std::size_t, FreeList> free_;
  std::size_t live_ = 0, peak_ = 0, cached_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace strobe
