// Open addressing over the names' hashes; the names lie in one text. At most half of the slots are taken. Cost of a
// name: one place in the slots and, when it is known, one in the text. Names of another table bring their hashes and
// are fetched ahead, so that their places are in the cache when they are needed.
#include "workloads/reading/ids/name_table.hpp"

#include <functional>

namespace strobe {

std::uint64_t NameTable::hash_of(std::string_view name) { return std::hash<std::string_view>()(name); }

std::size_t NameTable::slot_of(std::string_view name, std::uint64_t hash) const {
  const auto part = static_cast<std::uint32_t>(hash >> 32);
  std::size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot].entry != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].hash == part && name_at(slots_[slot].entry - 1) == name) break;
  }
  return slot;
}

std::int64_t NameTable::find(std::string_view name) const {
  return static_cast<std::int64_t>(slots_[slot_of(name, hash_of(name))].entry) - 1;
}

std::int64_t NameTable::number(std::string_view name, std::uint64_t hash) {
  if (2 * (size() + 1) > slots_.size()) grow();
  Slot& slot = slots_[slot_of(name, hash)];
  if (slot.entry == 0) {
    text_.append(name.data(), name.size());
    ends_.push_back(text_.size());
    hashes_.push_back(hash);
    slot = {static_cast<std::uint32_t>(size()), static_cast<std::uint32_t>(hash >> 32)};
  }
  return static_cast<std::int64_t>(slot.entry) - 1;
}

std::vector<std::int64_t> NameTable::add(const NameTable& later) {
  constexpr std::size_t ahead = 16;
  std::vector<std::int64_t> numbers(later.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i + ahead < numbers.size()) __builtin_prefetch(&slots_[later.hashes_[i + ahead] & (slots_.size() - 1)]);
    if (i + ahead / 2 < numbers.size()) {
      const Slot& slot = slots_[later.hashes_[i + ahead / 2] & (slots_.size() - 1)];
      if (slot.entry > 1) __builtin_prefetch(&ends_[slot.entry - 2]);
    }
    if (i + ahead / 4 < numbers.size()) {
      const Slot& slot = slots_[later.hashes_[i + ahead / 4] & (slots_.size() - 1)];
      if (slot.entry > 1) __builtin_prefetch(text_.data() + ends_[slot.entry - 2]);
    }
    numbers[i] = number(later.name_at(i), later.hashes_[i]);
  }
  return numbers;
}

void NameTable::grow() {
  GrowingColumn<Slot> slots(2 * slots_.size(), slots_.bound());
  for (std::size_t i = 0; i < hashes_.size(); ++i) {
    std::size_t slot = hashes_[i] & (slots.size() - 1);
    while (slots[slot].entry != 0) slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = {static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(hashes_[i] >> 32)};
  }
  slots_ = std::move(slots);
}

}  // namespace strobe
