#include "harness/placement/chunks/chunk_fusion.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "harness/placement/chunks/grouping.hpp"
#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {
namespace {

class Fusion {
 public:
  Fusion(const ChunkLoads& chunks, const UnitBytes& bytes, std::uint64_t limit)
      : bytes_(bytes),
        limit_(limit),
        own_(chunks.own),
        entries_(chunks.entries),
        beyond_(chunks.beyond),
        unit_(chunks.cells.size()) {
    beyond_.resize(unit_.size(), 0);
    std::iota(unit_.begin(), unit_.end(), 0U);
    for (const auto& cells : chunks.cells) loaded_.push_back(static_cast<std::int64_t>(cells.size()));
    find_shared(chunks);
    with_.resize(unit_.size());
    for (std::uint32_t u = 0; u < unit_.size(); ++u) count_with(u, [u](std::uint32_t other) { return other > u; });
  }

  std::vector<std::uint32_t> run() {
    while (!pairs_.empty()) {
      const auto [saved, first, second] = *pairs_.begin();
      pairs_.erase(pairs_.begin());
      // Units only grow, so a pair that does not fit never will.
      if (fits(first, second, -saved)) merge(first, second);
    }
    merge_strangers();
    number_labels(unit_);
    return unit_;
  }

 private:
  /// Cells that several units load. Only these can save loads.
  void find_shared(const ChunkLoads& chunks) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> loads;
    for (std::uint32_t u = 0; u < chunks.cells.size(); ++u) {
      for (const std::int64_t cell : chunks.cells[u]) loads.emplace_back(cell, u);
    }
    std::sort(loads.begin(), loads.end());
    shared_of_.resize(unit_.size());
    for (std::size_t i = 0, end = 0; i < loads.size(); i = end) {
      for (end = i; end < loads.size() && loads[end].first == loads[i].first;) ++end;
      if (end - i < 2) continue;
      for (std::size_t k = i; k < end; ++k)
        shared_of_[loads[k].second].push_back(static_cast<std::uint32_t>(readers_.size()));
      auto& readers = readers_.emplace_back();
      for (std::size_t k = i; k < end; ++k) readers.push_back(loads[k].second);
    }
  }

  /// Counts the cells that `unit` shares with each other unit that `counts`.
  template <class Counts>
  void count_with(std::uint32_t unit, const Counts& counts) {
    for (const std::uint32_t cell : shared_of_[unit]) {
      for (const std::uint32_t other : readers_[cell]) {
        if (other == unit || !counts(other)) continue;
        ++with_[unit][other];
        ++with_[other][unit];
      }
    }
    for (const auto& [other, saved] : with_[unit]) {
      if (counts(other)) pairs_.insert({-saved, std::min(unit, other), std::max(unit, other)});
    }
  }

  bool fits(std::uint32_t first, std::uint32_t second, std::int64_t saved) const {
    if (limit_ == 0) return true;
    const std::uint64_t planned = bytes_.of(loaded_[first] + loaded_[second] - saved, own_[first] + own_[second],
                                            entries_[first] + entries_[second]);
    return static_cast<std::int64_t>(planned) + beyond_[first] + beyond_[second] <= static_cast<std::int64_t>(limit_);
  }

  void forget_pairs(std::uint32_t unit) {
    for (const auto& [other, saved] : with_[unit]) {
      pairs_.erase({-saved, std::min(unit, other), std::max(unit, other)});
      with_[other].erase(unit);
    }
    with_[unit].clear();
  }

  void merge(std::uint32_t first, std::uint32_t second) {
    const auto met = with_[first].find(second);
    join_sizes(first, second, met == with_[first].end() ? 0 : met->second);
    forget_pairs(first);
    forget_pairs(second);
    for (const std::uint32_t cell : shared_of_[second]) {
      auto& readers = readers_[cell];
      const bool both = std::find(readers.begin(), readers.end(), first) != readers.end();
      const auto at = std::find(readers.begin(), readers.end(), second);
      if (both) {
        readers.erase(at);
      } else {
        *at = first;
        shared_of_[first].push_back(cell);
      }
    }
    shared_of_[second].clear();
    count_with(first, [](std::uint32_t) { return true; });
  }

  void join_sizes(std::uint32_t first, std::uint32_t second, std::int64_t saved) {
    loaded_[first] += loaded_[second] - saved;
    own_[first] += own_[second];
    entries_[first] += entries_[second];
    beyond_[first] += beyond_[second];
    std::replace(unit_.begin(), unit_.end(), second, first);
  }

  /// Units that share nothing, or too much to fit together, are merged in their order where they fit.
  void merge_strangers() {
    std::set<std::uint32_t> units(unit_.begin(), unit_.end());
    for (auto first = units.begin(); first != units.end(); ++first) {
      for (auto second = std::next(first); second != units.end();) {
        const bool strangers = with_[*first].count(*second) == 0;
        if (!strangers || !fits(*first, *second, 0)) {
          ++second;
          continue;
        }
        merge(*first, *second);
        pairs_.clear();
        second = units.erase(second);
      }
    }
  }

  UnitBytes bytes_;
  std::uint64_t limit_;
  std::vector<std::int64_t> loaded_, own_, entries_, beyond_;  // by unit, which is numbered by its first chunk
  std::vector<std::uint32_t> unit_;                            // of each chunk
  std::vector<std::vector<std::uint32_t>> readers_;            // of each shared cell: the units that load it
  std::vector<std::vector<std::uint32_t>> shared_of_;          // of each unit: the shared cells that it loads
  std::vector<std::map<std::uint32_t, std::int64_t>> with_;    // of each unit: cells shared with others
  std::set<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>> pairs_;  // untried; most shared first
};

}  // namespace

ChunkLoads loads_of_chunks(const PreparedGraph& graph, std::span<const std::uint32_t> of_cell, std::size_t count,
                           const std::vector<bool>& wanted) {
  ChunkLoads loads{std::vector<std::vector<std::int64_t>>(count), std::vector<std::int64_t>(count, 0),
                   std::vector<std::int64_t>(count, 0)};
  for_cells(graph, [&](NodeId node, VertexId v, Step t) {
    const std::size_t chunk = of_cell[node];
    if (!wanted.empty() && !wanted[chunk]) return;
    const std::int64_t first = t * graph.vertices;
    const std::size_t row = first + v;
    loads.cells[chunk].push_back(first + v);
    ++loads.own[chunk];
    loads.entries[chunk] += graph.row_offsets[row + 1] - graph.row_offsets[row];
    for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e)
      loads.cells[chunk].push_back(first + graph.columns[e]);
  });
  for (std::vector<std::int64_t>& cells : loads.cells) {
    std::sort(cells.begin(), cells.end());
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  }
  return loads;
}

CutChunks cut_chunks(const PreparedGraph& graph, const Column<std::uint32_t>& of_cell, std::size_t count,
                     std::span<const Run> blocks) {
  std::vector<std::size_t> block_of;  // [T]
  for (std::size_t b = 0; b < blocks.size(); ++b)
    block_of.insert(block_of.end(), static_cast<std::size_t>(blocks[b].count), b);
  std::vector<std::uint8_t> there(blocks.size() * count, 0);
  for_cells(graph, [&](NodeId node, VertexId, Step t) { there[block_of[t] * count + of_cell[node]] = 1; });
  CutChunks cut;
  std::vector<std::uint32_t> part(there.size(), 0);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    cut.first.push_back(cut.chunk.size());
    for (std::size_t chunk = 0; chunk < count; ++chunk) {
      if (there[b * count + chunk] == 0) continue;
      part[b * count + chunk] = static_cast<std::uint32_t>(cut.chunk.size());
      cut.chunk.push_back(static_cast<std::uint32_t>(chunk));
    }
  }
  cut.first.push_back(cut.chunk.size());
  if (blocks.size() == 1 && cut.chunk.size() == count) {
    cut.of_cell = of_cell;
    return cut;
  }
  GrowingColumn<std::uint32_t> part_of_cell(of_cell.size(), reading_bound());
  for_cells(graph,
            [&](NodeId node, VertexId, Step t) { part_of_cell[node] = part[block_of[t] * count + of_cell[node]]; });
  cut.of_cell = part_of_cell.finish();
  return cut;
}

std::vector<std::uint32_t> fuse_chunks(const ChunkLoads& chunks, const UnitBytes& bytes, std::uint64_t limit_bytes) {
  return Fusion(chunks, bytes, limit_bytes).run();
}

}  // namespace strobe
