#include "harness/placement/chunks/chunk_merging.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/placement/chunks/grouping.hpp"
#include "harness/placement/chunks/label_sums.hpp"
#include "harness/placement/chunks/rows_ahead.hpp"
#include "harness/placement/chunks/seeded_order.hpp"

namespace strobe {
namespace {

LabelledRows labelled(const ChunkGraph& chunks, std::span<const std::uint32_t> label) {
  return {chunks.offsets.data(), chunks.neighbours.data(), chunks.traffic.data(), label.data()};
}

class ChunkPropagation {
 public:
  ChunkPropagation(const ChunkGraph& chunks, std::int64_t max_cells, GrowingColumn<std::uint32_t> order)
      : chunks_(chunks),
        max_cells_(max_cells),
        order_(std::move(order)),
        label_(order_.size(), reading_bound()),
        ask_(order_.size(), reading_bound()) {
    std::iota(label_.begin(), label_.end(), 0u);
    cells_.append(chunks.cells.data(), chunks.cells.size());
    std::fill(ask_.begin(), ask_.end(), 1);
  }

  /// Chunks that changed their label.
  std::int64_t round() {
    std::int64_t moved = 0;
    const RowsAhead ahead(labelled(chunks_, label_), order_);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::uint32_t chunk = order_[i];
      ahead.reach(i, [this](std::uint32_t other) { return ask_[other] != 0; });
      if (ask_[chunk] == 0) continue;
      const std::uint32_t best = choose(chunk);
      if (best == label_[chunk]) continue;
      cells_[label_[chunk]] -= chunks_.cells[chunk];
      cells_[best] += chunks_.cells[chunk];
      label_[chunk] = best;
      ++moved;
      for_neighbours(chunk, [this](std::uint32_t other, std::int64_t) { ask_[other] = 1; });
    }
    return moved;
  }

  GrowingColumn<std::uint32_t> take() { return std::move(label_); }

 private:
  template <class Visit>
  void for_neighbours(std::uint32_t chunk, const Visit& visit) const {
    for (std::int64_t e = chunks_.offsets[chunk]; e < chunks_.offsets[chunk + 1]; ++e)
      visit(chunks_.neighbours[e], chunks_.traffic[e]);
  }

  std::uint32_t choose(std::uint32_t chunk) {
    sums_.clear();
    for_neighbours(chunk, [this](std::uint32_t other, std::int64_t weight) { sums_.add(label_[other], weight); });
    const std::uint32_t own = label_[chunk];
    const std::int64_t own_weight = sums_.of(own);
    std::uint32_t best = own;
    std::int64_t best_weight = own_weight;
    ask_[chunk] = 0;
    sums_.for_each([&](std::uint32_t label, std::int64_t weight) {
      if (label == own || weight <= own_weight) return;  // on a tie, the chunk keeps its label
      if (cells_[label] + chunks_.cells[chunk] > max_cells_) {
        ask_[chunk] = 1;  // there may be room later
      } else if (weight > best_weight || (weight == best_weight && label < best)) {
        best = label, best_weight = weight;
      }
    });
    return best;
  }

  const ChunkGraph& chunks_;
  const std::int64_t max_cells_;
  GrowingColumn<std::uint32_t> order_, label_;
  GrowingColumn<std::int64_t> cells_{};  // by label
  GrowingColumn<std::uint8_t> ask_;
  LabelSums sums_;
};

}  // namespace

ChunkGraph contracted(ChunkGraph chunks, std::span<const std::uint32_t> label, std::uint32_t count) {
  ChunkGraph merged;
  GrowingColumn<std::int64_t> cells(count, reading_bound());
  ChunkRows rows;
  if (reading_bound() == nullptr) rows.reserve(chunks.neighbours.size());  // pages that stay empty take no memory
  const Grouped members = grouped(count, chunks.cells.size(), [label](std::size_t i) { return label[i]; });
  const RowsAhead ahead(labelled(chunks, label), {members.items.data(), members.items.size()});
  LabelSums shared;
  for (std::uint32_t c = 0; c < count; ++c) {
    shared.clear();
    for (std::uint32_t m = members.first[c]; m < members.first[c + 1]; ++m) {
      const std::uint32_t chunk = members.items[m];
      ahead.reach(m, [](std::uint32_t) { return true; });
      cells[c] += chunks.cells[chunk];
      for (std::size_t e = chunks.offsets[chunk]; e < static_cast<std::size_t>(chunks.offsets[chunk + 1]); ++e) {
        if (label[chunks.neighbours[e]] != c) shared.add(label[chunks.neighbours[e]], chunks.traffic[e]);
      }
    }
    rows.append(shared);
  }
  rows.finish(merged), merged.cells = cells.finish();
  GrowingColumn<std::uint32_t> of_node;
  of_node.reserve(chunks.of_node.size());
  for (const std::uint32_t chunk : chunks.of_node) of_node.push_back(label[chunk]);
  merged.of_node = of_node.finish();
  return merged;
}

std::int64_t merge_chunks(ChunkGraph& chunks, std::int64_t max_cells, std::int64_t levels, std::int64_t rounds,
                          std::uint64_t seed) {
  for (std::int64_t level = 0; level < levels; ++level) {
    const std::size_t count = chunks.count();
    ChunkPropagation propagation(chunks, max_cells, seeded_order(count, seed, static_cast<std::uint32_t>(level + 1)));
    for (std::int64_t round = 0; round < rounds && propagation.round() > 0; ++round) {
    }
    GrowingColumn<std::uint32_t> label = propagation.take();
    const std::uint32_t merged = number_labels(label);
    if (merged == count) return level;
    chunks = contracted(std::move(chunks), label, merged);
  }
  return levels;
}

}  // namespace strobe
