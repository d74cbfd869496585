// Times in ascending order in a few bits each, every one exactly as it was.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "workloads/storage/column.hpp"

namespace strobe {

/// Gives the times [first, first + out.size()) of a sequence; called from several threads.
using ReadTimes = std::function<void(std::size_t first, std::span<double> out)>;

/// Non-decreasing times [size()], packed in blocks; packed_times.cpp describes the form. Copies share their memory.
class PackedTimes {
 public:
  static constexpr std::size_t block_times = 256;

  PackedTimes() = default;
  /// The parts that `bases`, `places` and `words` of another object returned; `sound` checks whether they fit together.
  PackedTimes(std::size_t size, Column<std::int64_t> bases, Column<std::uint64_t> places, Column<std::uint64_t> words)
      : size_(size), bases_(std::move(bases)), places_(std::move(places)), words_(std::move(words)) {}
  /// Packs `size` times; empty when one is below the one before it, or when they would not take less than 8 bytes each.
  /// Cost: O(size) on all threads.
  static PackedTimes pack(std::size_t size, const ReadTimes& times);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Time i; O(1).
  double operator[](std::size_t i) const;
  /// Asks for the memory of time i, which is read soon.
  void bring_in(std::size_t i) const;
  /// The times [first, first + out.size()); faster than reading them one by one.
  void copy(std::size_t first, std::span<double> out) const;
  /// Memory in bytes.
  std::size_t bytes() const { return sizeof(std::uint64_t) * (bases_.size() + places_.size() + words_.size()); }
  std::size_t own_bytes() const { return bases_.own_bytes() + places_.own_bytes() + words_.own_bytes(); }
  /// Whether every block lies inside the words and holds the right number of times, so that all can be read. O(size).
  bool sound() const;

  const Column<std::int64_t>& bases() const { return bases_; }     // [blocks]
  const Column<std::uint64_t>& places() const { return places_; }  // [blocks]
  const Column<std::uint64_t>& words() const { return words_; }

  static std::size_t blocks_of(std::size_t size) { return (size + block_times - 1) / block_times; }

 private:
  std::size_t times_in(std::size_t block) const { return std::min(block_times, size_ - block * block_times); }
  bool sound_block(std::size_t block) const;
  void copy_block(std::size_t block, std::span<double> out) const;

  std::size_t size_ = 0;
  Column<std::int64_t> bases_;
  Column<std::uint64_t> places_, words_;
};

}  // namespace strobe
