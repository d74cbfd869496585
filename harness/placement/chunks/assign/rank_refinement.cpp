#include "harness/placement/chunks/assign/rank_refinement.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "harness/placement/chunks/assign/net_ranks.hpp"

namespace strobe {
namespace {

/// A node's best move when it was last looked at. The largest gain comes first, then the smallest node.
struct QueuedMove {
  std::int64_t gain = 0;
  std::uint32_t node = 0, stamp = 0;
  bool operator<(const QueuedMove& other) const { return std::tie(gain, other.node) < std::tie(other.gain, node); }
};

/// The best move comes first.
class MoveQueue {
 public:
  bool empty() const { return heap_.empty(); }
  const QueuedMove& top() const { return heap_[0]; }
  void push(const QueuedMove& move) {
    heap_.push_back(move);
    std::push_heap(heap_.begin(), heap_.end());
  }
  QueuedMove pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    const QueuedMove best = heap_.back();
    heap_.pop_back();
    return best;
  }
  void clear() { heap_.shrink(0); }

 private:
  GrowingColumn<QueuedMove> heap_{};
};

/// Local search in passes: in each, every node moves at most once, the best moves first, also those that lose for a
/// while. At the end of a pass all moves after its best moment are taken back.
class LocalSearch {
 public:
  LocalSearch(const CellNets& nets, const RefinementLimits& limits, std::span<Rank> rank)
      : nets_(nets),
        pins_(pins_of(nets)),
        rank_(rank),
        load_(load_of_ranks(nets, rank, limits.ranks)),
        allowed_(load_),
        most_(limits.most_load),
        heaviest_(*std::max_element(nets.load.begin(), nets.load.end())),
        of_nets_(nets, limits.ranks, rank, load_),
        stamp_(nets.nodes(), reading_bound()) {
    constexpr double rounding = 1 + 1e-12;
    for (double& allowed : allowed_) allowed = std::max(allowed, most_) * rounding;
  }

  /// Returns the columns that are no longer sent. With `trades`, where single moves gain little, a pass lets ranks pass
  /// their limit by a node on the way, so that nodes can change places. Its best moment is within the limits.
  std::int64_t run(bool trades) {
    constexpr int most_passes = 4;
    constexpr std::int64_t least_share = 20;  // of all gains so far, for another pass
    std::int64_t sum = 0;
    for (int pass = 0; pass < most_passes; ++pass) {
      std::int64_t gained = run_pass(0);
      if (trades && gained * least_share <= sum + gained) gained += run_pass(heaviest_);
      sum += gained;
      if (gained * least_share <= sum) break;
    }
    return sum;
  }

 private:
  static constexpr std::int64_t most_told = 128;  // pins of a net whose other pins are looked at again

  std::int64_t run_pass(double slack) {
    const auto patience = std::clamp<std::size_t>(nets_.nodes() / 50, 200, 1000);
    start_pass(slack);
    std::int64_t gained = 0, best = 0;
    std::size_t kept = 0;
    while (!queue_.empty() && moves_.size() < kept + patience) {
      const QueuedMove next = queue_.pop();
      if (stamp_[next.node] != next.stamp) continue;
      const NodeMove move = of_nets_.best_move(next.node, limit_);
      if (move.to < 0) continue;
      if (move.gain < next.gain) {
        queue_.push(queued(next.node, move));
        continue;
      }
      gained += move.gain;
      apply(next.node, move.to);
      if (gained > best && over_ == 0) best = gained, kept = moves_.size();
    }
    take_back(kept);
    return best;
  }

  void start_pass(double slack) {
    limit_ = most_ + slack;
    std::fill(stamp_.begin(), stamp_.end(), 0u);
    queue_.clear();
    for (std::uint32_t node = 0; node < nets_.nodes(); ++node) {
      if (!of_nets_.at_border(node)) continue;
      if (const NodeMove move = of_nets_.best_move(node, limit_); move.to >= 0) queue_.push(queued(node, move));
    }
  }

  QueuedMove queued(std::uint32_t node, const NodeMove& move) { return {move.gain, node, ++stamp_[node]}; }

  void apply(std::uint32_t node, Rank to) {
    const Rank from = rank_[node];
    moves_.push_back({node, from});
    stamp_[node] = moved;
    touched_.clear();
    const auto over = [this](Rank rank) { return load_[rank] > allowed_[rank] ? 1 : 0; };
    over_ -= over(from) + over(to);
    of_nets_.move(node, to, [this](std::uint32_t net) {
      const std::int64_t first = pins_.offsets[net], end = pins_.offsets[net + std::size_t{1}];
      if (end - first > most_told) return;
      for (std::int64_t i = first; i < end; ++i)
        if (stamp_[pins_.nodes[i]] != moved) touched_.push_back(pins_.nodes[i]);
    });
    over_ += over(from) + over(to);
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const std::uint32_t other : touched_)
      if (const NodeMove move = of_nets_.best_move(other, limit_); move.to >= 0) queue_.push(queued(other, move));
  }

  void take_back(std::size_t kept) {
    for (; moves_.size() > kept; moves_.pop_back())
      of_nets_.move(moves_.back().node, moves_.back().from, [](std::uint32_t) {});
    moves_.shrink(0), over_ = 0;
  }

  /// A node with the rank that it left.
  struct Moved {
    std::uint32_t node = 0;
    Rank from = 0;
  };
  static constexpr std::uint32_t moved = 0xffffffff;  // the stamp of nodes that have moved in this pass

  const CellNets& nets_;
  const NetPins pins_;
  std::span<Rank> rank_;
  std::vector<double> load_, allowed_;  // [P]
  double most_, heaviest_;              // of a rank, and of a node
  NetRanks of_nets_;
  double limit_ = 0;                    // load to which a rank may take nodes in this pass
  int over_ = 0;                        // ranks above what they are allowed
  GrowingColumn<std::uint32_t> stamp_;  // [nodes] of the entry in the queue that counts
  MoveQueue queue_;
  GrowingColumn<Moved> moves_{};
  std::vector<std::uint32_t> touched_;
};

/// Refines merged pairs of nodes before the nodes. Returns by how much less is sent.
std::int64_t refine_levels(const CellNets& nets, const RefinementLimits& limits, std::uint64_t seed, bool trades,
                           std::span<Rank> rank) {
  constexpr std::size_t nodes_of_rank = 32;
  std::int64_t gained = 0;
  const auto ranks = static_cast<std::size_t>(limits.ranks);
  if (nets.nodes() > nodes_of_rank * ranks) {
    const double most = limits.most_load / static_cast<double>(nodes_of_rank);
    const auto [group, count] = pair_nodes(nets, rank, most, seed);
    if (count * std::size_t{20} < nets.nodes() * std::size_t{19}) {
      GrowingColumn<Rank> of_group(count, reading_bound());
      for (std::size_t i = 0; i < group.size(); ++i) of_group[group[i]] = rank[i];
      gained += refine_levels(merged_nodes(nets, group, count), limits, seed + 1, trades, {of_group.data(), count});
      for (std::size_t i = 0; i < group.size(); ++i) rank[i] = of_group[group[i]];
    }
  }
  return gained + LocalSearch(nets, limits, rank).run(trades);
}

}  // namespace

std::vector<double> load_of_ranks(const CellNets& nets, std::span<const Rank> rank, int ranks) {
  std::vector<double> load(ranks, 0);
  for (std::size_t i = 0; i < nets.nodes(); ++i) load[rank[i]] += nets.load[i];
  return load;
}

void balance_ranks(const CellNets& nets, const RefinementLimits& limits, std::span<Rank> rank) {
  std::vector<double> load = load_of_ranks(nets, rank, limits.ranks);
  NetRanks of_nets(nets, limits.ranks, rank, load);
  for (Rank heavy = 0; heavy < limits.ranks; ++heavy) {
    if (load[heavy] <= limits.most_load) continue;
    MoveQueue queue;
    for (std::uint32_t node = 0; node < nets.nodes(); ++node)
      if (rank[node] == heavy) queue.push({of_nets.best_move(node, limits.most_load, true).gain, node, 0});
    while (!queue.empty() && load[heavy] > limits.most_load) {
      const QueuedMove next = queue.pop();
      const NodeMove move = of_nets.best_move(next.node, limits.most_load, true);
      if (move.to < 0) continue;
      if (!queue.empty() && move.gain < queue.top().gain) {
        queue.push({move.gain, next.node, 0});
        continue;
      }
      of_nets.move(next.node, move.to, [](std::uint32_t) {});
    }
  }
}

void refine_ranks(const CellNets& nets, const RefinementLimits& limits, std::span<Rank> rank) {
  constexpr std::uint64_t levels_apart = 64;
  constexpr std::size_t few_nodes = 4096;  // of more, some fit wherever one is wanted
  if (limits.ranks < 2) return;
  const bool trades = nets.nodes() <= few_nodes;
  for (std::uint64_t round = limits.first_round; round < limits.first_round + limits.rounds; ++round)
    if (refine_levels(nets, limits, limits.seed + round * levels_apart, trades, rank) == 0) break;
}

}  // namespace strobe
