// Returns four plans for one. Invariants: each row that is read has one place in one store; places of one owner follow
// each other, and so do those of gradients for one owner, which therefore leave in place. Counts are the same whatever
// lists are asked for.
#include "harness/full_batch/exchange/server_route.hpp"

#include <algorithm>
#include <utility>

#include "harness/full_batch/exchange/flat_rows.hpp"
#include "harness/full_batch/exchange/plan_builder.hpp"
#include "harness/full_batch/exchange/route_in_parts.hpp"

namespace strobe {
namespace {

std::vector<FlatRows> flat_sides(const ExchangePlan& plan, PeerSide RankExchange::*side,
                                 std::int64_t RowMove::*row_in_tensor) {
  std::vector<FlatRows> flat;
  for (Rank r = 0; r < plan.rank_count; ++r) flat.emplace_back(plan.of(r).*side, plan.rank_count, row_in_tensor);
  return flat;
}

/// Fills the stores: the next free place of each server.
class Stores {
 public:
  Stores(int servers, int ranks) : servers_(servers), rows_(ranks, 0) {
    for (int k = 0; k < servers; ++k) ranks_.push_back(rank_of_server(k, servers, ranks));
  }
  Rank rank_for(Rank owner, std::int64_t row) const { return ranks_[server_of_row(owner, row, servers_)]; }
  std::int64_t take(Rank server) { return rows_[server]++; }
  std::int64_t rows(Rank rank) const { return rows_[rank]; }

 private:
  int servers_;
  std::vector<Rank> ranks_;         // [servers]
  std::vector<std::int64_t> rows_;  // [P]
};

class Router {
 public:
  Router(const ExchangePlan& plan, const ListScope& scope)
      : plan_(plan),
        scope_{scope.kind, scope.rank},
        servers_(scope.servers),
        sent_(flat_sides(plan, &RankExchange::send, &RowMove::from)),
        received_(flat_sides(plan, &RankExchange::receive, &RowMove::to)) {}

  ServerRoute route() const {
    ServerRoute route;
    route.servers = servers_;
    route_forward(route);
    route_backward(route);
    return route;
  }

 private:
  void route_forward(ServerRoute& route) const {
    PlanBuilder push(plan_.rank_count, scope_), pull(plan_.rank_count, scope_);
    Stores stores(servers_, plan_.rank_count);
    for (Rank r = 0; r < plan_.rank_count; ++r) {
      const FlatRows& sent = sent_[r];
      std::vector<std::int64_t> pushed = sent.rows();
      std::sort(pushed.begin(), pushed.end());
      pushed.erase(std::unique(pushed.begin(), pushed.end()), pushed.end());
      std::vector<std::int64_t> place;
      for (const std::int64_t row : pushed) {
        const Rank server = stores.rank_for(r, row);
        place.push_back(stores.take(server));
        push.move(r, server, row, place.back(), 1);
      }
      for (const FlatRows::Peer& reader : sent.peers()) {
        const std::int64_t first = received_[reader.rank].first_of(r);
        for (std::int64_t i = 0; i < reader.count; ++i) {
          const std::int64_t row = sent.rows()[reader.first + i];
          const auto at = std::lower_bound(pushed.begin(), pushed.end(), row) - pushed.begin();
          pull.move(stores.rank_for(r, row), reader.rank, place[at], received_[reader.rank].rows()[first + i], 1);
        }
      }
    }
    for (Rank r = 0; r < plan_.rank_count; ++r) {
      push.rows(r, plan_.of(r).input_rows, stores.rows(r));
      pull.rows(r, stores.rows(r), plan_.of(r).output_rows);
    }
    route.push = one_way(push);
    route.pull = one_way(pull);
  }

  void route_backward(ServerRoute& route) const {
    PlanBuilder push(plan_.rank_count, scope_), pull(plan_.rank_count, scope_);
    Stores stores(servers_, plan_.rank_count);
    for (Rank r = 0; r < plan_.rank_count; ++r) {
      const FlatRows& sent = sent_[r];
      for (const FlatRows::Peer& reader : sent.peers()) {
        const std::int64_t first = received_[reader.rank].first_of(r);
        for (std::int64_t i = 0; i < reader.count; ++i) {
          const std::int64_t row = sent.rows()[reader.first + i];
          const Rank server = stores.rank_for(r, row);
          const std::int64_t place = stores.take(server);
          push.move(reader.rank, server, received_[reader.rank].rows()[first + i], place, 1);
          pull.move(server, r, place, plan_.fan_out ? reader.first + i : row, 1);
        }
      }
    }
    for (Rank r = 0; r < plan_.rank_count; ++r) {
      const RankExchange& rank = plan_.of(r);
      push.rows(r, rank.output_rows, stores.rows(r));
      pull.rows(r, stores.rows(r), plan_.fan_out ? rank.send.total : rank.input_rows);
    }
    route.push_back = one_way(push);
    route.pull_back = one_way(pull);
  }

  const ExchangePlan& plan_;
  ListScope scope_;
  int servers_;
  std::vector<FlatRows> sent_, received_;  // [P]
};

}  // namespace

ExchangePlan one_way(PlanBuilder& builder) {
  ExchangePlan plan = builder.finish(false);
  plan.one_way = true;
  plan.identity = false;  // rows of a tensor are never those of a store
  return plan;
}

Rank rank_of_server(int server, int servers, int ranks) {
  return static_cast<Rank>(static_cast<std::int64_t>(server) * ranks / servers);
}

int server_of_row(Rank owner, std::int64_t row, int servers) {
  std::uint64_t key = static_cast<std::uint64_t>(owner) << 40 ^ static_cast<std::uint64_t>(row);
  key += 0x9e3779b97f4a7c15ULL;  // splitmix64
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ULL;
  key = (key ^ key >> 27) * 0x94d049bb133111ebULL;
  return static_cast<int>((key ^ key >> 31) % static_cast<std::uint64_t>(servers));
}

ListScope scope_of_routed(const ListScope& scope) {
  return scope.servers > 0 && !scope.others_as_sums ? ListScope{} : scope;
}

ExchangePlan through_servers(ExchangePlan plan, const ListScope& scope) {
  if (scope.servers == 0) return plan;
  if (!plan.identity && plan.total_rows() > 0)
    plan.servers = std::make_shared<const ServerRoute>(scope.others_as_sums ? route_in_parts(plan, scope)
                                                                            : Router(plan, scope).route());
  for (RankExchange& rank : plan.ranks) {
    if (scope.covers(rank.rank)) continue;
    for (std::vector<RowMove>* const list : {&rank.keep, &rank.send.list, &rank.receive.list})
      std::vector<RowMove>().swap(*list);
  }
  return plan;
}

std::vector<const ExchangePlan*> carriers(const ExchangePlan& plan, bool backward) {
  if (plan.servers == nullptr) return {&plan};
  const ServerRoute& route = *plan.servers;
  if (backward) return {&route.push_back, &route.pull_back};
  return {&route.push, &route.pull};
}

std::int64_t sent_rows(const ExchangePlan& plan, bool backward) {
  std::int64_t rows = 0;
  for (const ExchangePlan* const carrier : carriers(plan, backward)) rows += carrier->total_rows();
  return rows;
}

}  // namespace strobe
