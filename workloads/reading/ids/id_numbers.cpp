// Dense numbers for vertex ids: the rank in a set of bits when ids are compact, a hash table when they are sparse.
// Returns ids in ascending order; a vertex's number is the position of its id.
// Cost: O(E) on all threads, 1.5 bits an id below the largest (at most 3 bytes a row), for compact ids; O(E) expected
// on one thread and on all for the second pass, at most 48 bytes a vertex, for sparse ones.
#include "workloads/reading/ids/id_numbers.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "core/errors.hpp"
#include "core/ids.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

constexpr std::size_t most_ids = std::numeric_limits<VertexId>::max();

void refuse_too_many(std::size_t distinct, const std::string& path) {
  if (distinct > most_ids) throw InvalidInput(path, 0, 0, "the file has more than 2^31 - 1 distinct vertex ids");
}

/// Ones in a word, without a call where the machine's instruction may not be used.
std::uint32_t count_ones(std::uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  return static_cast<std::uint32_t>(((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}

/// A set of small whole numbers that knows how many members lie below each.
class RankedBits {
 public:
  explicit RankedBits(std::int64_t largest) : words_(static_cast<std::size_t>(largest) / 64 + 1) {}

  /// Safe on several threads at once.
  void insert(std::int64_t id) {
    const std::uint64_t bit = std::uint64_t{1} << (id % 64);
    std::atomic_ref<std::uint64_t> word(words_[static_cast<std::size_t>(id) / 64]);
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }

  /// Counts; call once after the last insertion. Returns the members in ascending order.
  std::vector<std::int64_t> finish(const std::string& path) {
    std::vector<std::int64_t> members;
    below_.reserve(words_.size());
    for (std::size_t w = 0; w < words_.size(); ++w) {
      refuse_too_many(members.size(), path);
      below_.push_back(static_cast<std::uint32_t>(members.size()));
      for (std::uint64_t word = words_[w]; word != 0; word &= word - 1)
        members.push_back(static_cast<std::int64_t>(64 * w) + std::countr_zero(word));
    }
    refuse_too_many(members.size(), path);
    return members;
  }

  std::uint32_t number(std::int64_t id) const {
    const std::size_t w = static_cast<std::size_t>(id) / 64;
    const std::uint64_t lower = (std::uint64_t{1} << (id % 64)) - 1;
    return below_[w] + count_ones(words_[w] & lower);
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> below_;
};

/// A hash table with open addressing; ids are not negative.
class IdTable {
 public:
  void insert(std::int64_t id) {
    if (2 * (members_ + 1) > keys_.size()) grow();
    std::int64_t& slot = keys_[find(id)];
    members_ += slot != id;
    slot = id;
  }

  std::vector<std::int64_t> finish(const std::string& path) {
    std::vector<std::int64_t> members;
    members.reserve(members_);
    std::copy_if(keys_.begin(), keys_.end(), std::back_inserter(members), [](std::int64_t key) { return key >= 0; });
    std::sort(members.begin(), members.end());
    refuse_too_many(members.size(), path);
    numbers_.resize(keys_.size());
    for (std::size_t i = 0; i < members.size(); ++i) numbers_[find(members[i])] = static_cast<std::uint32_t>(i);
    return members;
  }

  std::uint32_t number(std::int64_t id) const { return numbers_[find(id)]; }

 private:
  /// The slot of `id`, or the free one where it belongs.
  std::size_t find(std::int64_t id) const {
    std::uint64_t hash = id;  // finaliser of MurmurHash3
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdU;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53U;
    std::size_t slot = (hash ^ (hash >> 33)) & (keys_.size() - 1);
    while (keys_[slot] != free_slot && keys_[slot] != id) slot = (slot + 1) & (keys_.size() - 1);
    return slot;
  }

  void grow() {
    std::vector<std::int64_t> old(2 * keys_.size(), free_slot);
    old.swap(keys_);
    for (const std::int64_t key : old) {
      if (key != free_slot) keys_[find(key)] = key;
    }
  }

  static constexpr std::int64_t free_slot = -1;
  std::vector<std::int64_t> keys_ = std::vector<std::int64_t>(1024, free_slot);
  std::vector<std::uint32_t> numbers_;
  std::size_t members_ = 0;
};

template <class Numbers>
void renumber(EventBlock& block, const Numbers& numbers) {
  if (!block.wide_ids) {
    for (std::uint32_t& id : std::span(block.ids<std::uint32_t>(0).data(), 2 * block.rows)) id = numbers.number(id);
    return;
  }
  const std::size_t time_bytes = block.rows * (block.whole_times ? sizeof(std::uint32_t) : sizeof(double));
  Pages memory(2 * block.rows * sizeof(std::uint32_t) + time_bytes);
  auto* out = reinterpret_cast<std::uint32_t*>(memory.data());
  for (const int side : {0, 1}) {
    for (const std::int64_t id : block.ids<std::int64_t>(side)) *out++ = numbers.number(id);
  }
  std::copy_n(block.times(), time_bytes, reinterpret_cast<std::byte*>(out));
  block.memory = std::move(memory);
  block.wide_ids = false;
}

template <class Numbers>
void renumber_all(std::vector<EventBlock>& blocks, const Numbers& numbers) {
  parallel_tasks(static_cast<std::int64_t>(blocks.size()), [&](std::int64_t b) { renumber(blocks[b], numbers); });
}

/// Calls visit(part, position, vertex, id) for the ids of all parts in ascending order. Returns the number of vertices.
template <class Visit>
std::size_t visit_in_order(const std::vector<Column<std::int64_t>>& parts, const Visit& visit) {
  using Head = std::pair<std::int64_t, std::size_t>;  // the next id of a part, and the part
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  std::vector<std::size_t> at(parts.size(), 0);
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (!parts[p].empty()) heads.emplace(parts[p].front(), p);
  std::size_t vertices = 0;
  std::int64_t before = -1;
  while (!heads.empty()) {
    const auto [id, p] = heads.top();
    heads.pop();
    vertices += id != before;
    before = id;
    visit(p, at[p], vertices - 1, id);
    if (++at[p] < parts[p].size()) heads.emplace(parts[p][at[p]], p);
  }
  return vertices;
}

}  // namespace

MergedIds merge_ids(const std::vector<Column<std::int64_t>>& parts, const std::string& path) {
  std::vector<Pages> numbers;
  for (const Column<std::int64_t>& part : parts) numbers.emplace_back(part.size() * sizeof(VertexId));
  const std::size_t vertices = visit_in_order(parts, [&](std::size_t p, std::size_t i, std::size_t vertex, auto) {
    refuse_too_many(vertex + 1, path);
    reinterpret_cast<VertexId*>(numbers[p].data())[i] = static_cast<VertexId>(vertex);
  });
  Pages ids(vertices * sizeof(std::int64_t));
  visit_in_order(parts, [&](std::size_t, std::size_t, std::size_t vertex, std::int64_t id) {
    reinterpret_cast<std::int64_t*>(ids.data())[vertex] = id;
  });
  MergedIds merged;
  merged.ids = make_column<std::int64_t>(std::move(ids), vertices);
  for (std::size_t p = 0; p < parts.size(); ++p)
    merged.numbers.push_back(make_column<VertexId>(std::move(numbers[p]), parts[p].size()));
  return merged;
}

std::vector<std::int64_t> number_vertices(std::vector<EventBlock>& blocks, const std::string& path) {
  std::int64_t largest = 0, rows = 0;
  for (const EventBlock& block : blocks) {
    largest = std::max(largest, block.largest_id);
    rows += static_cast<std::int64_t>(block.rows);
  }
  if (largest / 16 <= rows + (std::int64_t{1} << 16)) {
    RankedBits numbers(largest);
    parallel_tasks(static_cast<std::int64_t>(blocks.size()), [&](std::int64_t b) {
      for (const int side : {0, 1}) blocks[b].for_each_id(side, [&](std::int64_t id) { numbers.insert(id); });
    });
    std::vector<std::int64_t> members = numbers.finish(path);
    renumber_all(blocks, numbers);
    return members;
  }
  IdTable numbers;
  for (const EventBlock& block : blocks) {
    for (const int side : {0, 1}) block.for_each_id(side, [&](std::int64_t id) { numbers.insert(id); });
  }
  std::vector<std::int64_t> members = numbers.finish(path);
  renumber_all(blocks, numbers);
  return members;
}

}  // namespace strobe
