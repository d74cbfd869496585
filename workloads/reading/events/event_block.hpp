// Rows of a file between parsing and the finished graph, in as few bytes as their values need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/storage/pages.hpp"

namespace strobe {

/// Consecutive rows of a file: 12 bytes a row when ids fit 32 bits and times are whole numbers close to each other, up
/// to 24 otherwise.
struct EventBlock {
  std::size_t rows = 0;
  bool wide_ids = false;     // ids take 8 bytes, else 4
  bool whole_times = false;  // times are 4-byte distances from `least_time`, else doubles
  bool sorted = true;        // times do not decrease within the block
  std::int64_t largest_id = 0, self_loops = 0;
  double first_time = 0, last_time = 0, least_time = 0, most_time = 0;
  Pages memory;  // sources | targets | times
  std::vector<float> weight, feature;
  std::vector<double> exact_weight;  // or empty: fp32 holds every weight
  std::vector<std::int8_t> label;

  /// The ids of one side (0 = sources, 1 = targets) as they are stored.
  template <class Id>
  std::span<Id> ids(int side) const {
    return {reinterpret_cast<Id*>(memory.data()) + static_cast<std::size_t>(side) * rows, rows};
  }
  /// Calls visit(id) with every id of one side.
  template <class Visit>
  void for_each_id(int side, Visit&& visit) const {
    if (wide_ids) {
      for (const std::int64_t id : ids<std::int64_t>(side)) visit(id);
    } else {
      for (const std::uint32_t id : ids<std::uint32_t>(side)) visit(static_cast<std::int64_t>(id));
    }
  }
  const std::byte* times() const {
    return memory.data() + 2 * rows * (wide_ids ? sizeof(std::int64_t) : sizeof(std::uint32_t));
  }
  /// Replaces ids that fit 4 bytes by the tables' entries, which do, too.
  void renumber(std::span<const std::int64_t> sources, std::span<const std::int64_t> targets);
  /// The times as doubles.
  void copy_times(std::span<double> out) const;
  /// The times as distances from `base` <= least_time, when all blocks have whole times in one range.
  void copy_distances(double base, std::span<std::uint32_t> out) const;
};

/// Packs equally many sources, targets and times.
EventBlock make_block(std::span<const std::int64_t> source, std::span<const std::int64_t> target,
                      std::span<const double> time);

/// Whole numbers `distance` above a whole `base` fit the compact form of times.
bool fits_compact_times(double least, double most);

}  // namespace strobe
