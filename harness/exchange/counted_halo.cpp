// Expected halos. Returns whole numbers of rows whose sums over ranks and steps stay within one row per rank of the
// expectation: what a rank has got so far is rounded, not every step by itself, and ranks round at different times.
// Cost: O(owners of each step) for the needs, O(P^2) per distinct vertex map that needs some for the exchange.
// Source: expected distinct readers under random assignment (occupancy), as `expected_halo_rows` in
// workloads/shape.hpp.
#include "harness/exchange/counted_halo.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/placement/local_rows.hpp"

namespace strobe {
namespace {

int owners_of(const VertexMap& map) {
  int owners = 0;
  map.for_owners([&owners](Rank, std::int64_t) { ++owners; });
  return owners;
}

/// Deals expected numbers per step to the owners of the step's vertices.
class Dealer {
 public:
  explicit Dealer(const Placement& placement)
      : placement_(placement), had_(static_cast<std::size_t>(placement.ranks), 0.0), got_(had_.size(), 0) {}

  /// Visits (rank, whole share of `amount`) of the ranks that own vertices at step t.
  template <class Visit>
  void deal(Step t, double amount, const Visit& visit) {
    placement_.map(t).for_owners([&](Rank rank, std::int64_t owned) {
      const auto r = static_cast<std::size_t>(rank);
      had_[r] += amount * static_cast<double>(owned) / static_cast<double>(placement_.vertices);
      const double phase = (static_cast<double>(r) + 0.5) / static_cast<double>(had_.size());
      const auto until = static_cast<std::int64_t>(std::floor(had_[r] + phase));
      visit(rank, until - got_[r]);
      got_[r] = until;
    });
  }

 private:
  const Placement& placement_;
  std::vector<double> had_;
  std::vector<std::int64_t> got_;
};

/// Rows that cross when vertices are dealt to `owners` ranks, per drawn edge: needed by (G - 1) (1 - (1 - s/G)^k).
double rows_per_edge(const Histogram& in_degree, double share, int owners) {
  const double others = owners - 1, stays = 1 - share / owners;
  double rows = 0, edges = 0;
  for (const Histogram::Bin& bin : in_degree.bins) {
    const double degree = static_cast<double>(bin.sum) / static_cast<double>(bin.count);
    rows += static_cast<double>(bin.count) * others * (1 - std::pow(stays, degree));
    edges += static_cast<double>(bin.sum) * share;
  }
  return edges == 0 ? 0 : rows / edges;
}

double sample_rows(const StepSamples& samples, double per_edge, std::int64_t vertices, int owners) {
  const auto n = static_cast<double>(vertices);
  const double pair_seen = -std::expm1(static_cast<double>(samples.pairs) * std::log1p(-1 / (n * owners)));
  const double of_edges = static_cast<double>(samples.edges) * per_edge;
  return of_edges + (n * (owners - 1) - of_edges) * pair_seen;
}

/// Splits `rows` among the owners of a map other than `reader` in proportion to what they own; adds to `received` [P].
void split_among_owners(const VertexMap& map, std::size_t reader, std::int64_t rows,
                        std::vector<std::int64_t>& received) {
  const std::size_t count = received.size();
  double others = 0, seen = 0;
  for (std::size_t q = 0; q < count; ++q) {
    others += q == reader ? 0 : static_cast<double>(map.count_of(static_cast<Rank>(q)));
  }
  std::int64_t given = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t q = (reader + i) % count;
    seen += static_cast<double>(map.count_of(static_cast<Rank>(q)));
    const std::int64_t until = others == 0 ? 0 : std::llround(static_cast<double>(rows) * seen / others);
    received[q] += until - given;
    given = until;
  }
}

/// Rows that one reader gets from each rank: [P]; empty when it needs none.
std::vector<std::int64_t> rows_received(const Placement& placement, const std::vector<std::int64_t>& needed,
                                        std::size_t reader) {
  std::vector<std::int64_t> of_map(placement.maps.size(), 0), received;
  for (std::size_t t = 0; t < needed.size(); ++t) {
    of_map[static_cast<std::size_t>(placement.map_of_step[t])] += needed[t];
  }
  for (std::size_t m = 0; m < of_map.size(); ++m) {
    if (of_map[m] <= 0) continue;
    received.resize(static_cast<std::size_t>(placement.ranks), 0);
    split_among_owners(*placement.maps[m], reader, of_map[m], received);
  }
  return received;
}

/// Adds what one peer sends or gets behind the others' rows.
void append_peer(PeerSide& side, std::size_t peer, std::int64_t rows) {
  append_part(side.parts, {side.total, rows, static_cast<int>(peer), 1});
  side.total += rows;
}

/// Packing work and totals of one rank. Rows to send are scattered: neighbours among them by chance only. Received rows
/// are ordered by step, then by peer, so one peer's are in one run throughout when there is no other.
void finish(RankExchange& rank, std::int64_t own, std::int64_t steps, int peers) {
  rank.input_rows = rank.kept_rows = own;
  rank.keep_moves = own > 0 ? 1 : 0;
  for (const PeerPart& part : rank.send.parts) {
    const double density = own == 0 ? 0.0 : static_cast<double>(part.count) / static_cast<double>(own);
    const std::int64_t runs = std::max<std::int64_t>(1, std::llround(static_cast<double>(part.count) * (1 - density)));
    rank.send.moves += part.peers * runs;
    rank.send.in_place = rank.send.in_place && part.count <= 1;
  }
  for (const PeerPart& part : rank.receive.parts) {
    rank.receive.moves += part.peers * std::min(part.count, peers == 2 ? 1 : steps);  // one run per peer and step
    rank.receive.in_place = rank.receive.in_place && (part.count <= 1 || peers == 2);
  }
  // A row that goes to several peers cannot stand where a range for each of them would.
  rank.send.in_place = rank.send.in_place && rank.send.total <= own;
  rank.send.parts.shrink_to_fit();
  rank.receive.parts.shrink_to_fit();
  rank.output_rows = own + rank.receive.total;
}

}  // namespace

HaloNeeds counted_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step) {
  HaloNeeds needs = no_needs(placement.ranks, placement.steps(), true);
  std::map<int, double> rows_of_owners;
  Dealer dealer(placement);
  for (Step t = 0; t < placement.steps(); ++t) {
    const int owners = owners_of(placement.map(t));
    if (owners < 2) continue;
    const auto [known, fresh] = rows_of_owners.try_emplace(owners, 0.0);
    if (fresh) known->second = expected_halo_rows(graph.counted->readers, owners);
    dealer.deal(t, known->second * graph.counted->step_share[static_cast<std::size_t>(first_step + t)],
                [&](Rank r, std::int64_t rows) { needs.count_at(r, t) = rows; });
  }
  return needs;
}

ExchangePlan counted_halo(const Placement& placement, const HaloNeeds& needs) {
  const auto peers = static_cast<std::size_t>(placement.ranks);
  ExchangePlan plan;
  plan.fan_out = true;
  plan.rank_count = placement.ranks;
  plan.ranks.resize(peers);
  for (std::size_t r = 0; r < peers; ++r) {
    plan.ranks[r].rank = static_cast<Rank>(r);
    const std::vector<std::int64_t> received = rows_received(placement, needs.counted[r], r);
    for (std::size_t q = 0; q < received.size(); ++q) {
      if (received[q] == 0) continue;
      append_peer(plan.ranks[r].receive, q, received[q]);
      append_peer(plan.ranks[q].send, r, received[q]);
    }
  }
  const std::vector<std::int64_t> own = rows_of_ranks(placement);
  for (std::size_t r = 0; r < peers; ++r) finish(plan.ranks[r], own[r], placement.steps(), placement.ranks);
  plan.complete();
  plan.identity = plan.total_rows() == 0;
  return plan;
}

PlacedSamples place_counted_samples(const CountedSamples& samples, const Histogram& in_degree,
                                    const Placement& placement, const std::vector<Step>& steps) {
  PlacedSamples placed;
  placed.ranks.resize(static_cast<std::size_t>(placement.ranks));
  for (LocalSamples& rank : placed.ranks) {
    rank.rows.resize(static_cast<std::size_t>(samples.arity));
    rank.counted = 0;
    rank.counted_values = samples.arity == 1;  // what is counted of single vertices is a regression
  }
  HaloNeeds needs = no_needs(placement.ranks, placement.steps(), true);
  std::map<int, double> per_edge;
  Dealer homes(placement), halos(placement);
  for (const StepSamples& step : samples.steps) {
    const auto at = std::lower_bound(steps.begin(), steps.end(), step.step);
    if (at == steps.end() || *at != step.step) continue;
    const auto here = static_cast<Step>(at - steps.begin());
    placed.total_weight += static_cast<double>(step.count());
    homes.deal(here, static_cast<double>(step.count()),
               [&](Rank r, std::int64_t count) { placed.ranks[static_cast<std::size_t>(r)].counted += count; });
    const int owners = owners_of(placement.map(here));
    if (owners < 2 || samples.arity < 2) continue;
    const auto [known, fresh] = per_edge.try_emplace(owners, 0.0);
    if (fresh) known->second = rows_per_edge(in_degree, samples.edge_share, owners);
    halos.deal(here, sample_rows(step, known->second, placement.vertices, owners),
               [&](Rank r, std::int64_t rows) { needs.count_at(r, here) += rows; });
  }
  placed.halo = counted_halo(placement, needs);
  return placed;
}

}  // namespace strobe
