#include "harness/placement/chunks/assign/cell_nets.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "core/errors.hpp"
#include "harness/placement/chunks/grouping.hpp"
#include "harness/placement/chunks/seeded_order.hpp"
#include "models/tasks/task.hpp"

namespace strobe {
namespace {

constexpr std::int64_t most_pins = std::int64_t{1} << 30;

/// Columns that a product with each matrix sends; a temporal need has them by its reach and by where states restart.
struct ColumnsOfNets {
  std::int64_t neighbours = 0, samples = 0;
  std::map<int, std::int64_t> supports;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> states, earlier;  // (reach, reset_every)
};

/// How often a state goes to the next cell's rank in an epoch, or its gradient back.
std::int64_t passes_of_states(CutStates states) {
  if (states == CutStates::zero) return 0;
  return states == CutStates::previous_epoch ? 1 : 2;
}

void add_temporal_columns(const LayerShape& layer, CutStates states, ColumnsOfNets& columns) {
  const StateShape& state = layer.recurrent_state;
  if (layer.need == TemporalNeed::recurrent)
    columns.states[{1, layer.reset_every}] += passes_of_states(states) * state.rows_per_vertex * state.width;
  if (layer.need == TemporalNeed::window && layer.window > 1)
    columns.earlier[{layer.window - 1, 0}] += 2 * layer.spatial_width;
  if (layer.need == TemporalNeed::all) columns.earlier[{0, 0}] += 2 * layer.spatial_width;
}

ColumnsOfNets columns_of(const RowReaders& readers) {
  ColumnsOfNets columns;
  for (std::size_t l = 0; l < readers.layers.size(); ++l) {
    const LayerShape& layer = readers.layers[l];
    if (sends_rows(readers.layers, l)) columns.neighbours += (l == 0 ? 1 : 2) * layer.input_width;
    for (const StepProduct& product : layer.products) {
      if (readers.supports == nullptr) columns.neighbours += 2 * product.width;
      if (readers.supports != nullptr) columns.supports[product.support] += 2 * product.width;
    }
    add_temporal_columns(layer, readers.states, columns);
  }
  if (readers.samples != nullptr) columns.samples = 2 * readers.layers.back().temporal_width;
  return columns;
}

/// Collects the pins of nets. The net of row u in family f is f * cells + u.
class NetCollector {
 public:
  NetCollector(const PreparedGraph& graph, const SuperGraph& super)
      : graph_(graph), super_(super), cells_(super.nodes()) {
    std::fill(number_.begin(), number_.end(), unused);
    for_cells(graph, [&](NodeId node, VertexId v, Step t) { node_[t * graph.vertices + v] = node; });
  }

  /// A row of a matrix at each step reads the rows of its columns.
  void add_matrix(const PreparedGraph& matrix, std::int64_t weight) {
    if (weight == 0) return;
    for (Step t = 0; t < graph_.steps; ++t) {
      for (std::int64_t v = 0; v < graph_.vertices; ++v) {
        const std::size_t row = t * graph_.vertices + v;
        for (std::int64_t e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e)
          if (matrix.columns[e] != v) add(node_[t * graph_.vertices + matrix.columns[e]], node_[row]);
      }
    }
    end_family(weight);
  }

  /// The owner of a sample's first cell reads its other cells.
  void add_samples(const Samples& samples, std::int64_t weight) {
    const auto arity = static_cast<std::size_t>(samples.arity);
    if (arity < 2 || samples.step.empty()) return;
    for (std::size_t i = 0; i < samples.step.size(); ++i) {
      const std::int64_t base = samples.step[i] * graph_.vertices;
      const NodeId first = node_[base + samples.vertices[i * arity]];
      for (std::size_t k = 1; k < arity; ++k) {
        const NodeId other = node_[base + samples.vertices[i * arity + k]];
        if (other != first) add(other, first);
      }
    }
    end_family(weight);
  }

  /// The next `reach` cells of a sequence (0: all) read a cell's row, but none from a step that `reset_every` divides
  /// on.
  void add_later(std::int64_t reach, std::int64_t reset_every, std::int64_t weight) {
    if (weight == 0) return;
    for (const NodeSequence& sequence : super_.sequences) {
      for (NodeId u = sequence.first; u < sequence.end(); ++u) {
        const std::int64_t end = reach == 0 ? sequence.end() : std::min<std::int64_t>(sequence.end(), u + reach + 1);
        for (std::int64_t reader = u + 1; reader < end; ++reader) {
          if (reset_every > 0 && (sequence.step + reader - sequence.first) % reset_every == 0) break;
          add(u, static_cast<NodeId>(reader));
        }
      }
    }
    end_family(weight);
  }

  CellNets finish(Column<double> load) {
    GrowingColumn<std::int64_t> offsets(1, reading_bound());
    GrowingColumn<std::uint32_t> nets;
    const Grouped of_cell =
        grouped(static_cast<std::size_t>(cells_), pins_.size(), [this](std::size_t i) { return pins_[i].cell; });
    for (std::size_t cell = 0; cell < static_cast<std::size_t>(cells_); ++cell) {
      const std::int64_t first = offsets.back();
      for (std::uint32_t i = of_cell.first[cell]; i < of_cell.first[cell + 1]; ++i)
        nets.push_back(pins_[of_cell.items[i]].net);
      std::sort(nets.begin() + first, nets.end());
      nets.shrink(static_cast<std::size_t>(std::unique(nets.begin() + first, nets.end()) - nets.begin()));
      offsets.push_back(static_cast<std::int64_t>(nets.size()));
    }
    return {offsets.finish(), nets.finish(), weight_.finish(), std::move(load)};
  }

 private:
  void add(NodeId row, NodeId reader) {
    auto& net = number_[row];
    if (net == unused) {
      net = static_cast<std::uint32_t>(weight_.size() + used_++);
      pins_.push_back({row, net});
    }
    pins_.push_back({reader, net});
    if (static_cast<std::int64_t>(pins_.size()) <= most_pins) return;
    throw InvalidRequest("/strategy/assign",
                         "assign=refined lists every cell that reads a row, and these are more than 2^30; use "
                         "assign=metis, or assign=score");
  }
  void end_family(std::int64_t weight) {
    const std::size_t before = weight_.size();
    weight_.resize(before + used_);
    std::fill(weight_.begin() + before, weight_.end(), weight);
    used_ = 0;
    std::fill(number_.begin(), number_.end(), unused);
  }

  struct Pin {
    NodeId cell = 0;
    std::uint32_t net = 0;
  };
  static constexpr std::uint32_t unused = 0xffffffff;
  const PreparedGraph& graph_;
  const SuperGraph& super_;
  std::int64_t cells_;
  GrowingColumn<NodeId> node_{static_cast<std::size_t>(graph_.vertices * graph_.steps), reading_bound()};  // [T * N]
  GrowingColumn<std::uint32_t> number_{static_cast<std::size_t>(cells_), reading_bound()};
  GrowingColumn<Pin> pins_{};
  GrowingColumn<std::int64_t> weight_{};
  std::size_t used_ = 0;
};

}  // namespace

CellNets cell_nets(const PreparedGraph& graph, const SuperGraph& super, const RowReaders& readers,
                   Column<double> load) {
  const ColumnsOfNets columns = columns_of(readers);
  NetCollector collected(graph, super);
  collected.add_matrix(graph, columns.neighbours);
  for (const auto& [support, weight] : columns.supports) collected.add_matrix(*readers.supports->at(support), weight);
  if (readers.samples != nullptr) collected.add_samples(*readers.samples, columns.samples);
  for (const auto& [need, weight] : columns.states) collected.add_later(need.first, need.second, weight);
  for (const auto& [need, weight] : columns.earlier) collected.add_later(need.first, need.second, weight);
  return collected.finish(std::move(load));
}

NetPins pins_of(const CellNets& nets) {
  const ReadingBound* const bound = reading_bound();
  NetPins pins{GrowingColumn<std::int64_t>(nets.weight.size() + 2, bound),
               GrowingColumn<std::uint32_t>(nets.nets.size(), bound)};
  for (const std::uint32_t net : nets.nets) ++pins.offsets[net + std::size_t{2}];
  std::partial_sum(pins.offsets.begin(), pins.offsets.end(), pins.offsets.begin());
  for (std::uint32_t node = 0; node < nets.nodes(); ++node) {
    for (std::int64_t e = nets.offsets[node]; e < nets.offsets[node + std::size_t{1}]; ++e)
      pins.nodes[pins.offsets[nets.nets[e] + std::size_t{1}]++] = node;
  }
  pins.offsets.pop_back();
  return pins;
}

std::int64_t sent_columns(const CellNets& nets, std::span<const Rank> rank) {
  constexpr int at_once = 64;  // ranks, one bit each
  const Rank last = rank.empty() ? 0 : *std::max_element(rank.begin(), rank.end());
  std::int64_t sum = -std::accumulate(nets.weight.begin(), nets.weight.end(), std::int64_t{0});
  for (Rank first = 0; first <= last; first += at_once) {
    GrowingColumn<std::uint64_t> met(nets.weight.size(), reading_bound());
    for (std::uint32_t node = 0; node < nets.nodes(); ++node) {
      if (rank[node] < first || rank[node] >= first + at_once) continue;
      const std::uint64_t bit = std::uint64_t{1} << (rank[node] - first);
      for (std::int64_t e = nets.offsets[node]; e < nets.offsets[node + std::size_t{1}]; ++e) met[nets.nets[e]] |= bit;
    }
    for (std::size_t net = 0; net < met.size(); ++net) sum += nets.weight[net] * std::popcount(met[net]);
  }
  return sum;
}

namespace {

constexpr std::uint32_t none = 0xffffffff;

/// The first two groups of each net, and whether it has more.
class NetGroups {
 public:
  NetGroups(const CellNets& nets, std::span<const std::uint32_t> group)
      : nets_(nets), of_net_(nets.weight.size(), reading_bound()) {
    std::fill(of_net_.begin(), of_net_.end(), Groups());
    for (std::uint32_t node = 0; node < nets.nodes(); ++node) {
      for (std::int64_t e = nets.offsets[node]; e < nets.offsets[node + std::size_t{1}]; ++e)
        add(of_net_[nets.nets[e]], group[node]);
    }
  }

  /// New numbers of the nets with pins in several groups, `none` for others. Appends their weights.
  GrowingColumn<std::uint32_t> number(GrowingColumn<std::int64_t>& weight) const {
    GrowingColumn<std::uint32_t> number(of_net_.size(), reading_bound()), pairs;
    std::fill(number.begin(), number.end(), none);
    for (std::uint32_t net = 0; net < of_net_.size(); ++net) {
      if (of_net_[net].second == none) continue;
      if (!of_net_[net].more) {
        pairs.push_back(net);
        continue;
      }
      number[net] = static_cast<std::uint32_t>(weight.size());
      weight.push_back(nets_.weight[net]);
    }
    const auto both = [this](std::uint32_t net) { return std::minmax(of_net_[net].first, of_net_[net].second); };
    std::sort(pairs.begin(), pairs.end(), [&](std::uint32_t a, std::uint32_t b) { return both(a) < both(b); });
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (i == 0 || both(pairs[i]) != both(pairs[i - 1])) weight.push_back(0);
      number[pairs[i]] = static_cast<std::uint32_t>(weight.size() - 1);
      weight.back() += nets_.weight[pairs[i]];
    }
    return number;
  }

 private:
  struct Groups {
    std::uint32_t first = none, second = none;
    bool more = false;
  };
  static void add(Groups& groups, std::uint32_t group) {
    if (groups.first == none) groups.first = group;
    if (group == groups.first || group == groups.second) return;
    groups.more = groups.second != none;
    if (!groups.more) groups.second = group;
  }

  const CellNets& nets_;
  GrowingColumn<Groups> of_net_;
};

}  // namespace

CellNets merged_nodes(const CellNets& nets, std::span<const std::uint32_t> group, std::uint32_t count) {
  GrowingColumn<std::int64_t> offsets(1, reading_bound()), weight;
  GrowingColumn<std::uint32_t> merged;
  GrowingColumn<double> load(count, reading_bound());
  const GrowingColumn<std::uint32_t> number = NetGroups(nets, group).number(weight);
  const Grouped members = grouped(count, nets.nodes(), [&group](std::size_t i) { return group[i]; });
  GrowingColumn<std::uint32_t> last(weight.size(), reading_bound());  // group that has the net already
  std::fill(last.begin(), last.end(), none);
  const auto add_node = [&](std::uint32_t node, std::uint32_t g) {
    load[g] += nets.load[node];
    for (std::int64_t e = nets.offsets[node]; e < nets.offsets[node + std::size_t{1}]; ++e) {
      const std::uint32_t net = number[nets.nets[e]];
      if (net == none || last[net] == g) continue;
      last[net] = g;
      merged.push_back(net);
    }
  };
  for (std::uint32_t g = 0; g < count; ++g) {
    for (std::uint32_t i = members.first[g]; i < members.first[g + std::size_t{1}]; ++i) add_node(members.items[i], g);
    std::sort(merged.begin() + offsets.back(), merged.end());
    offsets.push_back(static_cast<std::int64_t>(merged.size()));
  }
  return {offsets.finish(), merged.finish(), weight.finish(), load.finish()};
}

namespace {

/// Finds the node's best partner among nodes without a group.
class PartnerSearch {
 public:
  PartnerSearch(const CellNets& nets, std::span<const Rank> rank, double most, std::span<const std::uint32_t> group)
      : nets_(nets),
        rank_(rank),
        most_(most),
        group_(group),
        pins_(pins_of(nets)),
        shared_(nets.nodes(), reading_bound()) {}

  /// `none` without one. Ties go to the smallest number.
  std::uint32_t partner_of(std::uint32_t node) {
    for (std::int64_t e = nets_.offsets[node]; e < nets_.offsets[node + std::size_t{1}]; ++e)
      add_net(node, nets_.nets[e]);
    std::uint32_t best = none;
    for (const std::uint32_t other : met_) {
      const bool more = best == none || shared_[other] > shared_[best];
      if (more || (shared_[other] == shared_[best] && other < best)) best = other;
    }
    for (const std::uint32_t other : met_) shared_[other] = 0;
    met_.clear();
    return best;
  }

 private:
  static constexpr std::int64_t most_rated = 64;  // pins of a net that is looked at: large ones say little of two pins

  void add_net(std::uint32_t node, std::uint32_t net) {
    const std::int64_t first = pins_.offsets[net], end = pins_.offsets[net + std::size_t{1}];
    if (end - first > most_rated) return;
    const double share = static_cast<double>(nets_.weight[net]) / static_cast<double>(end - first - 1);
    for (std::int64_t i = first; i < end; ++i) {
      const std::uint32_t other = pins_.nodes[i];
      if (other == node || group_[other] != none || rank_[other] != rank_[node]) continue;
      if (nets_.load[other] + nets_.load[node] > most_) continue;
      if (shared_[other] == 0) met_.push_back(other);
      shared_[other] += share;
    }
  }

  const CellNets& nets_;
  std::span<const Rank> rank_;
  double most_;
  std::span<const std::uint32_t> group_;
  NetPins pins_;
  GrowingColumn<double> shared_;  // [nodes]
  std::vector<std::uint32_t> met_;
};

}  // namespace

NodeGroups pair_nodes(const CellNets& nets, std::span<const Rank> rank, double most, std::uint64_t seed) {
  NodeGroups groups{GrowingColumn<std::uint32_t>(nets.nodes(), reading_bound())};
  GrowingColumn<std::uint32_t>& group = groups.of_node;
  std::fill(group.begin(), group.end(), none);
  PartnerSearch search(nets, rank, most, group);
  for (const std::uint32_t node : seeded_order(nets.nodes(), seed, 0)) {
    if (group[node] != none) continue;
    const std::uint32_t partner = search.partner_of(node);
    group[node] = groups.count;
    if (partner != none) group[partner] = groups.count;
    ++groups.count;
  }
  return groups;
}

}  // namespace strobe
