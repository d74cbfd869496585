// Expected halos. Returns whole numbers of rows whose sums over ranks and steps stay within one row per rank of the
// expectation: what a rank has got so far is rounded, not every step by itself, and ranks round at different times.
// Cost: O(T P) for the needs, O(P^2) per distinct vertex map for the exchange.
// Source: expected distinct readers under random assignment (occupancy), as `expected_halo_rows` in
// workloads/shape.hpp.
#include "harness/exchange/counted_halo.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace strobe {
namespace {

int owners_of(const VertexMap& map) {
  int owners = 0;
  for (const std::int64_t count : map.owned_count) owners += count > 0;
  return owners;
}

HaloNeeds no_needs(const Placement& placement) {
  HaloNeeds needs;
  needs.counted.assign(static_cast<std::size_t>(placement.ranks),
                       std::vector<std::int64_t>(static_cast<std::size_t>(placement.steps()), 0));
  return needs;
}

/// Deals expected numbers per step to the owners of the step's vertices.
class Dealer {
 public:
  explicit Dealer(const Placement& placement)
      : placement_(placement), had_(static_cast<std::size_t>(placement.ranks), 0.0), got_(had_.size(), 0) {}

  /// Visits (rank, whole share of `amount`) of the ranks that own vertices at step t.
  template <class Visit>
  void deal(Step t, double amount, const Visit& visit) {
    const VertexMap& map = placement_.map(t);
    for (std::size_t r = 0; r < had_.size(); ++r) {
      if (map.owned_count[r] == 0) continue;
      had_[r] += amount * static_cast<double>(map.owned_count[r]) / static_cast<double>(placement_.vertices);
      const double phase = (static_cast<double>(r) + 0.5) / static_cast<double>(had_.size());
      const auto until = static_cast<std::int64_t>(std::floor(had_[r] + phase));
      visit(r, until - got_[r]);
      got_[r] = until;
    }
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

/// Splits `rows` among the owners of a map other than `reader` in proportion to what they own.
void split_among_owners(const VertexMap& map, std::size_t reader, std::int64_t rows, std::vector<RankExchange>& ranks) {
  const std::size_t count = map.owned_count.size();
  double others = 0, seen = 0;
  for (std::size_t q = 0; q < count; ++q) others += q == reader ? 0 : static_cast<double>(map.owned_count[q]);
  std::int64_t given = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t q = (reader + i) % count;
    seen += static_cast<double>(map.owned_count[q]);
    const std::int64_t until = others == 0 ? 0 : std::llround(static_cast<double>(rows) * seen / others);
    ranks[q].send_count[reader] += until - given;
    ranks[reader].receive_count[q] += until - given;
    given = until;
  }
}

/// Packing work and totals of one rank. Rows to send are scattered: neighbours among them by chance only. Received rows
/// are ordered by step, then by peer, so one peer's are in one run throughout when there is no other.
void finish(RankExchange& rank, std::int64_t own, std::int64_t steps, std::size_t peers) {
  rank.input_rows = rank.kept_rows = own;
  rank.keep_moves = own > 0 ? 1 : 0;
  for (std::size_t q = 0; q < peers; ++q) {
    const std::int64_t sent = rank.send_count[q], received = rank.receive_count[q];
    const double density = own == 0 ? 0.0 : static_cast<double>(sent) / static_cast<double>(own);
    rank.pack_moves +=
        sent == 0 ? 0 : std::max<std::int64_t>(1, std::llround(static_cast<double>(sent) * (1 - density)));
    rank.unpack_moves += std::min(received, peers == 2 ? 1 : steps);  // one run per peer and step
    rank.send_in_place = rank.send_in_place && sent <= 1;
    rank.receive_in_place = rank.receive_in_place && (received <= 1 || peers == 2);
    rank.send_first.push_back(rank.send_total);
    rank.receive_first.push_back(rank.receive_total);
    rank.send_total += sent;
    rank.receive_total += received;
  }
  rank.output_rows = own + rank.receive_total;
}

}  // namespace

HaloNeeds counted_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step) {
  HaloNeeds needs = no_needs(placement);
  std::map<int, double> rows_of_owners;
  Dealer dealer(placement);
  for (Step t = 0; t < placement.steps(); ++t) {
    const int owners = owners_of(placement.map(t));
    if (owners < 2) continue;
    const auto [known, fresh] = rows_of_owners.try_emplace(owners, 0.0);
    if (fresh) known->second = expected_halo_rows(graph.counted->readers, owners);
    dealer.deal(t, known->second * graph.counted->step_share[static_cast<std::size_t>(first_step + t)],
                [&](std::size_t r, std::int64_t rows) { needs.counted[r][static_cast<std::size_t>(t)] = rows; });
  }
  return needs;
}

ExchangePlan counted_halo(const Placement& placement, const HaloNeeds& needs) {
  const auto peers = static_cast<std::size_t>(placement.ranks);
  ExchangePlan plan;
  plan.fan_out = true;
  plan.ranks.resize(peers);
  for (RankExchange& rank : plan.ranks) {
    rank.send_count.assign(peers, 0);
    rank.receive_count.assign(peers, 0);
  }
  std::vector<std::vector<std::int64_t>> rows(placement.maps.size(), std::vector<std::int64_t>(peers, 0));
  for (std::size_t r = 0; r < peers; ++r) {
    for (std::size_t t = 0; t < needs.counted[r].size(); ++t) {
      rows[static_cast<std::size_t>(placement.map_of_step[t])][r] += needs.counted[r][t];
    }
  }
  for (std::size_t m = 0; m < rows.size(); ++m) {
    for (std::size_t r = 0; r < peers; ++r) {
      if (rows[m][r] > 0) split_among_owners(*placement.maps[m], r, rows[m][r], plan.ranks);
    }
  }
  for (std::size_t r = 0; r < peers; ++r) {
    finish(plan.ranks[r], placement.rows(static_cast<Rank>(r)), placement.steps(), peers);
  }
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
  HaloNeeds needs = no_needs(placement);
  std::map<int, double> per_edge;
  Dealer homes(placement), halos(placement);
  for (const StepSamples& step : samples.steps) {
    const auto at = std::lower_bound(steps.begin(), steps.end(), step.step);
    if (at == steps.end() || *at != step.step) continue;
    const auto here = static_cast<Step>(at - steps.begin());
    placed.total_weight += static_cast<double>(step.count());
    homes.deal(here, static_cast<double>(step.count()),
               [&](std::size_t r, std::int64_t count) { placed.ranks[r].counted += count; });
    const int owners = owners_of(placement.map(here));
    if (owners < 2 || samples.arity < 2) continue;
    const auto [known, fresh] = per_edge.try_emplace(owners, 0.0);
    if (fresh) known->second = rows_per_edge(in_degree, samples.edge_share, owners);
    halos.deal(here, sample_rows(step, known->second, placement.vertices, owners),
               [&](std::size_t r, std::int64_t rows) { needs.counted[r][static_cast<std::size_t>(here)] += rows; });
  }
  placed.halo = counted_halo(placement, needs);
  return placed;
}

}  // namespace strobe
