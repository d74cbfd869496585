// A table that a handler may read at any moment: a slot's path is stored last and taken away first. Cost: a search over
// the slots for each mapping.
#include "workloads/storage/mapping_watch.hpp"

#include <array>
#include <atomic>

namespace strobe {
namespace {

struct WatchedMapping {
  std::atomic<bool> taken{false};
  std::atomic<const char*> path{nullptr};
  std::atomic<const char*> begin{nullptr};
  std::atomic<std::size_t> size{0};
};

std::array<WatchedMapping, 256>& watched_mappings() {
  static std::array<WatchedMapping, 256> slots;
  return slots;
}

}  // namespace

MappingWatch::MappingWatch(const std::string& path, const void* data, std::size_t size) : path_(path), slot_(0) {
  for (; slot_ < watched_mappings().size(); ++slot_) {
    WatchedMapping& slot = watched_mappings()[slot_];
    if (slot.taken.exchange(true)) continue;
    slot.begin.store(static_cast<const char*>(data));
    slot.size.store(size);
    slot.path.store(path_.c_str());
    return;
  }
}

MappingWatch::~MappingWatch() {
  if (slot_ >= watched_mappings().size()) return;
  watched_mappings()[slot_].path.store(nullptr);
  watched_mappings()[slot_].taken.store(false);
}

const char* mapped_file_at(const void* address) {
  const char* const at = static_cast<const char*>(address);
  for (const WatchedMapping& slot : watched_mappings()) {
    const char* const path = slot.path.load();
    const char* const begin = slot.begin.load();
    if (path != nullptr && at >= begin && at < begin + slot.size.load()) return path;
  }
  return nullptr;
}

}  // namespace strobe
