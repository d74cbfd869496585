// Moves come in (step, vertex) order. Sender and receiver agree on that order without exchanging index lists.
// Consecutive cells become one move.
#include "harness/full_batch/exchange/plan_builder.hpp"

#include <algorithm>
#include <utility>

namespace strobe {

void PeerRuns::add(std::int64_t from, std::int64_t count, bool listed) {
  if (rows == 0) first = from;
  const bool continues = end == from;
  moves += continues ? 0 : 1;
  end = from + count;
  rows += count;
  if (!listed) return;
  if (continues) {
    runs.back().count += count;
  } else {
    runs.push_back({from, count});
  }
}

PeerSide side_of(const std::vector<PeerEntry>& peers, bool sends) {
  PeerSide side;
  PeerParts parts;
  for (const PeerEntry& entry : peers) {
    side.in_place = side.in_place && entry.with->moves <= 1;
    side.moves += entry.with->moves;
  }
  for (const PeerEntry& entry : peers) {
    const PeerRuns& with = *entry.with;
    append_part(parts, {side.in_place ? with.first : side.total, with.rows, entry.peer, 1});
    // Runs of different peers are never merged, so that counts with and without lists agree.
    std::int64_t buffer = side.total;
    for (const Run& run : with.runs) {
      side.list.push_back(sends ? RowMove{run.first, buffer, run.count} : RowMove{buffer, run.first, run.count});
      buffer += run.count;
    }
    side.total += with.rows;
  }
  parts.shrink_to_fit();
  side.peers = listed_peers(std::move(parts));
  return side;
}

void keep_rows(RankExchange& rank, RowMove& end, std::int64_t from, std::int64_t to, std::int64_t count, bool listed) {
  if (count == 0) return;
  rank.kept_rows += count;
  rank.keep_moves += rank.keep_moves > 0 && end.from == from && end.to == to ? 0 : 1;
  end = {from + count, to + count, 0};
  if (listed) append_move(rank.keep, from, to, count);
}

PlanBuilder::PlanBuilder(int ranks, const ListScope& scope)
    : ranks_(static_cast<std::size_t>(ranks)), scope_(scope), senders_(ranks_), keep_end_(ranks_, {-1, -1, 0}) {
  plan_.rank_count = ranks;
  plan_.ranks.resize(ranks_);
  for (std::size_t r = 0; r < ranks_; ++r) plan_.ranks[r].rank = static_cast<Rank>(r);
}

void PlanBuilder::rows(Rank rank, std::int64_t input, std::int64_t output) {
  plan_.ranks[rank].input_rows = input;
  plan_.ranks[rank].output_rows = output;
}

PlanBuilder::Pair& PlanBuilder::pair(Rank r, Rank q) {
  Sender& sender = senders_[r];
  if (sender.place.empty()) sender.place.resize(ranks_);
  std::int32_t& place = sender.place[q];
  if (place == 0) {
    sender.pairs.emplace_back().receiver = q;
    place = static_cast<std::int32_t>(sender.pairs.size());
  }
  return sender.pairs[static_cast<std::size_t>(place) - 1];
}

void PlanBuilder::move(Rank r, Rank q, std::int64_t from, std::int64_t to, std::int64_t count) {
  if (count == 0) return;
  if (r == q) {
    const std::size_t rank = r;
    keep_rows(plan_.ranks[rank], keep_end_[rank], from, to, count, scope_.covers(r));
    return;
  }
  Pair& both = pair(r, q);
  both.sent.add(from, count, scope_.covers(r));
  both.received.add(to, count, scope_.covers(q));
}

void PlanBuilder::count(const PairRows& counted) {
  Pair& both = pair(counted.owner, counted.reader);
  for (PeerRuns* side : {&both.sent, &both.received}) side->rows += counted.rows, side->moves += counted.rows;
}

ExchangePlan PlanBuilder::finish(bool fan_out) {
  std::vector<std::vector<PeerEntry>> received(ranks_);
  for (std::size_t r = 0; r < ranks_; ++r) {
    std::vector<PeerEntry> sent;
    std::sort(senders_[r].pairs.begin(), senders_[r].pairs.end(),
              [](const Pair& a, const Pair& b) { return a.receiver < b.receiver; });
    for (const Pair& pair : senders_[r].pairs) {
      sent.push_back({pair.receiver, &pair.sent});
      received[pair.receiver].push_back({static_cast<Rank>(r), &pair.received});
    }
    senders_[r].place = {};
    plan_.ranks[r].send = side_of(sent, true);
  }
  for (std::size_t r = 0; r < ranks_; ++r) plan_.ranks[r].receive = side_of(received[r], false);
  const auto empty = [](const RankExchange& rank) { return rank.input_rows == 0 && rank.output_rows == 0; };
  plan_.ranks.erase(std::remove_if(plan_.ranks.begin(), plan_.ranks.end(), empty), plan_.ranks.end());
  plan_.fan_out = fan_out;
  plan_.complete();
  return std::move(plan_);
}

}  // namespace strobe
