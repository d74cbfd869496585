// Returns what a flight moves and how its members disagree. Whether the senders' byte matrix is the receivers' is
// decided by a sum that both sides can take from their parts: over all pairs, rows times a random weight of the sender
// times one of the receiver, modulo 2^64. Equal matrices have equal sums; two that differ do not, but for a chance of
// about 2^-60. Only then pairs are looked at one by one, from the senders' side with a cursor into each receiver's
// list, to name the first that differs. So k parts on n ranks are checked and summed in O(n + k).
#include "backends/sim/flight.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/agreement.hpp"
#include "backends/ordered_sum.hpp"

namespace strobe::sim {
namespace {

std::string_view name_of(const Call& call) { return call_name(call.kind, call.groups != 0); }

/// Adds a part, joined to the last one where it has the same count for the ranks that follow.
void join(std::vector<Part>& parts, const Part& part) {
  if (!parts.empty() && parts.back().count == part.count && parts.back().peer + parts.back().peers == part.peer) {
    parts.back().peers += part.peers;
  } else {
    parts.push_back(part);
  }
}

std::vector<Part> one_per_rank(const std::vector<Part>& parts) {
  std::vector<Part> expanded;
  for (const Part& part : parts) {
    for (int i = 0; i < part.peers; ++i)
      expanded.push_back({part.first + i * part.count, part.count, part.peer + i, 1});
  }
  return expanded;
}

/// Parts for `tensor`: by rank where it has values.
std::vector<Part> parts_of(const std::vector<Part>& parts, const Tensor& tensor) {
  if (tensor.has_values()) return one_per_rank(parts);
  std::vector<Part> joined;
  for (const Part& part : parts) join(joined, part);
  return joined;
}

std::vector<Part> parts_of(const std::vector<PeerRows>& rows, const Tensor& tensor) {
  std::vector<Part> parts;
  for (std::size_t q = 0; q < rows.size(); ++q) {
    if (rows[q].count == 0) continue;
    const Part part{rows[q].first, rows[q].count, static_cast<int>(q), 1};
    if (tensor.has_values()) {
      parts.push_back(part);
    } else {
      join(parts, part);
    }
  }
  return parts;
}

bool same_counts(const std::vector<Part>& a, const std::vector<Part>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Part& x, const Part& y) {
    return x.peer == y.peer && x.peers == y.peers && x.count == y.count;
  });
}

std::uint64_t weight_of(std::uint64_t number) {  // splitmix64
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

/// Weights of the ranks, summed: of ranks [a, b) it is sums[b] - sums[a].
std::vector<std::uint64_t> weight_sums(std::size_t ranks, std::uint64_t family) {
  std::vector<std::uint64_t> sums(ranks + 1, 0);
  for (std::size_t r = 0; r < ranks; ++r) sums[r + 1] = sums[r] + weight_of(2 * r + family);
  return sums;
}

/// The weighted sum of one side's byte matrix.
std::uint64_t weighted_rows(const std::vector<Call>& calls, const std::vector<Part> Call::*lists,
                            std::uint64_t own_family) {
  const std::vector<std::uint64_t> own = weight_sums(calls.size(), own_family);
  const std::vector<std::uint64_t> peers = weight_sums(calls.size(), 1 - own_family);
  std::uint64_t total = 0;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    std::uint64_t rows = 0;
    for (const Part& part : calls[r].*lists) {
      const auto first = static_cast<std::size_t>(part.peer), last = first + static_cast<std::size_t>(part.peers);
      rows += static_cast<std::uint64_t>(part.count) * (peers[last] - peers[first]);
    }
    total += rows * (own[r + 1] - own[r]);
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
  // Of an all_to_all_v only rows that travel have a width that matters; its pairs are compared one by one.
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
  std::vector<std::vector<Part>> expected_of;
  for (const Call& call : calls) expected_of.push_back(one_per_rank(call.receives));
  for (std::size_t p = 0; p < calls.size(); ++p) {
    const int from = static_cast<int>(p);
    for (const Part& sent : one_per_rank(calls[p].sends)) {
      const std::vector<Part>& receives = expected_of[static_cast<std::size_t>(sent.peer)];
      std::size_t& cursor = cursors[static_cast<std::size_t>(sent.peer)];
      if (cursor < receives.size() && receives[cursor].peer < from) {
        return disagreement_of_pair(flight, receives[cursor].peer, sent.peer, 0, receives[cursor].count);
      }
      const bool expects = cursor < receives.size() && receives[cursor].peer == from;
      const std::int64_t expected = expects ? receives[cursor].count : 0;
      if (expected != sent.count) return disagreement_of_pair(flight, from, sent.peer, sent.count, expected);
      if (!same_width(calls[p].send, calls[static_cast<std::size_t>(sent.peer)].receive)) {
        return fmt::format("all_to_all_v: rows of rank {} and rank {} differ in width or type", flight.rank_of(from),
                           flight.rank_of(sent.peer));
      }
      ++cursor;
    }
  }
  for (std::size_t q = 0; q < calls.size(); ++q) {
    if (cursors[q] == expected_of[q].size()) continue;
    const Part& left = expected_of[q][cursors[q]];
    return disagreement_of_pair(flight, left.peer, static_cast<int>(q), 0, left.count);
  }
  return "";
}

std::string compare_exchange(const Flight& flight) {
  const std::vector<Call>& calls = flight.calls;
  const auto as_first = [&calls](const Call& call) { return same_width(call.send, calls[0].send); };
  const bool one_width = std::all_of(calls.begin(), calls.end(), as_first);
  if (one_width && weighted_rows(calls, &Call::sends, 0) == weighted_rows(calls, &Call::receives, 1)) return "";
  return disagreeing_pair(flight);
}

/// Bytes of one side of an all-to-all-v per rank, inside its node and beyond it; returns the number of messages.
std::uint64_t sum_parts(const std::vector<Call>& calls, const std::vector<Part> Call::*lists, const Topology& topology,
                        std::vector<std::uint64_t>& inside, std::vector<std::uint64_t>& outside,
                        std::uint64_t& most_messages) {
  std::uint64_t messages = 0;
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const std::uint64_t row_bytes = calls[r].send.row_bytes();
    const int node = topology.node_of(static_cast<int>(r));
    const int begin = topology.first_of(node), end = topology.first_of(node + 1);
    std::uint64_t own_messages = 0;
    for (const Part& part : calls[r].*lists) {
      const int near = std::max(0, std::min(end, part.peer + part.peers) - std::max(begin, part.peer));
      const std::uint64_t bytes = static_cast<std::uint64_t>(part.count) * row_bytes;
      inside[r] += bytes * static_cast<std::uint64_t>(near);
      outside[r] += bytes * static_cast<std::uint64_t>(part.peers - near);
      own_messages += static_cast<std::uint64_t>(part.peers);
    }
    messages += own_messages;
    most_messages = std::max(most_messages, own_messages);
  }
  return messages;
}

ExchangeLoad exchange_load(const std::vector<Call>& calls, const Topology& topology) {
  ExchangeLoad load(topology);
  load.messages = sum_parts(calls, &Call::sends, topology, load.sent_inside, load.sent_outside, load.most_messages);
  sum_parts(calls, &Call::receives, topology, load.received_inside, load.received_outside, load.most_messages);
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
  const bool listed = collective.kind == CollectiveKind::all_to_all_v;
  return {collective.kind,
          collective.traffic,
          collective.send,
          collective.receive,
          listed ? parts_of(collective.send_parts, collective.send) : parts_of(collective.send_rows, collective.send),
          listed ? parts_of(collective.receive_parts, collective.receive)
                 : parts_of(collective.receive_rows, collective.receive),
          root,
          arrival_seconds,
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
    const std::vector<Part>& parts = gather ? first.receives : first.sends;
    const std::uint64_t row_bytes = (gather ? first.receive : first.send).row_bytes();
    std::int64_t total = 0, smallest = parts.empty() ? 0 : parts[0].count, members = 0;
    for (const Part& part : parts) {
      total += part.count * part.peers;
      smallest = std::min(smallest, part.count);
      members += part.peers;
    }
    if (members < topology.ranks) smallest = 0;
    load.bytes = static_cast<std::uint64_t>(total) * row_bytes;
    load.smallest_part_bytes = static_cast<std::uint64_t>(smallest) * row_bytes;
  }
  return load;
}

}  // namespace strobe::sim
