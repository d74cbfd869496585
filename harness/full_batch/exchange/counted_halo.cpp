// Computes expected halos in whole numbers of rows. Their sums over ranks and steps stay within one row per rank of the
// expectation. This holds because each rank's running total is rounded, not every step by itself. Ranks round at
// different times. Cost: O(owners of each step) for the needs, O(P^2) time per distinct vertex map with needs for the
// exchange. Source: expected distinct readers under random assignment (occupancy), as in `expected_halo_rows` of
// workloads/shape/shape.hpp.
#include "harness/full_batch/exchange/counted_halo.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "harness/full_batch/exchange/dealt_peers.hpp"
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
      const std::size_t r = rank;
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

/// Halo rows per drawn edge when vertices are dealt to `owners` ranks: (G - 1) (1 - (1 - s/G)^k) ranks need a vertex.
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
  const double n = vertices;
  const double pair_seen = -std::expm1(static_cast<double>(samples.pairs) * std::log1p(-1 / (n * owners)));
  const double of_edges = static_cast<double>(samples.edges) * per_edge;
  return of_edges + (n * (owners - 1) - of_edges) * pair_seen;
}

/// Adds entries to the sides of a plan with dealt peers, and gives each rank its lists.
class DealtSides {
 public:
  DealtSides(const Placement& placement, const HaloNeeds& needs, ExchangePlan& plan)
      : dealt_(std::make_shared<const DealtRows>(placement, needs)),
        steps_(placement.steps()),
        plan_(plan),
        own_(rows_of_ranks(placement)),
        sent_(own_.size()),
        received_(own_.size()) {
    for (Rank r = 0; r < placement.ranks; ++r) {
      for (const PeerRole role : {PeerRole::sender, PeerRole::receiver})
        weights_[static_cast<std::size_t>(role)].push_back(rank_weight(r, r + 1, role));
    }
  }

  /// Visits every pair once.
  void add_pairs() {
    for (Rank reader = 0; reader < dealt_->ranks(); ++reader) {
      if (!dealt_->reads(reader)) continue;
      std::int64_t before = 0;
      for (int place = 1; place < dealt_->ranks(); ++place) {
        const std::int64_t until = dealt_->given(reader, place);
        if (until != before) add((reader + place) % dealt_->ranks(), reader, until - before);
        before = until;
      }
    }
  }

  void finish() {
    for (std::size_t r = 0; r < own_.size(); ++r) {
      RankExchange& rank = plan_.ranks[r];
      rank.rank = static_cast<Rank>(r);
      rank.input_rows = rank.kept_rows = own_[r];
      rank.keep_moves = own_[r] > 0 ? 1 : 0;
      rank.send.total = sent_[r].rows;
      rank.receive.total = received_[r].rows;
      rank.output_rows = own_[r] + rank.receive.total;
      // Rows in place are one range for each peer, so a row that goes to several peers needs a buffer.
      rank.send.in_place = sent_[r].most_rows <= 1 && rank.send.total <= own_[r];
      rank.receive.in_place = received_[r].most_rows <= 1 || dealt_->ranks() == 2;
      if (sent_[r].peers > 0) rank.send.peers = dealt_peers(dealt_, rank.rank, PeerRole::sender, sent_[r]);
      if (received_[r].peers > 0) rank.receive.peers = dealt_peers(dealt_, rank.rank, PeerRole::receiver, received_[r]);
    }
  }

 private:
  void add(Rank owner, Rank reader, std::int64_t rows) {
    const auto from = static_cast<std::size_t>(owner), to = static_cast<std::size_t>(reader);
    count(sent_[from], rows, to);
    count(received_[to], rows, from);
    // Rows to send are scattered: they are neighbours by chance only. Received rows are ordered by step, then by peer.
    // They form one run per peer and step, or a single run if there is only one peer.
    const double density = own_[from] == 0 ? 0.0 : static_cast<double>(rows) / static_cast<double>(own_[from]);
    const std::int64_t runs = std::llround(static_cast<double>(rows) * (1 - density));
    plan_.ranks[from].send.moves += std::max<std::int64_t>(1, runs);
    plan_.ranks[to].receive.moves += std::min(rows, dealt_->ranks() == 2 ? 1 : steps_);
  }

  void count(PeerTotals& totals, std::int64_t rows, std::size_t peer) const {
    totals.rows += rows;
    totals.end_row = totals.rows;
    ++totals.peers;
    totals.most_rows = std::max(totals.most_rows, rows);
    totals.least_rows = totals.peers == 1 ? rows : std::min(totals.least_rows, rows);
    totals.end_peer = std::max(totals.end_peer, static_cast<int>(peer) + 1);
    for (std::size_t role = 0; role < weights_.size(); ++role)
      totals.weighted[role] += static_cast<std::uint64_t>(rows) * weights_[role][peer];
  }

  std::shared_ptr<const DealtRows> dealt_;
  std::int64_t steps_;
  ExchangePlan& plan_;
  std::vector<std::int64_t> own_;                        // [P]
  std::vector<PeerTotals> sent_, received_;              // [P]
  std::array<std::vector<std::uint64_t>, 2> weights_{};  // of each rank, by its role
};

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
    dealer.deal(t, known->second * graph.counted->step_share[first_step + t],
                [&](Rank r, std::int64_t rows) { needs.count_at(r, t) = rows; });
  }
  return needs;
}

ExchangePlan counted_halo(const Placement& placement, const HaloNeeds& needs) {
  ExchangePlan plan;
  plan.fan_out = true;
  plan.rank_count = placement.ranks;
  plan.ranks.resize(placement.ranks);
  DealtSides sides(placement, needs, plan);
  sides.add_pairs();
  sides.finish();
  plan.complete();
  plan.identity = plan.total_rows() == 0;
  return plan;
}

PlacedSamples place_counted_samples(const CountedSamples& samples, const Histogram& in_degree,
                                    const Placement& placement, const std::vector<Step>& steps) {
  PlacedSamples placed;
  placed.ranks.resize(placement.ranks);
  for (LocalSamples& rank : placed.ranks) {
    rank.rows.resize(samples.arity);
    rank.counted = 0;
    rank.counted_values = samples.arity == 1;  // counted samples of single vertices are a regression
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
               [&](Rank r, std::int64_t count) { placed.ranks[r].counted += count; });
    const int owners = owners_of(placement.map(here));
    if (owners < 2 || samples.arity < 2) continue;
    const auto [known, fresh] = per_edge.try_emplace(owners, 0.0);
    if (fresh) known->second = rows_per_edge(in_degree, samples.edge_share, owners);
    halos.deal(here, sample_rows(step, known->second, placement.vertices, owners),
               [&](Rank r, std::int64_t rows) { needs.count_at(r, here) += rows; });
  }
  placed.halo = counted_halo(placement, needs);
  placed.complete();
  return placed;
}

}  // namespace strobe
