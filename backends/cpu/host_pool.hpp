// Host memory for tensors. Large blocks are kept after use and handed out again: a fresh block of the operating system
// costs a page fault per 4 KiB on first touch, which would take longer than the narrow kernels that fill it.
#pragma once

#include <cstddef>

namespace strobe {

/// `bytes` of memory, 64-byte aligned (2 MiB aligned when large), or null when there is none. Thread-safe.
std::byte* host_pool_allocate(std::size_t bytes);

/// Takes a block back. Thread-safe; callable until the process ends.
void host_pool_release(std::byte* memory);

/// Gives all memory that is kept for reuse back to the system.
void host_pool_trim();

/// Bytes kept for reuse just now.
std::size_t host_pool_cached_bytes();

}  // namespace strobe
