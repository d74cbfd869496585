// Returns what a flight moves and how its members disagree. Row lists are walked from the senders' side; each receiver
// keeps a cursor into its own list, which advances because senders come in ascending order, so a byte matrix with k
// entries on n ranks is checked and summed in O(n + k).
#include "backends/sim/flight.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/ordered_sum.hpp"

namespace strobe::sim {
namespace {

std::string_view name_of(const Call& call) { return collective_names[static_cast<int>(call.kind)]; }

std::vector<Part> parts_of(const std::vector<PeerRows>& rows) {
  std::vector<Part> parts;
  std::size_t count = 0;
  for (const PeerRows& peer : rows) count += peer.count != 0 ? 1 : 0;
  parts.reserve(count);
  for (std::size_t q = 0; q < rows.size(); ++q) {
    if (rows[q].count != 0) parts.push_back({rows[q].first, rows[q].count, static_cast<int>(q)});
  }
  return parts;
}

bool same_counts(const std::vector<Part>& a, const std::vector<Part>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Part& x, const Part& y) { return x.peer == y.peer && x.count == y.count; });
}

bool same_width(const Tensor& a, const Tensor& b) { return a.columns() == b.columns() && a.type() == b.type(); }

std::string shape_text(const Tensor& t) {
  return fmt::format("[{}, {}] of {}-byte elements", t.rows(), t.columns(), element_bytes(t.type()));
}

std::string compare_to_first(const Call& first, const Call& other, std::size_t rank) {
  if (other.kind != first.kind) {
    return fmt::format("rank 0 called {} where rank {} called {}", name_of(first), rank, name_of(other));
  }
  if (other.root != first.root) {
    return fmt::format("{}: rank 0 names root {} where rank {} names root {}", name_of(first), first.root, rank,
                       other.root);
  }
  const bool gather = first.kind == CollectiveKind::all_gather_v;
  const bool scatter = first.kind == CollectiveKind::reduce_scatter;
  if ((gather && !same_counts(first.receives, other.receives)) || (scatter && !same_counts(first.sends, other.sends))) {
    return fmt::format("{}: rank 0 and rank {} give the parts other numbers of rows", name_of(first), rank);
  }
  // Of an all_to_all_v only rows that travel have a width that matters; its pairs are compared one by one.
  if (first.kind == CollectiveKind::barrier || first.kind == CollectiveKind::all_to_all_v) return "";
  const Tensor& own = gather ? first.receive : first.send;
  const Tensor& theirs = gather ? other.receive : other.send;
  const bool whole = first.kind == CollectiveKind::all_reduce || first.kind == CollectiveKind::broadcast;
  if (!same_width(own, theirs) || (whole && own.rows() != theirs.rows())) {
    return fmt::format("{}: rank 0 has {} where rank {} has {}", name_of(first), shape_text(own), rank,
                       shape_text(theirs));
  }
  return "";
}

std::string disagreement_of_pair(int from, int to, std::int64_t sent, std::int64_t expected) {
  return fmt::format("all_to_all_v: rank {} has {} rows for rank {}, which expects {}", from, sent, to, expected);
}

std::string compare_exchange(const std::vector<Call>& calls) {
  std::vector<std::size_t> cursors(calls.size(), 0);
  for (std::size_t p = 0; p < calls.size(); ++p) {
    const int from = static_cast<int>(p);
    for (const Part& sent : calls[p].sends) {
      const std::vector<Part>& receives = calls[static_cast<std::size_t>(sent.peer)].receives;
      std::size_t& cursor = cursors[static_cast<std::size_t>(sent.peer)];
      if (cursor < receives.size() && receives[cursor].peer < from) {
        return disagreement_of_pair(receives[cursor].peer, sent.peer, 0, receives[cursor].count);
      }
      const bool expects = cursor < receives.size() && receives[cursor].peer == from;
      const std::int64_t expected = expects ? receives[cursor].count : 0;
      if (expected != sent.count) return disagreement_of_pair(from, sent.peer, sent.count, expected);
      if (!same_width(calls[p].send, calls[static_cast<std::size_t>(sent.peer)].receive)) {
        return fmt::format("all_to_all_v: rows of rank {} and rank {} differ in width or type", from, sent.peer);
      }
      ++cursor;
    }
  }
  for (std::size_t q = 0; q < calls.size(); ++q) {
    if (cursors[q] == calls[q].receives.size()) continue;
    const Part& left = calls[q].receives[cursors[q]];
    return disagreement_of_pair(left.peer, static_cast<int>(q), 0, left.count);
  }
  return "";
}

std::string compare_parts(const std::vector<Call>& calls) {
  const CollectiveKind kind = calls[0].kind;
  if (kind == CollectiveKind::all_to_all_v) return compare_exchange(calls);
  const bool sums = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
  if (sums && !is_summable(calls[0].send.type())) return fmt::format("{}: elements of type u8", name_of(calls[0]));
  if (kind != CollectiveKind::all_gather_v && kind != CollectiveKind::reduce_scatter) return "";
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const bool empty = (kind == CollectiveKind::all_gather_v ? calls[r].send : calls[r].receive).rows() == 0;
    if (empty || same_width(calls[r].send, calls[r].receive)) continue;
    return fmt::format("{}: rank {} sends and receives rows that differ in width or type", name_of(calls[r]), r);
  }
  return "";
}

}  // namespace

double Flight::last_arrival_seconds() const {
  double last = 0;
  for (const Call& call : calls) last = std::max(last, call.arrival_seconds);
  return last;
}

std::vector<int> Flight::missing_ranks() const {
  std::vector<int> missing;
  for (std::size_t m = 0; m < calls.size(); ++m) {
    if (!calls[m].arrived) missing.push_back(rank_of(static_cast<int>(m)));
  }
  return missing;
}

Call make_call(const Collective& collective, double arrival_seconds) {
  const int root = collective.kind == CollectiveKind::broadcast ? collective.peer : 0;
  return {collective.kind,
          collective.send,
          collective.receive,
          parts_of(collective.send_rows),
          parts_of(collective.receive_rows),
          root,
          arrival_seconds,
          true};
}

std::string find_disagreement(const Flight& flight) {
  const std::vector<Call>& calls = flight.calls;
  if (!flight.ranks.empty()) {
    if (calls[0].send.bytes() == calls[1].receive.bytes()) return "";
    return fmt::format("send of {} bytes by rank {} meets receive of {} bytes by rank {}", calls[0].send.bytes(),
                       flight.ranks[0], calls[1].receive.bytes(), flight.ranks[1]);
  }
  for (std::size_t r = 1; r < calls.size(); ++r) {
    std::string difference = compare_to_first(calls[0], calls[r], r);
    if (!difference.empty()) return difference;
  }
  return compare_parts(calls);
}

CollectiveLoad load_of(const Flight& flight, const Topology& topology) {
  const Call& first = flight.calls[0];
  CollectiveLoad load;
  load.kind = first.kind;
  load.bytes = first.send.bytes();
  if (!flight.ranks.empty()) {
    load.kind = CollectiveKind::send;
    load.from = flight.ranks[0];
    load.to = flight.ranks[1];
  } else if (load.kind == CollectiveKind::all_to_all_v) {
    load.exchange = ExchangeLoad(topology);
    for (std::size_t p = 0; p < flight.calls.size(); ++p) {
      const std::uint64_t row_bytes = flight.calls[p].send.row_bytes();
      for (const Part& part : flight.calls[p].sends) {
        load.exchange.add(topology, static_cast<int>(p), part.peer, static_cast<std::uint64_t>(part.count) * row_bytes);
      }
    }
  } else if (load.kind == CollectiveKind::all_gather_v || load.kind == CollectiveKind::reduce_scatter) {
    const bool gather = load.kind == CollectiveKind::all_gather_v;
    const std::vector<Part>& parts = gather ? first.receives : first.sends;
    const std::uint64_t row_bytes = (gather ? first.receive : first.send).row_bytes();
    std::int64_t total = 0, smallest = parts.size() < flight.calls.size() || parts.empty() ? 0 : parts[0].count;
    for (const Part& part : parts) {
      total += part.count;
      smallest = std::min(smallest, part.count);
    }
    load.bytes = static_cast<std::uint64_t>(total) * row_bytes;
    load.smallest_part_bytes = static_cast<std::uint64_t>(smallest) * row_bytes;
  }
  return load;
}

}  // namespace strobe::sim
