#include "core/system/process_memory.hpp"

#include <malloc.h>

#include <fstream>
#include <string>
#include <vector>

namespace strobe {
namespace {

std::atomic<std::uint64_t> most_seen{0};
std::atomic<bool> spares{false};

}  // namespace

std::uint64_t process_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "RssAnon:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

void look_at_process_memory() {
  const std::uint64_t now = process_memory_bytes();
  std::uint64_t before = most_seen;
  while (now > before && !most_seen.compare_exchange_weak(before, now)) continue;
}

std::uint64_t most_process_memory() { return most_seen; }

void forget_process_memory() { most_seen = 0; }

void spare_process_memory(bool on) {
  if (spares.exchange(on) != on) {
    // malloc maps larger arrays one by one. When off, these are the bounds that malloc itself reaches in time.
    mallopt(M_MMAP_THRESHOLD, on ? 32 << 10 : 32 << 20);
    mallopt(M_TRIM_THRESHOLD, on ? 128 << 10 : 64 << 20);
    // Else what a thread has freed stays resident in an arena of its own. glibc keeps the first maximum that it needed,
    // so after a case with a limit, later cases of this process may have one arena too.
    mallopt(M_ARENA_MAX, on ? 1 : 0);
  }
  if (on) malloc_trim(0);  // each time: what planning freed amid its heap would stay resident while the case trains
}

bool spares_process_memory() { return spares; }

void spare_heap() {
  constexpr unsigned calls_between = 16;
  static std::atomic<unsigned> calls{0};
  if (spares && ++calls % calls_between == 0) malloc_trim(0);
}

std::atomic<std::int64_t>& kept_for_reuse() {
  static std::atomic<std::int64_t> bytes{0};
  return bytes;
}

namespace {

std::vector<void (*)()>& allocators() {
  static std::vector<void (*)()> all;
  return all;
}

}  // namespace

void give_back_kept() {
  if (!spares) return;
  for (const auto give_back : allocators()) give_back();
}

void give_back_kept_by(void (*give_back)()) { allocators().push_back(give_back); }

}  // namespace strobe
