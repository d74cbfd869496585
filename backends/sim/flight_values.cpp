// Moves the values of a collective between buffers of one process. Sums are added in rank order, so all ranks hold the
// same bits as with the other communicators. Invariant: buffers of different ranks do not overlap. Cost: each byte is
// copied once; an all_reduce reads every buffer once and writes it once.
#include <algorithm>
#include <cstring>

#include "backends/ordered_sum.hpp"
#include "backends/piece_copy.hpp"
#include "backends/sim/flight.hpp"

namespace strobe::sim {
namespace {

void copy(const Tensor& from, const Tensor& to) {
  if (!from.has_values() || !to.has_values()) return;
  if (to.bytes() != 0 && from.raw() != to.raw()) std::memcpy(to.raw(), from.raw(), to.bytes());
}

Tensor rows_of(const Tensor& tensor, const PeerPart& part) { return tensor.slice_rows(part.first, part.count); }

void exchange(const std::vector<Call>& calls) {
  std::vector<std::size_t> cursors(calls.size(), 0);
  std::vector<PeerParts> receives;
  for (const Call& receiver : calls) receives.push_back(one_per_rank(*receiver.receives));
  for (const Call& sender : calls) {
    for (const PeerPart& sent : one_per_rank(*sender.sends)) {
      const std::size_t to = sent.peer;
      const Call& receiver = calls[to];
      const PeerPart& received = receives[to][cursors[to]++];
      const Run from_range{sent.first, sent.count}, to_range{received.first, received.count};
      copy_pieces(sender.send, pieces_for(sender.pieces.send, from_range, to), receiver.receive,
                  pieces_for(receiver.pieces.receive, to_range, static_cast<std::size_t>(received.peer)), std::memcpy);
    }
  }
}

void gather(const std::vector<Call>& calls) {
  for (const Call& receiver : calls) {
    for (const PeerPart& part : one_per_rank(*receiver.receives)) {
      copy(calls[part.peer].send, rows_of(receiver.receive, part));
    }
  }
}

void reduce(const std::vector<Call>& calls) {
  std::vector<const std::byte*> addends;
  for (const Call& call : calls) {
    if (!call.send.has_values()) return;
    addends.push_back(call.send.raw());
  }
  const Tensor& sum = calls[0].receive;
  ordered_sum(calls[0].reduction, sum.type(), addends, sum.raw(), sum.elements());
  for (const Call& call : calls) copy(sum, call.receive);
}

void reduce_scatter(const std::vector<Call>& calls) {
  std::vector<PeerParts> sends;
  for (const Call& call : calls) {
    if (!call.send.has_values()) return;
    sends.push_back(one_per_rank(*call.sends));
  }
  for (std::size_t p = 0; p < sends[0].size(); ++p) {
    const Tensor& sum = calls[sends[0][p].peer].receive;
    std::vector<const std::byte*> addends;
    for (std::size_t r = 0; r < calls.size(); ++r) addends.push_back(rows_of(calls[r].send, sends[r][p]).raw());
    ordered_sum(Reduction::sum, sum.type(), addends, sum.raw(), sum.elements());
  }
}

}  // namespace

void move_values(const Flight& flight) {
  const std::vector<Call>& calls = flight.calls;
  const Call& first = calls[0];
  const auto holds_values = [](const Call& call) { return call.send.has_values() || call.receive.has_values(); };
  if (std::none_of(calls.begin(), calls.end(), holds_values)) return;
  switch (first.kind) {
    case CollectiveKind::all_to_all_v:
      return exchange(calls);
    case CollectiveKind::all_gather_v:
      return gather(calls);
    case CollectiveKind::all_reduce:
      return reduce(calls);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter(calls);
    case CollectiveKind::broadcast: {
      const Tensor root = calls[first.root].send;
      for (const Call& call : calls) copy(root, call.receive);
      return;
    }
    case CollectiveKind::send:
      return copy(first.send, calls[1].receive);
    case CollectiveKind::receive:
    case CollectiveKind::barrier:
      return;
  }
}

}  // namespace strobe::sim
