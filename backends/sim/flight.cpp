// Returns the load of a flight and the disagreements of its members. One sum, which both sides take from their lists'
// totals, decides whether the senders' byte matrix equals the receivers'. Over all pairs it adds rows times a random
// weight of the sender times one of the receiver, modulo 2^64. Equal matrices have equal sums; different ones have
// equal sums with a chance of about 2^-60. Pairs are compared one by one only if the sums differ, from the senders'
// side with a cursor into each receiver's list, to name the first difference. So exchanges of n ranks are checked and
// summed in O(n).
#include "backends/sim/flight.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/agreement.hpp"
#include "backends/ordered_sum.hpp"

namespace strobe::sim {
namespace {

std::string_view name_of(const Call& call) { return call_name(call.kind, call.groups != 0); }

/// Whether two lists give each rank as many rows, wherever they lie. As for byte matrices, by weighted sums.
bool same_counts(const SharedPeers& a, const SharedPeers& b) {
  return a == b || (a->totals().rows == b->totals().rows && a->totals().weighted == b->totals().weighted);
}

/// The weighted sum of the byte matrix as the senders, or the receivers, list it.
std::uint64_t weighted_rows(const std::vector<Call>& calls, const SharedPeers Call::*lists, PeerRole own) {
  const PeerRole peer = own == PeerRole::sender ? PeerRole::receiver : PeerRole::sender;
  std::uint64_t total = 0;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const int rank = static_cast<int>(r);
    total += (calls[r].*lists)->totals().weighted_as(peer) * rank_weight(rank, rank + 1, own);
  }
  return total;
}

bool same_width(const Tensor& a, const Tensor& b) { return a.columns() == b.columns() && a.type() == b.type(); }

std::string shape_text(const Tensor& t) {
  return fmt::format("[{}, {}] of {}-byte elements", t.rows(), t.columns(), element_bytes(t.type()));
}

std::string compare_to_first(const Flight& flight, std::size_t member) {
  const Call &first = flight.calls[0], &other = flight.calls[member];
  const int leader = flight.rank_of(0), rank = flight.rank_of(static_cast<int>(member));
  if (name_of(other) != name_of(first)) {
    return fmt::format("rank {} called {} where rank {} called {}", leader, name_of(first), rank, name_of(other));
  }
  if (other.groups != first.groups) return fmt::format("split: rank {} and rank {} give other groups", leader, rank);
  if (other.root != first.root) {
    return fmt::format("{}: rank {} names root {} where rank {} names root {}", name_of(first), leader,
                       flight.rank_of(first.root), rank, flight.rank_of(other.root));
  }
  if (other.reduction != first.reduction) {
    return fmt::format("{}: rank {} takes the {} where rank {} takes the {}", name_of(first), leader,
                       reduction_names[static_cast<int>(first.reduction)], rank,
                       reduction_names[static_cast<int>(other.reduction)]);
  }
  const bool gather = first.kind == CollectiveKind::all_gather_v;
  const bool scatter = first.kind == CollectiveKind::reduce_scatter;
  if ((gather && !same_counts(first.receives, other.receives)) || (scatter && !same_counts(first.sends, other.sends))) {
    return fmt::format("{}: rank {} and rank {} give the parts other numbers of rows", name_of(first), leader, rank);
  }
  // In an all_to_all_v only the width of rows that travel matters; its pairs are compared one by one.
  if (first.kind == CollectiveKind::barrier || first.kind == CollectiveKind::all_to_all_v) return "";
  const Tensor& own = gather ? first.receive : first.send;
  const Tensor& theirs = gather ? other.receive : other.send;
  const bool whole = first.kind == CollectiveKind::all_reduce || first.kind == CollectiveKind::broadcast;
  if (!same_width(own, theirs) || (whole && own.rows() != theirs.rows())) {
    return fmt::format("{}: rank {} has {} where rank {} has {}", name_of(first), leader, shape_text(own), rank,
                       shape_text(theirs));
  }
  return "";
}

std::string disagreement_of_pair(const Flight& flight, int from, int to, std::int64_t sent, std::int64_t expected) {
  return fmt::format("all_to_all_v: rank {} has {} rows for rank {}, which expects {}", flight.rank_of(from), sent,
                     flight.rank_of(to), expected);
}

/// The first pair of ranks, in order of senders, that disagrees about its rows or their width.
std::string disagreeing_pair(const Flight& flight) {
  const std::vector<Call>& calls = flight.calls;
  std::vector<std::size_t> cursors(calls.size(), 0);
  std::vector<PeerParts> expected_of;
  for (const Call& call : calls) expected_of.push_back(one_per_rank(*call.receives));
  for (std::size_t p = 0; p < calls.size(); ++p) {
    const int from = static_cast<int>(p);
    for (const PeerPart& sent : one_per_rank(*calls[p].sends)) {
      const PeerParts& receives = expected_of[sent.peer];
      std::size_t& cursor = cursors[sent.peer];
      if (cursor < receives.size() && receives[cursor].peer < from) {
        return disagreement_of_pair(flight, receives[cursor].peer, sent.peer, 0, receives[cursor].count);
      }
      const bool expects = cursor < receives.size() && receives[cursor].peer == from;
      const std::int64_t expected = expects ? receives[cursor].count : 0;
      if (expected != sent.count) return disagreement_of_pair(flight, from, sent.peer, sent.count, expected);
      if (!same_width(calls[p].send, calls[sent.peer].receive)) {
        return fmt::format("all_to_all_v: rows of rank {} and rank {} differ in width or type", flight.rank_of(from),
                           flight.rank_of(sent.peer));
      }
      ++cursor;
    }
  }
  for (std::size_t q = 0; q < calls.size(); ++q) {
    if (cursors[q] == expected_of[q].size()) continue;
    const PeerPart& left = expected_of[q][cursors[q]];
    return disagreement_of_pair(flight, left.peer, static_cast<int>(q), 0, left.count);
  }
  return "";
}

std::string compare_exchange(const Flight& flight) {
  const std::vector<Call>& calls = flight.calls;
  const auto as_first = [&calls](const Call& call) { return same_width(call.send, calls[0].send); };
  const bool one_width = std::all_of(calls.begin(), calls.end(), as_first);
  if (one_width && weighted_rows(calls, &Call::sends, PeerRole::sender) ==
                       weighted_rows(calls, &Call::receives, PeerRole::receiver)) {
    return "";
  }
  return disagreeing_pair(flight);
}

/// Bytes of one side of an all-to-all-v per rank, inside its node and beyond it; returns the number of messages.
std::uint64_t sum_rows(const std::vector<Call>& calls, const SharedPeers Call::*lists, const Topology& topology,
                       std::vector<std::uint64_t>& inside, std::vector<std::uint64_t>& outside,
                       std::uint64_t& most_messages) {
  std::uint64_t messages = 0;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const PeerList& peers = *(calls[r].*lists);
    const std::uint64_t row_bytes = calls[r].send.row_bytes();
    const int node = topology.node_of(static_cast<int>(r));
    const std::int64_t near = peers.rows_between(topology.first_of(node), topology.first_of(node + 1));
    inside[r] = static_cast<std::uint64_t>(near) * row_bytes;
    outside[r] = static_cast<std::uint64_t>(peers.totals().rows - near) * row_bytes;
    const std::uint64_t own_messages = peers.totals().peers;
    messages += own_messages;
    most_messages = std::max(most_messages, own_messages);
  }
  return messages;
}

ExchangeLoad exchange_load(const std::vector<Call>& calls, const Topology& topology) {
  ExchangeLoad load(topology);
  load.messages = sum_rows(calls, &Call::sends, topology, load.sent_inside, load.sent_outside, load.most_messages);
  sum_rows(calls, &Call::receives, topology, load.received_inside, load.received_outside, load.most_messages);
  return load;
}

std::string compare_parts(const Flight& flight) {
  const std::vector<Call>& calls = flight.calls;
  const CollectiveKind kind = calls[0].kind;
  if (kind == CollectiveKind::all_to_all_v) return compare_exchange(flight);
  const bool sums = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
  if (sums && !is_summable(calls[0].send.type())) return fmt::format("{}: elements of type u8", name_of(calls[0]));
  if (kind != CollectiveKind::all_gather_v && kind != CollectiveKind::reduce_scatter) return "";
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const bool empty = (kind == CollectiveKind::all_gather_v ? calls[r].send : calls[r].receive).rows() == 0;
    if (empty || same_width(calls[r].send, calls[r].receive)) continue;
    return fmt::format("{}: rank {} sends and receives rows that differ in width or type", name_of(calls[r]),
                       flight.rank_of(static_cast<int>(r)));
  }
  return "";
}

}  // namespace

PeerParts one_per_rank(const PeerList& peers) {
  PeerParts expanded;
  for (const PeerPart& part : peers.parts()) {
    for (int i = 0; i < part.peers; ++i)
      expanded.push_back({part.first + i * part.count, part.count, part.peer + i, 1});
  }
  return expanded;
}

Instant Flight::last_arrival() const {
  Instant last;
  for (const Call& call : calls) last.raise(call.arrival);
  return last;
}

std::vector<int> Flight::missing_ranks() const {
  std::vector<int> missing;
  for (std::size_t m = 0; m < calls.size(); ++m) {
    if (!calls[m].arrived) missing.push_back(rank_of(static_cast<int>(m)));
  }
  return missing;
}

Call make_call(const Collective& collective, Instant arrival) {
  const int root = collective.kind == CollectiveKind::broadcast ? collective.peer : 0;
  return {collective.kind,
          collective.traffic,
          collective.send,
          collective.receive,
          collective.sends,
          collective.receives,
          root,
          std::move(arrival),
          true,
          collective.pieces,
          collective.reduction,
          collective.groups};
}

std::string find_disagreement(const Flight& flight) {
  const std::vector<Call>& calls = flight.calls;
  if (!flight.ranks.empty()) {
    if (calls[0].send.bytes() == calls[1].receive.bytes()) return "";
    return fmt::format("send of {} bytes by rank {} meets receive of {} bytes by rank {}", calls[0].send.bytes(),
                       flight.rank_of(0), calls[1].receive.bytes(), flight.rank_of(1));
  }
  for (std::size_t r = 1; r < calls.size(); ++r) {
    std::string difference = compare_to_first(flight, r);
    if (!difference.empty()) return difference;
  }
  return compare_parts(flight);
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
    load.exchange = exchange_load(flight.calls, topology);
  } else if (load.kind == CollectiveKind::all_gather_v || load.kind == CollectiveKind::reduce_scatter) {
    const bool gather = load.kind == CollectiveKind::all_gather_v;
    const PeerTotals& totals = (gather ? first.receives : first.sends)->totals();
    const std::uint64_t row_bytes = (gather ? first.receive : first.send).row_bytes();
    const std::int64_t smallest = totals.peers < topology.ranks ? 0 : totals.least_rows;
    load.bytes = static_cast<std::uint64_t>(totals.rows) * row_bytes;
    load.smallest_part_bytes = static_cast<std::uint64_t>(smallest) * row_bytes;
  }
  return load;
}

}  // namespace strobe::sim
