// Numbers for names by first appearance.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// Names [size()] and their numbers 0, 1, ... in the order of their arrival. At most 2^32 - 2 names. Under a bound of
/// memory, a large table lies in temporary files.
class NameTable {
 public:
  /// The number of `name`, a new one when it has none.
  std::int64_t number(std::string_view name) { return number(name, hash_of(name)); }
  /// -1 for a name that has no number.
  std::int64_t find(std::string_view name) const;
  /// The numbers here of the names of `later`, which get numbers in their order.
  std::vector<std::int64_t> add(const NameTable& later);
  std::size_t size() const { return hashes_.size(); }
  /// The name with this number; valid until the next name is added.
  std::string_view name(std::int64_t number) const { return name_at(static_cast<std::size_t>(number)); }

 private:
  /// `entry` is one more than a name's number, 0 = free. A part of the hash next to it saves most looks at other names.
  struct Slot {
    std::uint32_t entry = 0, hash = 0;
  };

  static std::uint64_t hash_of(std::string_view name);
  std::int64_t number(std::string_view name, std::uint64_t hash);
  std::string_view name_at(std::size_t number) const {
    const std::uint64_t begin = number == 0 ? 0 : ends_[number - 1];
    return {text_.data() + begin, ends_[number] - begin};
  }
  /// The slot of `name`, or the free one where it belongs.
  std::size_t slot_of(std::string_view name, std::uint64_t hash) const;
  void grow();

  static constexpr std::size_t first_slots = 64;

  GrowingColumn<char> text_;             // all names in sequence
  GrowingColumn<std::uint64_t> ends_;    // [size]
  GrowingColumn<std::uint64_t> hashes_;  // [size]
  GrowingColumn<Slot> slots_{first_slots, reading_bound()};
};

}  // namespace strobe
