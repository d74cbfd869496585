#include "harness/event_batches/groups/remote_rows.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "core/system/parallel.hpp"
#include "harness/event_batches/batches/event_part.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"
#include "harness/event_batches/trainer/evaluation_order.hpp"

namespace strobe {
namespace {

std::int64_t sum_of_rows(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

/// The sum over `sets` of the rows of one level.
std::int64_t sum_of_level(const std::vector<std::int64_t>& rows, std::int64_t level, std::size_t sets) {
  std::int64_t sum = 0;
  for (std::size_t at = level; at < rows.size(); at += rows.size() / sets) sum += rows[at];
  return sum;
}

RowsOfNode zero_rows(std::size_t sets, std::size_t levels) {
  RowsOfNode rows;
  rows.vertices.assign(sets, 0), rows.mails.assign(sets, 0), rows.distinct.assign(sets, 0);
  rows.features.assign(sets, 0);
  rows.roots.assign(sets * levels, 0), rows.slots.assign(sets * levels, 0);
  return rows;
}

constexpr int event_shift = 32;  // numbers of events have at most 32 bits (TimedNeighbour)

/// Sorts words whose upper half is the number of an event, by radix; equal numbers keep their order.
void sort_by_event(std::vector<std::uint64_t>& words) {
  constexpr int digit_bits = 11;
  std::uint64_t all = 0;
  for (const std::uint64_t word : words) all |= word;
  std::vector<std::uint64_t> sorted(words.size());
  for (int shift = event_shift; shift < 64 && (all >> shift) != 0; shift += digit_bits) {
    const auto digit = [&](std::uint64_t word) { return (word >> shift) % (1U << digit_bits); };
    std::array<std::uint32_t, 1U << digit_bits> places{};
    for (const std::uint64_t word : words) ++places[digit(word)];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), 0U);
    for (const std::uint64_t word : words) sorted[places[digit(word)]++] = word;
    words.swap(sorted);
  }
}

}  // namespace

FeatureEvents events_with_features(const BatchDraw& drawn) {
  std::vector<std::uint64_t> words;
  const auto add = [&](const std::vector<EdgeId>& events) {
    for (const EdgeId event : events) words.push_back(static_cast<std::uint64_t>(event) << event_shift | words.size());
  };
  add(drawn.mail_events);
  for (const DrawnLevel& level : drawn.levels) add(level.events);
  sort_by_event(words);
  FeatureEvents found;
  found.place_of.resize(words.size());
  for (const std::uint64_t word : words) {
    const auto event = static_cast<EdgeId>(word >> event_shift);
    if (found.events.empty() || found.events.back() != event) found.events.push_back(event);
    found.place_of[static_cast<std::uint32_t>(word)] = static_cast<std::uint32_t>(found.events.size() - 1);
  }
  return found;
}

std::int64_t RowsOfNode::all_vertices() const { return sum_of_rows(vertices); }
std::int64_t RowsOfNode::all_mails() const { return sum_of_rows(mails); }
std::int64_t RowsOfNode::all_distinct() const { return sum_of_rows(distinct); }
std::int64_t RowsOfNode::all_features() const { return sum_of_rows(features); }
std::int64_t RowsOfNode::roots_of(std::int64_t level) const { return sum_of_level(roots, level, features.size()); }
std::int64_t RowsOfNode::slots_of(std::int64_t level) const { return sum_of_level(slots, level, features.size()); }

std::int64_t vertex_answer_bytes(const EventCase& c) {
  constexpr std::int64_t times = sizeof(VertexTimes), value = sizeof(float);
  return (c.model->traits().memory > 0 ? times : 0) + c.data.widths.vertex * value;
}

RemoteRows::RemoteRows(const EventCase& c, const BatchOrder& order, std::int64_t nodes, std::int64_t iterations)
    : ranks_(order.groups().ranks()), nodes_(nodes) {
  BatchDrawer drawer(c, c.training, true);
  std::map<std::array<std::int64_t, 3>, std::shared_ptr<const IterationRows>> known;
  const std::int64_t j = order.groups().j, groups = c.training.task->negative_groups;
  for (std::int64_t n = 0; n < iterations; ++n) {
    // Iterations with the same batch, negatives and ranks draw the same.
    const std::int64_t negatives = n / order.batches() * j % groups;
    std::shared_ptr<const IterationRows>& rows = known[{n % order.batches(), negatives, n % j}];
    if (rows == nullptr) rows = std::make_shared<const IterationRows>(drawn_rows(c, order, n, drawer));
    rows_.push_back(rows);
  }
  find_most();
}

RemoteRows::RemoteRows(const EvaluationOrder& order, std::int64_t ranks, std::int64_t nodes)
    : ranks_(ranks), nodes_(nodes), in_turn_(true) {
  const EventCase& c = order.events();
  const EvaluationMoments moments(order);
  BatchDrawer drawer(c, c.data, true);
  Workers workers(1);
  BatchDraw drawn;
  for (std::int64_t n = 0; n < order.steps(); ++n) {
    const std::vector<BatchRequest> requests = order.step(n).requests;
    IterationRows rows(static_cast<std::size_t>(nodes_), zero_rows(requests.size(), c.model->traits().levels));
    for (std::size_t set = 0; set < requests.size(); ++set) {
      drawer.draw(requests[set], moments, n, workers, drawn);
      count(drawn, drawer, c.data, node_of(n % ranks), set, rows.data());
    }
    rows_.push_back(std::make_shared<const IterationRows>(std::move(rows)));
  }
  find_most();
}

RemoteRows::IterationRows RemoteRows::drawn_rows(const EventCase& c, const BatchOrder& order, std::int64_t n,
                                                 BatchDrawer& drawer) const {
  const TrainingMoments moments(order);
  Workers workers(1);
  BatchDraw drawn;
  const std::size_t sets = order.groups().j, ranks = ranks_;
  IterationRows all(ranks * static_cast<std::size_t>(nodes_), zero_rows(sets, c.model->traits().levels));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::optional<TrainerTurn> turn = order.turn(n, static_cast<int>(rank));
    for (std::size_t set = 0; turn && turn->set == 0 && set < sets; ++set) {
      drawer.draw(request_of(order, n, static_cast<int>(rank), static_cast<std::int64_t>(set)), moments, n, workers,
                  drawn);
      count(drawn, drawer, c.training, node_of(static_cast<std::int64_t>(rank)), set,
            all.data() + rank * static_cast<std::size_t>(nodes_));
    }
  }
  return all;
}

void RemoteRows::count(const BatchDraw& drawn, BatchDrawer& drawer, const EventData& data, std::int64_t own,
                       std::size_t set, RowsOfNode* all) const {
  const auto on = [&](std::int64_t node) -> RowsOfNode& { return all[node]; };
  const auto of = [&](std::int64_t v) -> RowsOfNode& { return on(v % nodes_); };
  for (const std::int64_t v : drawn.vertices) ++of(v).vertices[set];
  for (std::int64_t m = 0; m < drawn.mails; ++m) ++of(drawn.vertices[m]).mails[set];
  for (const std::int64_t v : drawn.written) ++of(v).written;
  for (const VertexId v : drawer.distinct()) ++of(v).distinct[set];
  const std::vector<VertexId>& asked = drawer.asked();  // begins with the roots of the innermost level
  if (data.widths.edge > 0) {
    for (const EdgeId e : events_with_features(drawn).events) ++on(holder(*data.graph, e, own)).features[set];
  }
  const std::size_t levels = drawn.levels.size();
  for (std::size_t l = 0; l < levels; ++l) {
    const DrawnLevel& level = drawn.levels[levels - 1 - l];
    for (std::int64_t r = 0; r < level.roots; ++r) {
      RowsOfNode& rows = of(asked[r]);
      ++rows.roots[set * levels + l];
      rows.slots[set * levels + l] += level.offsets[r + 1] - level.offsets[r];
    }
  }
}

std::int64_t RemoteRows::holder(const EventGraph& graph, EdgeId event, std::int64_t node) const {
  return graph.target[event] % nodes_ == node ? node : graph.source[event] % nodes_;
}

RankGroups RemoteRows::columns() const {
  RankGroups groups(static_cast<std::size_t>(ranks_of_node()));
  for (std::size_t place = 0; place < groups.size(); ++place) {
    for (std::int64_t node = 0; node < nodes_; ++node)
      groups[place].push_back(static_cast<int>(agent(static_cast<std::int64_t>(place), node)));
  }
  return groups;
}

const RowsOfNode& RemoteRows::rows(std::int64_t iteration, std::int64_t rank, std::int64_t node) const {
  static const RowsOfNode none;
  if (in_turn_) return rank == iteration % ranks_ ? rows_.at(iteration)->at(node) : none;
  return rows_.at(iteration)->at(rank * nodes_ + node);
}

void RemoteRows::find_most() {
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      std::int64_t read = 0, written = 0;
      for (std::int64_t other = 0; other < nodes_; ++other) {
        const RowsOfNode& asked = rows(static_cast<std::int64_t>(n), agent(rank, other), node_of(rank));
        read += asked.all_vertices(), written += asked.written;
      }
      most_read_ = std::max(most_read_, read), most_written_ = std::max(most_written_, written);
    }
  }
}

template <class Visit>
void RemoteRows::for_each_remote(std::int64_t first, std::int64_t end, const Visit& visit) const {
  for (std::int64_t n = first; n < end; ++n) {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      for (std::int64_t node = 0; node < nodes_; ++node) {
        if (node != node_of(rank)) visit(rows(n, rank, node));
      }
    }
  }
}

std::uint64_t RemoteRows::sent_bytes(std::int64_t first, std::int64_t end, std::uint64_t row_bytes) const {
  std::uint64_t bytes = 0;
  for_each_remote(first, end, [&](const RowsOfNode& asked) {
    const std::uint64_t read = asked.all_vertices() + 2 * asked.all_mails();
    const std::uint64_t written = asked.written;
    bytes += (static_cast<std::uint64_t>(asked.all_vertices()) + written) * sizeof(std::int64_t);
    bytes += (read + 3 * written) * row_bytes;
  });
  return bytes;
}

std::uint64_t RemoteRows::drawing_bytes(std::int64_t first, std::int64_t end, std::int64_t vertex_bytes,
                                        std::int64_t edge_width) const {
  constexpr std::int64_t number = sizeof(std::int64_t), value = sizeof(float), root = sizeof(RemoteRoot);
  std::int64_t bytes = 0;
  for_each_remote(first, end, [&](const RowsOfNode& asked) {
    for (std::size_t at = 0; at < asked.roots.size(); ++at)
      bytes += asked.roots[at] * root + (asked.roots[at] + asked.slots[at]) * number;
    if (vertex_bytes > 0) bytes += asked.all_distinct() * (number + vertex_bytes);
    for (std::size_t set = 0; edge_width > 0 && set < asked.features.size(); ++set)
      bytes += asked.features[set] * (number + edge_width * value);
  });
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace strobe
