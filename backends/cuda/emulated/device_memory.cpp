// One reserved range of addresses. Free room is kept as ranges by address, taken first fit and joined again. The range
// is opened and closed as a whole: by a memory protection key where processor and system have them (Linux manual,
// pkeys(7)), which costs a thread one write to a register of its own; else by changing the pages that were ever used,
// one system call each, for all threads: pages of 2 MiB where the system gives them, because the call walks page by
// page and takes a hundred times as long over small ones. Every allocation begins at CUDA's alignment.
#include "backends/cuda/emulated/device_memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
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
constexpr std::size_t huge_page = std::size_t{2} << 20;  // x86-64's; elsewhere a larger step, no more

struct Memory {
  std::mutex mutex;
  std::map<std::byte*, std::size_t> used, free;
  std::byte* begin = nullptr;
  std::size_t touched = 0;  // bytes from `begin` that were ever given away
  int key = -1;             // that guards the range, or none
  bool by_pages = false;    // whether its pages are opened and closed
  int accesses = 0;         // then
};

thread_local int accesses_of_thread = 0;  // with a key

void protect(Memory& memory, int protection) {
  if (memory.touched == 0 || !memory.by_pages) return;
  if (mprotect(memory.begin, memory.touched, protection) == 0) return;
  throw SystemError(std::string("protection of emulated device memory: ") + std::strerror(errno));
}

/// A key for the range that no thread may use yet, or -1. Threads that there are already may use none but key 0.
[[maybe_unused]] int take_key([[maybe_unused]] std::byte* begin) {
#ifdef PKEY_DISABLE_ACCESS
  const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  if (key < 0) return -1;
  if (pkey_mprotect(begin, reserved, PROT_READ | PROT_WRITE, key) == 0) return key;
  pkey_free(key);
#endif
  return -1;
}

/// Whether the calling thread may use the key.
void set_key(int key, bool open) {
#ifdef PKEY_DISABLE_ACCESS
  if (pkey_set(key, open ? 0 : PKEY_DISABLE_ACCESS) != 0)
    throw SystemError(std::string("protection key of emulated device memory: ") + std::strerror(errno));
#else
  static_cast<void>(key), static_cast<void>(open);
#endif
}

/// Room for the range, on a boundary of huge pages and made of them where the system has any.
[[maybe_unused]] std::byte* reserve_range() {
  void* range =
      mmap(nullptr, reserved + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw SystemError(std::string("emulated device memory: ") + std::strerror(errno));
  const auto beyond = reinterpret_cast<std::uintptr_t>(range) % huge_page;
  std::byte* const begin = static_cast<std::byte*>(range) + (beyond == 0 ? 0 : huge_page - beyond);
#ifdef MADV_HUGEPAGE
  madvise(begin, reserved, MADV_HUGEPAGE);  // small pages are as right, only slower
#endif
  return begin;
}

/// Closes the range: by a key where there are keys, unless `wanted` is "by-pages"; else by pages, unless it is
/// "with-keys": opening and closing them costs microseconds per MiB that was ever used. Null closes nothing.
[[maybe_unused]] void guard(Memory& all, const char* wanted) {
  if (wanted == nullptr) return;
  if (std::strcmp(wanted, "by-pages") != 0) all.key = take_key(all.begin);
  all.by_pages = all.key < 0 && std::strcmp(wanted, "with-keys") != 0;
  if (all.by_pages && mprotect(all.begin, reserved, PROT_NONE) != 0)
    throw SystemError(std::string("protection of emulated device memory: ") + std::strerror(errno));
}

Memory& memory() {
  static Memory& one = *[] {
    auto* made = new Memory;
#ifndef STROBE_ORDINARY_MEMORY
    made->begin = reserve_range();
    made->free[made->begin] = reserved;
    guard(*made, std::getenv("STROBE_GUARD_EMULATED_MEMORY"));
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
[[maybe_unused]] void return_gradient(Memory& all, std::byte* first, std::size_t bytes) {
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
    all.touched = (end + huge_page - 1) / huge_page * huge_page;  // a part of a huge page would split it
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
  return_gradient(all, first, rounded(found->second == 0 ? 1 : found->second));
#endif
  all.used.erase(found);
}

bool is_ordinary_memory() {
#ifdef STROBE_ORDINARY_MEMORY
  return true;
#else
  return false;
#endif
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
  if (all.key >= 0) {
    if (accesses_of_thread++ == 0) set_key(all.key, true);
    return;
  }
  if (!all.by_pages) return;
  const std::lock_guard lock(all.mutex);
  if (all.accesses++ == 0) protect(all, PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess() {
  Memory& all = memory();
  if (all.key >= 0) {
    if (--accesses_of_thread == 0) set_key(all.key, false);
    return;
  }
  if (!all.by_pages) return;
  const std::lock_guard lock(all.mutex);
  if (--all.accesses == 0) protect(all, PROT_NONE);
}

}  // namespace strobe::cuda::emulated
