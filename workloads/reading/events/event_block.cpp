// Packs rows: 4-byte ids when all of a block fit, 4-byte distances when all times are whole and within 2^32 - 1.
// Both are exact. Cost: O(rows).
#include "workloads/reading/events/event_block.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strobe {
namespace {

constexpr double largest_whole = 4503599627370496.0;  // 2^52: sums of a base and a distance stay exact below
constexpr double largest_distance = std::numeric_limits<std::uint32_t>::max();

void measure(std::span<const std::int64_t> source, std::span<const std::int64_t> target, std::span<const double> time,
             EventBlock& block) {
  bool whole = true;
  block.first_time = block.least_time = block.most_time = time.front();
  block.last_time = time.back();
  double before = time.front();
  for (const double t : time) {
    block.sorted &= before <= t;
    before = t;
    block.least_time = std::min(block.least_time, t);
    block.most_time = std::max(block.most_time, t);
    whole &= t == std::floor(t);
  }
  block.whole_times = whole && fits_compact_times(block.least_time, block.most_time);
  for (std::size_t i = 0; i < source.size(); ++i) {
    block.largest_id = std::max({block.largest_id, source[i], target[i]});
    block.self_loops += source[i] == target[i];
  }
  block.wide_ids = block.largest_id > std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

bool fits_compact_times(double least, double most) {
  return std::abs(least) < largest_whole && std::abs(most) < largest_whole && most - least <= largest_distance;
}

EventBlock make_block(std::span<const std::int64_t> source, std::span<const std::int64_t> target,
                      std::span<const double> time) {
  EventBlock block;
  block.rows = source.size();
  if (block.rows == 0) return block;
  measure(source, target, time, block);
  const std::size_t id_bytes = block.wide_ids ? sizeof(std::int64_t) : sizeof(std::uint32_t);
  const std::size_t time_bytes = block.whole_times ? sizeof(std::uint32_t) : sizeof(double);
  block.memory = Pages(block.rows * (2 * id_bytes + time_bytes));
  if (block.wide_ids) {
    std::copy(source.begin(), source.end(), block.ids<std::int64_t>(0).begin());
    std::copy(target.begin(), target.end(), block.ids<std::int64_t>(1).begin());
  } else {
    const auto narrow = [](std::int64_t id) { return static_cast<std::uint32_t>(id); };
    std::transform(source.begin(), source.end(), block.ids<std::uint32_t>(0).begin(), narrow);
    std::transform(target.begin(), target.end(), block.ids<std::uint32_t>(1).begin(), narrow);
  }
  std::byte* const times = const_cast<std::byte*>(block.times());
  if (block.whole_times) {
    const auto distance = [&](double t) { return static_cast<std::uint32_t>(t - block.least_time); };
    std::transform(time.begin(), time.end(), reinterpret_cast<std::uint32_t*>(times), distance);
  } else {
    std::copy(time.begin(), time.end(), reinterpret_cast<double*>(times));
  }
  return block;
}

void EventBlock::renumber(std::span<const std::int64_t> sources, std::span<const std::int64_t> targets) {
  const std::span<std::uint32_t> source = ids<std::uint32_t>(0), target = ids<std::uint32_t>(1);
  largest_id = self_loops = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t from = sources[source[i]], to = targets[target[i]];
    source[i] = static_cast<std::uint32_t>(from);
    target[i] = static_cast<std::uint32_t>(to);
    largest_id = std::max({largest_id, from, to});
    self_loops += from == to;
  }
}

void EventBlock::copy_times(std::span<double> out) const {
  const auto* const distances = reinterpret_cast<const std::uint32_t*>(times());
  const auto* const doubles = reinterpret_cast<const double*>(times());
  for (std::size_t i = 0; i < rows; ++i)
    out[i] = whole_times ? least_time + static_cast<double>(distances[i]) : doubles[i];
}

void EventBlock::copy_distances(double base, std::span<std::uint32_t> out) const {
  const auto* const distances = reinterpret_cast<const std::uint32_t*>(times());
  const auto shift = static_cast<std::uint32_t>(least_time - base);
  for (std::size_t i = 0; i < rows; ++i) out[i] = distances[i] + shift;
}

}  // namespace strobe
