// One reserved range of addresses. Free room is kept as ranges by address, taken first fit and joined again; the part
// that was ever used is opened and closed as a whole, one system call each. Every allocation begins at CUDA's
// alignment.
#include "backends/cuda/emulated/device_memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "core/errors.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define STROBE_ORDINARY_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STROBE_ORDINARY_MEMORY 1
#endif
#endif

namespace strobe::cuda::emulated {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t reserved = std::size_t{4} << 30;

struct Memory {
  std::mutex mutex;
  std::map<std::byte*, std::size_t> used, free;
  std::byte* begin = nullptr;
  std::size_t touched = 0;  // bytes from `begin` that were ever given away
  int accesses = 0;
};

/// Opening and closing costs microseconds per MiB that was ever used, so tests of single operations go without.
bool guarded() {
  static const bool wanted = std::getenv("STROBE_GUARD_EMULATED_MEMORY") != nullptr;
  return wanted;
}

void protect(Memory& memory, int protection) {
  if (memory.touched == 0 || !guarded()) return;
  if (mprotect(memory.begin, memory.touched, protection) == 0) return;
  throw SystemError(std::string("protection of emulated device memory: ") + std::strerror(errno));
}

Memory& memory() {
  static Memory& one = *[] {
    auto* made = new Memory;
#ifndef STROBE_ORDINARY_MEMORY
    const int protection = guarded() ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* range = mmap(nullptr, reserved, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw SystemError(std::string("emulated device memory: ") + std::strerror(errno));
    made->begin = static_cast<std::byte*>(range);
    made->free[made->begin] = reserved;
#endif
    return made;
  }();
  return one;
}

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// First free range of `bytes`, cut off its rest; null when there is none.
[[maybe_unused]] std::byte* take(Memory& all, std::size_t bytes) {
  for (auto range = all.free.begin(); range != all.free.end(); ++range) {
    if (range->second < bytes) continue;
    std::byte* const found = range->first;
    const std::size_t rest = range->second - bytes;
    all.free.erase(range);
    if (rest > 0) all.free[found + bytes] = rest;
    return found;
  }
  return nullptr;
}

/// Puts a range back and joins it with its neighbours.
[[maybe_unused]] void give_back(Memory& all, std::byte* first, std::size_t bytes) {
  const auto after = all.free.lower_bound(first);
  if (after != all.free.end() && first + bytes == after->first) {
    bytes += after->second;
    all.free.erase(after);
  }
  const auto next = all.free.lower_bound(first);
  if (next != all.free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first) {
      before->second += bytes;
      return;
    }
  }
  all.free[first] = bytes;
}

}  // namespace

std::byte* allocate_device(std::size_t bytes) {
  Memory& all = memory();
  const std::size_t size = rounded(bytes == 0 ? 1 : bytes);
  const DeviceAccess access;
  const std::lock_guard lock(all.mutex);
#ifdef STROBE_ORDINARY_MEMORY
  auto* const found = static_cast<std::byte*>(std::aligned_alloc(alignment, size));
#else
  std::byte* const found = take(all, size);
#endif
  if (found == nullptr) return nullptr;
#ifndef STROBE_ORDINARY_MEMORY
  const auto end = static_cast<std::size_t>(found - all.begin) + size;
  if (end > all.touched) {
    constexpr std::size_t page = 4096;
    all.touched = (end + page - 1) / page * page;
    protect(all, PROT_READ | PROT_WRITE);
  }
#endif
  all.used[found] = bytes;
  std::memset(found, 0xff, bytes);
  return found;
}

void release_device(std::byte* first) noexcept {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  const auto found = all.used.find(first);
  if (found == all.used.end()) return;
#ifdef STROBE_ORDINARY_MEMORY
  std::free(first);
#else
  give_back(all, first, rounded(found->second == 0 ? 1 : found->second));
#endif
  all.used.erase(found);
}

bool is_device(const void* address) {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  // Only addresses are compared.
  auto* const byte = static_cast<std::byte*>(const_cast<void*>(address));
  const auto above = all.used.upper_bound(byte);
  if (above == all.used.begin()) return false;
  const auto found = std::prev(above);
  return byte < found->first + found->second;
}

DeviceAccess::DeviceAccess() {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  if (all.accesses++ == 0) protect(all, PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess() {
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  if (--all.accesses == 0) protect(all, PROT_NONE);
}

}  // namespace strobe::cuda::emulated
