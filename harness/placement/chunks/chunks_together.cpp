#include "harness/placement/chunks/chunks_together.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/placement/chunks/chunk_merging.hpp"
#include "workloads/partitioners/packed_values.hpp"
#include "workloads/partitioners/run_exchanges.hpp"

namespace strobe {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers distinct(Numbers numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::uint32_t place_in(const Numbers& sorted, std::uint32_t number) {
  return static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin());
}

/// The weight of edges between two chunks of the whole graph.
struct SharedTraffic {
  std::uint32_t chunk = 0, other = 0;
  std::int64_t weight = 0;
};

/// The chunks that labels name, before the weights between them are known.
struct NamedChunks {
  NodeShares shares;                // of the chunks
  std::vector<std::int64_t> cells;  // of own chunks
  Numbers labels;                   // those of own and remote nodes, ascending
  Numbers numbers;                  // of the chunks that these name

  /// Numbers labels in their order: each process those that it counts.
  NamedChunks(const SharedLabels& found, const ShareHolders& holders) : labels(distinct(found.label)) {
    Numbers number(found.cells.size(), 0);
    for (std::size_t i = 0; i < number.size(); ++i) {
      if (found.cells[i] == 0) continue;
      number[i] = static_cast<std::uint32_t>(cells.size());
      cells.push_back(found.cells[i]);
    }
    shares = NodeShares(holders, static_cast<std::uint32_t>(cells.size()));
    for (std::uint32_t& of_label : number) of_label += shares.first[holders.rank];
    numbers = RemoteNodes(holders, found.counted, labels).fetch(holders, number);
  }
};

/// Sends the rows of chunks that cells or chunks here belong to, to the processes that hold these rows.
std::vector<std::string> pack_rows(const ChunkGraph& part, const NamedChunks& named) {
  std::vector<std::vector<SharedTraffic>> rows(named.shares.first.size() - 1);
  for (std::size_t c = 0; c < part.cells.size(); ++c) {
    for (std::size_t e = part.offsets[c]; e < static_cast<std::size_t>(part.offsets[c + 1]); ++e)
      rows[named.shares.owner(named.numbers[c])].push_back(
          {named.numbers[c], named.numbers[part.neighbours[e]], part.traffic[e]});
  }
  return packed_each(rows);
}

/// Adds the rows that all processes sent up. Neighbours are numbers of the whole graph.
void add_rows(const std::vector<std::string>& received, std::uint32_t first, ChunkGraph& chunks) {
  std::vector<SharedTraffic> all;
  for (const std::string& bytes : received) {
    const auto rows = Unpacker(bytes).next<SharedTraffic>();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  const auto key = [](const SharedTraffic& traffic) { return std::tuple(traffic.chunk, traffic.other); };
  std::sort(all.begin(), all.end(), [&key](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<std::int64_t> offsets{0}, weights;
  Numbers neighbours;
  for (std::size_t i = 0; i < all.size();) {
    const SharedTraffic& traffic = all[i];
    offsets.resize(traffic.chunk - first + std::size_t{1}, static_cast<std::int64_t>(neighbours.size()));
    neighbours.push_back(traffic.other);
    weights.push_back(0);
    for (; i < all.size() && key(all[i]) == key(traffic); ++i) weights.back() += all[i].weight;
  }
  offsets.resize(chunks.cells.size() + 1, static_cast<std::int64_t>(neighbours.size()));
  chunks.offsets = std::move(offsets), chunks.neighbours = std::move(neighbours), chunks.traffic = std::move(weights);
}

/// The share of the graph of chunks, from the rows that each process found in its own part.
ChunkGraphShare put_together(const ChunkGraph& part, NamedChunks named, const ShareHolders& holders) {
  ChunkGraphShare share{{}, named.shares, {}};
  const std::uint32_t first = share.shares.first[holders.rank], own = share.shares.count(holders.rank);
  share.graph.cells = std::move(named.cells);
  const std::vector<std::string> received = holders.exchange([&] { return pack_rows(part, named); });
  add_rows(received, first, share.graph);
  Numbers remote;
  for (const std::uint32_t other : share.graph.neighbours)
    if (other < first || other >= first + own) remote.push_back(other);
  share.remote = RemoteNodes(holders, share.shares, distinct(std::move(remote)));
  for (std::uint32_t& other : share.graph.neighbours.edit())
    other = other >= first && other < first + own ? other - first : own + share.remote.place(other);
  return share;
}

/// Places of the labels of nodes.
Numbers places_of(Numbers label, const Numbers& labels) {
  for (std::uint32_t& at : label) at = place_in(labels, at);
  return label;
}

/// Replaces the chunks of cells by the numbers that own chunks got.
void follow(Numbers& chunk, const NodeShares& before, const Numbers& number, const ShareHolders& holders) {
  const Numbers here = distinct(chunk);
  const Numbers after = RemoteNodes(holders, before, here).fetch(holders, number);
  for (std::uint32_t& at : chunk) at = after[place_in(here, at)];
}

/// Gives neighbours their numbers of the whole graph.
void name_neighbours(ChunkGraphShare& share, const ShareHolders& holders) {
  Numbers names(share.graph.cells.size());
  for (std::size_t c = 0; c < names.size(); ++c)
    names[c] = share.shares.first[holders.rank] + static_cast<std::uint32_t>(c);
  const Numbers remote = share.remote.fetch(holders, names);
  names.insert(names.end(), remote.begin(), remote.end());
  for (std::uint32_t& other : share.graph.neighbours.edit()) other = names[other];
}

/// The whole graph at every process, from chunks of own cells and rows of own chunks.
ChunkGraph gathered(const ChunkGraph& own, const Numbers& chunk_of_own_cells, const ShareHolders& holders) {
  std::vector<std::int64_t> lengths;
  for (std::size_t c = 0; c < own.cells.size(); ++c) lengths.push_back(own.offsets[c + 1] - own.offsets[c]);
  ChunkGraph whole;
  whole.of_node = holders.all_gather(chunk_of_own_cells);
  whole.cells = holders.all_gather(own.cells.copy());
  whole.neighbours = holders.all_gather(own.neighbours.copy());
  whole.traffic = holders.all_gather(own.traffic.copy());
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t length : holders.all_gather(lengths)) offsets.push_back(offsets.back() + length);
  whole.offsets = std::move(offsets);
  return whole;
}

/// The last graph of chunks, and the chunk of each own cell.
ChunkGraphShare chunks_of_share(SuperGraphShare& share, const PropagationLimits& limits, std::int64_t levels,
                                const ShareHolders& holders, ChunksTogether& result, Numbers& chunk) {
  SharedLabels found = propagate_together(share, limits, holders);
  result.rounds = found.rounds, result.moved_last = found.moved_last;
  NamedChunks named(found, holders);
  Numbers places = places_of(std::move(found.label), named.labels);
  for (std::int64_t node = 0; node < share.graph.nodes(); ++node) chunk.push_back(named.numbers[places[node]]);
  ChunkGraph part = chunk_graph(share.graph, std::move(places), static_cast<std::uint32_t>(named.labels.size()));
  share.graph.offsets.clear(), share.graph.neighbours.clear(), part.of_node.clear();
  ChunkGraphShare chunks = put_together(part, std::move(named), holders);
  for (std::uint32_t level = 1; level < levels; ++level, ++result.levels) {
    found = propagate_together(chunks, level, limits, holders);
    named = NamedChunks(found, holders);
    if (named.shares.nodes() == chunks.shares.nodes()) break;
    places = places_of(std::move(found.label), named.labels);
    Numbers number;
    for (std::size_t c = 0; c < chunks.graph.cells.size(); ++c) number.push_back(named.numbers[places[c]]);
    follow(chunk, chunks.shares, number, holders);
    part = contracted(std::move(chunks.graph), places, static_cast<std::uint32_t>(named.labels.size()));
    chunks = put_together(part, std::move(named), holders);
  }
  name_neighbours(chunks, holders);
  return chunks;
}

}  // namespace

ChunksTogether make_chunks_together(SuperGraphShare& share, const PropagationLimits& limits, std::int64_t levels,
                                    const ShareHolders& holders) {
  ChunksTogether result;
  ChunkGraphShare chunks;
  Numbers chunk;
  holders.together([] {});  // all are here before the first exchange
  run_exchanges(holders,
                [&](const ShareHolders& all) { chunks = chunks_of_share(share, limits, levels, all, result, chunk); });
  result.chunks = gathered(chunks.graph, chunk, holders);
  return result;
}

}  // namespace strobe
