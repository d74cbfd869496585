// Stable parallel sort of events by time: a distribution into buckets of neighbouring times, then a sort per bucket.
// Returns columns in time order, ties in the order of the rows. While they are sorted, times take 4 bytes each when all
// are whole numbers within 2^32 - 1 of the first, else 8; then they are packed (packed_times.cpp).
// Invariants: bounds of buckets are times that occur (or their successors), so equal times share one bucket; threads
// write a bucket in the order of the rows. A time that fills a bucket gets one for itself and needs no sort.
// Cost: O(E log B) + O(E log(E / B)) with B <= 2048 buckets, each event moved twice; rows in order are only copied.
#include "workloads/reading/events/time_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "workloads/storage/ordered_bits.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

constexpr std::size_t bucket_rows = std::size_t{1} << 16, most_buckets = 2048, samples_per_bucket = 32;

/// One column of the result: `width` bytes an event.
struct SortedColumn {
  Pages memory;
  std::size_t width = 0;
};

/// The columns of a block in the same order, as bytes.
struct BlockColumns {
  std::vector<const std::byte*> columns;
  std::vector<std::byte> times;  // in the result's form
  std::vector<double> exact;     // weights, of a block without exact ones
};

/// Sorts by `time_of(key)`, whole numbers below 2^bits, and keeps the order of equal ones: counting sorts by 11 bits,
/// the lowest first.
template <class Key, class TimeOf>
void radix_sort(std::vector<Key>& keys, unsigned bits, const TimeOf& time_of) {
  constexpr unsigned digit_bits = 11;
  std::vector<Key> next(keys.size());
  for (unsigned shift = 0; shift < bits; shift += digit_bits) {
    const auto digit = [&](const Key& key) { return time_of(key) >> shift & ((1u << digit_bits) - 1); };
    std::array<std::uint32_t, (1u << digit_bits) + 1> at{};
    for (const Key& key : keys) ++at[digit(key) + 1];
    for (std::size_t d = 1; d < at.size(); ++d) at[d] += at[d - 1];
    for (const Key& key : keys) next[at[digit(key)]++] = key;
    keys.swap(next);
  }
}

/// The stable order of times that are distances from a base.
std::vector<std::uint32_t> stable_order(std::span<const std::uint32_t> times) {
  constexpr unsigned position_bits = 32;
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  std::vector<std::uint64_t> keys(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) keys[i] = std::uint64_t{times[i] - *least} << position_bits | i;
  radix_sort(keys, static_cast<unsigned>(std::bit_width(*most - *least)),
             [](std::uint64_t key) { return key >> position_bits; });
  std::vector<std::uint32_t> order(times.size());
  std::transform(keys.begin(), keys.end(), order.begin(), [](auto key) { return static_cast<std::uint32_t>(key); });
  return order;
}

/// The stable order of doubles; zeros of both signs are one time.
std::vector<std::uint32_t> stable_order(std::span<const double> times) {
  struct Key {
    std::uint64_t time;
    std::uint32_t position;
  };
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  const std::uint64_t first = ordered_bits(*least + 0.0);
  std::vector<Key> keys(times.size());
  for (std::uint32_t i = 0; i < times.size(); ++i) keys[i] = {ordered_bits(times[i] + 0.0) - first, i};
  radix_sort(keys, static_cast<unsigned>(std::bit_width(ordered_bits(*most + 0.0) - first)),
             [](const Key& key) { return key.time; });
  std::vector<std::uint32_t> order(times.size());
  std::transform(keys.begin(), keys.end(), order.begin(), [](const Key& key) { return key.position; });
  return order;
}

class TimeOrder {
 public:
  explicit TimeOrder(std::vector<EventBlock>& blocks) : blocks_(blocks) {
    bool whole = true;
    double least = blocks.front().least_time, most = blocks.front().most_time;
    for (const EventBlock& block : blocks) {
      whole &= block.whole_times;
      least = std::min(least, block.least_time);
      most = std::max(most, block.most_time);
      first_.push_back(rows_);
      rows_ += block.rows;
    }
    compact_ = whole && fits_compact_times(least, most);
    base_ = least;
    const EventBlock& any = blocks.front();
    exact_ = std::any_of(blocks.begin(), blocks.end(), [](const EventBlock& b) { return !b.exact_weight.empty(); });
    for (const std::size_t width :
         {compact_ ? sizeof(std::uint32_t) : sizeof(double), sizeof(VertexId), sizeof(VertexId),
          any.weight.empty() ? 0 : sizeof(float), any.label.empty() ? 0 : sizeof(std::int8_t),
          any.feature.size() / any.rows * sizeof(float), exact_ ? sizeof(double) : 0}) {
      columns_.push_back({Pages(rows_ * width), width});
    }
  }

  bool in_order() const {
    bool sorted = blocks_.front().sorted;
    for (std::size_t b = 1; b < blocks_.size(); ++b)
      sorted &= blocks_[b].sorted && blocks_[b - 1].last_time <= blocks_[b].first_time;
    return sorted;
  }

  void copy() {
    for_each_block([&](std::size_t b) {
      const BlockColumns from = columns_of(blocks_[b]);
      for (std::size_t l = 0; l < columns_.size(); ++l) {
        const std::size_t width = columns_[l].width;
        if (width > 0)
          std::memcpy(columns_[l].memory.data() + first_[b] * width, from.columns[l], blocks_[b].rows * width);
      }
      blocks_[b] = EventBlock();
    });
  }

  void sort() {
    choose_bounds();
    buckets_.resize(blocks_.size());
    for_each_block([&](std::size_t b) { find_buckets(b); });
    place_blocks();
    // A thread's blocks follow each other, so that its writes to a bucket do.
    const auto parts = std::min<std::int64_t>(workload_threads(), static_cast<std::int64_t>(blocks_.size()));
    parallel_tasks(parts, [&](std::int64_t part) {
      const Run run = even_share(static_cast<std::int64_t>(blocks_.size()), parts, part);
      std::vector<std::size_t> at = starts_[run.first];
      for (std::size_t b = run.first; b < static_cast<std::size_t>(run.first + run.count); ++b) distribute(b, at);
    });
    parallel_tasks(static_cast<std::int64_t>(bounds_.size()) + 1, [&](std::int64_t bucket) {
      const std::size_t k = bucket;
      sort_bucket(bucket_begin_[k], bucket_begin_[k + 1]);
    });
  }

  void finish(EventGraph& graph) {
    graph.time = take_times();
    graph.source = make_column<VertexId>(std::move(columns_[1].memory), rows_);
    graph.target = make_column<VertexId>(std::move(columns_[2].memory), rows_);
    graph.weight = make_column<float>(std::move(columns_[3].memory), columns_[3].width > 0 ? rows_ : 0);
    graph.event_label = make_column<std::int8_t>(std::move(columns_[4].memory), columns_[4].width > 0 ? rows_ : 0);
    const std::size_t features = columns_[5].width / sizeof(float);
    graph.edge_feature_width = static_cast<std::int64_t>(features);
    graph.edge_features = make_column<float>(std::move(columns_[5].memory), features * rows_);
    if (!exact_) return;
    const auto* const weights = reinterpret_cast<const double*>(columns_[6].memory.data());
    graph.exact_weight = std::vector<double>(weights, weights + rows_);
  }

 private:
  /// The sorted times from the column, packed when that is smaller.
  TimeColumn take_times() {
    const auto* const distances = reinterpret_cast<const std::uint32_t*>(columns_[0].memory.data());
    const auto* const doubles = reinterpret_cast<const double*>(columns_[0].memory.data());
    const auto copy_to = [&](std::size_t first, std::span<double> out) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = compact_ ? base_ + static_cast<double>(distances[first + i]) : doubles[first + i];
    };
    PackedTimes packed = PackedTimes::pack(rows_, copy_to);
    if (!packed.empty()) return TimeColumn(std::move(packed));
    if (!compact_) return TimeColumn(make_column<double>(std::move(columns_[0].memory), rows_));
    std::vector<double> times(rows_);
    copy_to(0, times);
    return TimeColumn(std::move(times));
  }

  void for_each_block(const std::function<void(std::size_t)>& visit) {
    parallel_tasks(static_cast<std::int64_t>(blocks_.size()),
                   [&](std::int64_t b) { visit(static_cast<std::size_t>(b)); });
  }

  BlockColumns columns_of(const EventBlock& block) const {
    BlockColumns from;
    from.times.resize(block.rows * columns_[0].width);
    if (compact_)
      block.copy_distances(base_, {reinterpret_cast<std::uint32_t*>(from.times.data()), block.rows});
    else
      block.copy_times({reinterpret_cast<double*>(from.times.data()), block.rows});
    const auto bytes = [](const auto* values) { return reinterpret_cast<const std::byte*>(values); };
    from.columns = {from.times.data(),
                    bytes(block.ids<std::uint32_t>(0).data()),
                    bytes(block.ids<std::uint32_t>(1).data()),
                    bytes(block.weight.data()),
                    bytes(block.label.data()),
                    bytes(block.feature.data()),
                    bytes(block.exact_weight.data())};
    if (!exact_ || !block.exact_weight.empty()) return from;
    from.exact.assign(block.weight.begin(), block.weight.end());
    from.columns.back() = bytes(from.exact.data());
    return from;
  }

  /// Upper bounds of all buckets but the last, from times at regular distances.
  void choose_bounds() {
    const std::size_t buckets = std::clamp<std::size_t>(rows_ / bucket_rows, 1, most_buckets);
    const std::size_t stride = std::max<std::size_t>(1, rows_ / (buckets * samples_per_bucket));
    std::vector<double> samples, times;
    for (const EventBlock& block : blocks_) {
      times.resize(block.rows);
      block.copy_times(times);
      for (std::size_t i = stride / 2; i < block.rows; i += stride) samples.push_back(times[i]);
    }
    std::sort(samples.begin(), samples.end());
    const auto add = [&](double bound) {
      if (bounds_.empty() || bounds_.back() < bound) bounds_.push_back(bound);
    };
    for (std::size_t k = 1; k < buckets && !samples.empty(); ++k) {
      const std::size_t at = k * samples.size() / buckets;
      add(samples[at]);
      const bool heavy = at + samples_per_bucket < samples.size() && samples[at + samples_per_bucket] == samples[at];
      if (heavy) add(std::nextafter(samples[at], std::numeric_limits<double>::infinity()));
    }
  }

  /// bounds_[k - 1] <= time < bounds_[k] is bucket k; without branches, as times are not predictable.
  std::uint16_t bucket_of(double time) const {
    std::size_t low = 0;
    for (std::size_t step = std::bit_ceil(bounds_.size() + 1) / 2; step > 0; step /= 2) {
      const std::size_t at = low + step;
      low = at <= bounds_.size() && bounds_[at - 1] <= time ? at : low;
    }
    return static_cast<std::uint16_t>(low);
  }

  void find_buckets(std::size_t b) {
    std::vector<double> times(blocks_[b].rows);
    blocks_[b].copy_times(times);
    buckets_[b].resize(times.size());
    std::transform(times.begin(), times.end(), buckets_[b].begin(), [&](double t) { return bucket_of(t); });
  }

  /// Where each block begins to write in each bucket.
  void place_blocks() {
    std::vector<std::size_t> counts(bounds_.size() + 1, 0);
    starts_.assign(blocks_.size(), {});
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      starts_[b] = counts;
      for (const std::uint16_t bucket : buckets_[b]) ++counts[bucket];
    }
    bucket_begin_.assign(1, 0);
    for (const std::size_t count : counts) bucket_begin_.push_back(bucket_begin_.back() + count);
    for (std::vector<std::size_t>& start : starts_) {
      for (std::size_t k = 0; k < start.size(); ++k) start[k] += bucket_begin_[k];
    }
  }

  void distribute(std::size_t b, std::vector<std::size_t>& at) {
    const BlockColumns from = columns_of(blocks_[b]);
    std::vector<std::size_t> to(blocks_[b].rows);
    std::transform(buckets_[b].begin(), buckets_[b].end(), to.begin(), [&](std::uint16_t k) { return at[k]++; });
    for (std::size_t l = 0; l < columns_.size(); ++l) {
      const std::size_t width = columns_[l].width;
      std::byte* const out = columns_[l].memory.data();
      const std::byte* const in = from.columns[l];
      if (width == sizeof(std::uint32_t)) {
        for (std::size_t i = 0; i < to.size(); ++i) std::memcpy(out + 4 * to[i], in + 4 * i, 4);
      } else if (width > 0) {
        for (std::size_t i = 0; i < to.size(); ++i) std::memcpy(out + width * to[i], in + width * i, width);
      }
    }
    buckets_[b] = std::vector<std::uint16_t>();  // `= {}` would keep the memory
    blocks_[b] = EventBlock();
  }

  void sort_bucket(std::size_t begin, std::size_t end) {
    const std::vector<std::uint32_t> order =
        compact_ ? order_of<std::uint32_t>(begin, end) : order_of<double>(begin, end);
    if (order.empty()) return;
    std::vector<std::byte> sorted;
    for (SortedColumn& column : columns_) {
      if (column.width == 0) continue;
      sorted.resize(order.size() * column.width);
      std::byte* const values = column.memory.data() + begin * column.width;
      if (column.width == sizeof(std::uint32_t)) {
        for (std::size_t i = 0; i < order.size(); ++i) std::memcpy(sorted.data() + 4 * i, values + 4 * order[i], 4);
      } else {
        for (std::size_t i = 0; i < order.size(); ++i)
          std::memcpy(sorted.data() + i * column.width, values + order[i] * column.width, column.width);
      }
      std::memcpy(values, sorted.data(), sorted.size());
    }
  }

  /// The stable order of a bucket's events, or nothing when they are in order. A bucket holds fewer than 2^32 events
  /// unless its time is one.
  template <class Time>
  std::vector<std::uint32_t> order_of(std::size_t begin, std::size_t end) const {
    const std::span<const Time> times(reinterpret_cast<const Time*>(columns_[0].memory.data()) + begin, end - begin);
    if (std::is_sorted(times.begin(), times.end())) return {};
    return stable_order(times);
  }

  std::vector<EventBlock>& blocks_;
  std::size_t rows_ = 0;
  bool compact_ = false;
  bool exact_ = false;  // some block has weights that fp32 rounds
  double base_ = 0;
  std::vector<SortedColumn> columns_;  // times, sources, targets, weights, labels, features, exact weights
  std::vector<std::size_t> first_;     // [blocks] rows before each
  std::vector<double> bounds_;         // [buckets - 1]
  std::vector<std::size_t> bucket_begin_;
  std::vector<std::vector<std::uint16_t>> buckets_;  // of each row of each block
  std::vector<std::vector<std::size_t>> starts_;     // [blocks][buckets]
};

}  // namespace

void move_in_time_order(std::vector<EventBlock>& blocks, EventGraph& graph) {
  TimeOrder order(blocks);
  graph.provenance.was_sorted = order.in_order();
  if (graph.provenance.was_sorted)
    order.copy();
  else
    order.sort();
  order.finish(graph);
  blocks.clear();
}

}  // namespace strobe
